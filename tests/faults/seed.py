"""The seed of the sample that an ordinary run takes of a sweep; it changes every day."""

from __future__ import annotations

import os
import time


def todays_seed() -> int:
    """Return the number of the day, or SCOPES_TEST_SEED; it is printed with a failure."""
    seed = int(os.environ.get("SCOPES_TEST_SEED") or time.time() // 86400)
    print(f"repeat this sample with SCOPES_TEST_SEED={seed}")
    return seed
