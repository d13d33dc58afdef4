"""Run agents on tasks: run folders, function agents, live models, MCP and Inspect."""
