"""Playing episodes: sessions, recorders, built-in agents, and the mistakes that these agents make."""
