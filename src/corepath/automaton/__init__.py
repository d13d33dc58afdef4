"""The automaton of a task: its alphabet, its golden paths, and running it on calls."""
