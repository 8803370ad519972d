"""SQLite caches that are derived from the store; deleting them loses nothing."""
