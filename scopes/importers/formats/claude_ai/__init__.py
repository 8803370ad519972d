"""Exports of Claude.ai."""
