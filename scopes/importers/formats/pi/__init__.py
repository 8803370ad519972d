"""Pi: its session files, and what `pi --mode json` prints."""
