"""Policies: rules of a task that explain why some ways to the goal are wrong."""
