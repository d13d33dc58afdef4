"""Path assertions for tests, and the pytest plugin."""
