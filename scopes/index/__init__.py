"""What is derived from the store for speed, in SQLite; deleting it loses nothing."""
