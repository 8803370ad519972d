"""What the hooks of Cursor were told."""
