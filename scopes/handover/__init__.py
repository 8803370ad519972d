"""Go on with a recorded conversation in an agent: its own session, or a new one that begins with the history."""
