"""The worlds that come with corepath, one per file. Like third-party worlds, they are found by entry point."""
