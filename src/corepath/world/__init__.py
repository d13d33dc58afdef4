"""Simulated worlds: state, tools, tasks, and exploring them."""
