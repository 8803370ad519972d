"""Exports of ChatGPT."""
