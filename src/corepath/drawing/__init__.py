"""Pictures of procedures and of automata."""
