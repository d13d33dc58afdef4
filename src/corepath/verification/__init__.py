"""Verify tasks: execute them in their worlds, search for overlooked ways to the goal, test the metrics on mutants."""
