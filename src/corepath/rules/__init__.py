"""Policies: rules that explain why some ways to a task's goal are wrong."""
