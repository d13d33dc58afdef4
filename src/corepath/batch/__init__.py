"""Work on very many episodes at once, in bounded memory."""
