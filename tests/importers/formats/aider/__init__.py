"""Tests of the chat histories of Aider."""
