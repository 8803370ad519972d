"""Record agents as they work, without a proxy: what their hooks start, and a watch over their transcripts.

`event_log` is the log of hooks and of the proxy. The proxy itself is in `scopes.server.acp`.
"""
