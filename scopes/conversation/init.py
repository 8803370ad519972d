"""`init`: make a store."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.result import Result
from scopes.store.init import create_store


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCreated(Result):
    """Where the store is; `created` is False when it was there already."""

    path: str
    created: bool


def init(path: str) -> StoreCreated:
    """Make an empty store at `path`; an existing one is left as it is.

    Raises:
        Invalid: something else is there.
        Inaccessible: it cannot be written.
    """
    return StoreCreated(path=path, created=create_store(path))
