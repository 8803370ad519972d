"""`scopes acp`: a proxy between an editor and an agent that records what passes and continues sessions."""
