"""Renderers of Results as text, one module per noun (see scopes/render/dispatch.py)."""
