"""Proving a task sound against its simulator."""
