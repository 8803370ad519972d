"""Finding messages: the query language, and what it finds."""
