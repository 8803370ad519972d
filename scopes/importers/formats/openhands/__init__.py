"""Events of the OpenHands Software Agent SDK."""
