"""Conversations written out: one module a form, `run` to choose one, `saving` for files that are never half written."""
