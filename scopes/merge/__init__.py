"""The engine of merge, rebase and cherry-pick: what two sides changed, where they disagree, and what becomes of it."""
