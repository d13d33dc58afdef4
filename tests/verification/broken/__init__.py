"""Worlds and tasks with one mistake each. The first line of a file is what `verify` must say of it."""
