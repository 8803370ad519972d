"""One module a verb: its options, its help text, and the one operation that it calls."""
