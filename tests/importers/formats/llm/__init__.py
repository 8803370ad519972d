"""Tests of the format of llm."""
