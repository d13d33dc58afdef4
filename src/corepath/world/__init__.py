"""Simulated worlds: their state, tools and tasks, and how tasks are explored."""
