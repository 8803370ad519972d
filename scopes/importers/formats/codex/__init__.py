"""Transcripts of Codex: rollouts, in which the model's history and the log of the user interface run side by side."""
