"""What Cursor keeps of its chats, and what its hooks are told."""
