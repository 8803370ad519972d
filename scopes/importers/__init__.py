"""Transcripts of other tools as conversations: one module a format, and the machine they all plug into."""
