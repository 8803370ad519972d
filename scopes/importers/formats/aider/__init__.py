"""Chat histories of Aider."""
