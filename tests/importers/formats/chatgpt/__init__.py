"""The export of ChatGPT."""
