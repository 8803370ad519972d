"""Token counts, encodings and models."""
