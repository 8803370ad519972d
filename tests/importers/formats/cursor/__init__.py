"""What the hooks of Cursor are told."""
