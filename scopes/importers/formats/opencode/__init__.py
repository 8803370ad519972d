"""OpenCode: what `opencode run` prints, and exported sessions."""
