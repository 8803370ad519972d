"""Transcripts of OpenCode."""
