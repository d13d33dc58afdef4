"""How calls, actions, matchers and procedures are written."""
