"""Agents of a store: who is there, what each can do, and who is available."""
