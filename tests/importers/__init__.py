"""Formats and the machine they plug into."""
