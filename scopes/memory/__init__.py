"""What is kept of conversations in short: summaries in line, and entries to remember."""
