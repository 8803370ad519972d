"""Render a Result as text for people or as JSON for machines. The only package that imports rich."""
