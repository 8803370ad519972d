"""Read histories: names resolved to commits, messages, metadata, amendments, sources; and write operations."""
