"""Summaries of conversations as messages in them, and the memory: entries about what was said, decided and is to do."""
