"""One package per transcript format, and what all formats share: events, the Format protocol, JSON readers."""
