"""Transcripts of Gemini CLI."""
