"""Path assertions for tests, the pytest plugin, and the plugin for Inspect and Inspect Scout."""
