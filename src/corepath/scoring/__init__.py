"""The scores of the CORE paper, one file a metric."""
