"""The scores of the CORE paper, one file per metric."""
