"""Facts that agents propose, and that become true for a conversation only after validation."""
