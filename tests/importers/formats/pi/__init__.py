"""Transcripts of Pi."""
