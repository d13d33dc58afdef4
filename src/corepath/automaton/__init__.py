"""The automaton of a task: what it accepts, and how calls run on it."""
