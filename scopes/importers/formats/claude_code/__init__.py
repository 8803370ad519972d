"""Transcripts of Claude Code: JSON lines that link to their parents, several lines to a message."""
