"""Several agents and people work on one task in a branch of a conversation."""
