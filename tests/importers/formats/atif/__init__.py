"""Trajectories in ATIF."""
