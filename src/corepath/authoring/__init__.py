"""Writing tasks: derived from expected calls, or from a template."""
