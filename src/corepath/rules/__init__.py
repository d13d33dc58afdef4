"""Policies: rules that say why some ways to reach a task's goal are wrong."""
