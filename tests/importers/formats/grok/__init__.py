"""Tests of the session files of Grok."""
