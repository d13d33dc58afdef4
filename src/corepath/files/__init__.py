"""Tasks and episodes on disk, and how tasks are looked up by name."""

VERSION = 1
"""The version of the formats of tasks, tool files and episodes."""
