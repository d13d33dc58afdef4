"""A task's automaton: its alphabet, its golden paths, and how it runs on calls."""
