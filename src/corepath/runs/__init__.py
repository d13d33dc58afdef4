"""Running agents on tasks, recording every call, scoring, and losing nothing."""
