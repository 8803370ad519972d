"""Tests of the session files of Kimi Code."""
