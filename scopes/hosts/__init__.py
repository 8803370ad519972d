"""The configuration of other programs: add and remove entries of scopes, and keep everything else."""
