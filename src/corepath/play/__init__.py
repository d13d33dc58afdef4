"""Playing episodes: sessions, recorders, built-in agents and the mistakes planted in them."""
