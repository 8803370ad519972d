"""The export of Claude.ai."""
