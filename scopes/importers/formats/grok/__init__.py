"""Session files of Grok."""
