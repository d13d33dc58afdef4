"""Tasks and rules learned from good runs."""
