"""Claude Code transcripts: JSON lines with links to their parents, several lines per message."""
