"""Policies: why a way to the goal is wrong."""
