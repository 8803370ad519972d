"""Tests of what SpecStory wrote as Markdown."""
