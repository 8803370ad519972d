"""The stored data: messages, claims, conflicts, metadata, operations, and their encoding. Nothing here does I/O."""
