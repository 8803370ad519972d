"""The JSON renderings, one module a noun."""
