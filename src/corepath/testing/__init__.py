"""Path assertions in tests, and the pytest plugin."""
