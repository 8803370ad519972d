"""Where the index of a store is. Apart from the files in it, so that no command loads SQLite to know it."""

from __future__ import annotations

import hashlib
import os


def index_directory(cache_directory: str, store: str) -> str:
    """Return the directory of a store's index, in the cache directory of scopes."""
    name = hashlib.sha256(os.path.realpath(store).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return os.path.join(cache_directory, name)
