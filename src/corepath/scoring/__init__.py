"""The scores from the CORE paper, one file per metric."""
