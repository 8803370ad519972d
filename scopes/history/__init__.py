"""What the verbs read: names resolved to commits, messages, metadata, amendments, dates, sources."""
