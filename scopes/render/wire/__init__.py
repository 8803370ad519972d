"""Renderers of Results as JSON objects, one module per group of verbs (see scopes/render/dispatch.py)."""
