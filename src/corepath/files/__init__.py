"""Reading and writing task and episode files, and looking up tasks by name."""

VERSION = 1
"""Format version of task files, tool files and episodes."""
