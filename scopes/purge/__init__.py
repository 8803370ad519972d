"""Remove content for good: `purge` and `retention`; `redact` writes a conversation again without its secrets."""
