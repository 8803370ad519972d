"""Conversations that SpecStory wrote as Markdown."""
