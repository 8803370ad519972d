"""What the program answered before its insides were rewritten, kept as data."""
