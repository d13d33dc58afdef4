"""The metrics of the CORE paper, one file an idea."""
