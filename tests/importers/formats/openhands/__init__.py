"""Events and trajectories of OpenHands."""
