"""Codex transcripts (rollouts): the model's history and the event log of the user interface in one file."""
