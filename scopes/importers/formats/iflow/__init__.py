"""Session files of iFlow."""
