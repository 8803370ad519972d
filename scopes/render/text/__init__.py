"""The text renderings, one module a noun."""
