"""The notation of calls, actions, matchers and procedures."""
