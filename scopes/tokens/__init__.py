"""Counting tokens: encodings, rank files, exact and estimated counts, models and a cache of counts."""
