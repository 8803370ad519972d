"""`init`: create a store."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.result import Result
from scopes.store.init import create_store


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCreated(Result):
    """The path of the store; `created` is False if it existed already."""

    path: str
    created: bool


def init(path: str) -> StoreCreated:
    """Create an empty store at `path`; an existing store is not changed.

    Raises:
        Invalid: the path exists and is not a store.
        Inaccessible: the store cannot be written.
    """
    return StoreCreated(path=path, created=create_store(path))
