"""Remove content for good: `purge`; `redact` writes a conversation again without its secrets."""
