"""The worlds that come with corepath, one file a world. They are found by entry point, as those of others are."""
