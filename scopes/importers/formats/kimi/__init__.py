"""Session files of Kimi Code."""
