"""Writing tasks: deriving them from expected calls, or starting from a template."""
