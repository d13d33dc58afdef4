"""Proofs of tasks: execute them in their worlds, search for forgotten ways to the goal, test the metrics on mutants."""
