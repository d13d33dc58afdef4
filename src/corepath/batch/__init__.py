"""Score very many episodes: read them in parts, and share the work among processes."""
