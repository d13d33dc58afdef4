"""The text notation for calls, actions, matchers and procedures."""
