"""Sessions as agents keep them, written from a conversation: one module per agent."""
