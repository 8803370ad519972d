"""Summaries of conversations as messages in them, and the memory: messages, decisions and action items."""
