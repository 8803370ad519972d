"""The engine of merge, rebase and cherry-pick: comparison, conflicts, resolution, replay, and what is in progress."""
