"""Transcripts of Codex."""
