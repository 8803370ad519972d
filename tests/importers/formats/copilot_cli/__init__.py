"""Tests of the session files of Copilot CLI."""
