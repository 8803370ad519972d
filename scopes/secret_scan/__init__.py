"""Find secrets in stored data, as plain text or encoded once, and keep them from leaving the store."""
