"""Read objects with pygit2 alone, as a lower bound for the time of every operation in Python."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pygit2

_TREE = slice(5, 45)
_PARENT = slice(53, 93)
_NAME_END = b"\0"


def open_packs(store: str) -> pygit2.Odb:
    """Open only the packs of a store."""
    packs = pygit2.Odb()
    packs.add_backend(pygit2.OdbBackendPack(os.path.join(store, "objects")), 1)
    return packs


def read_chain(store: str, tip: str, *, bodies: bool) -> None:
    """Read every commit from a tip to the root; with bodies also its tree and the first blob in it."""
    packs = open_packs(store)
    while tip:
        _, commit = packs.read(tip)
        if bodies:
            _, tree = packs.read(commit[_TREE].decode())
            name_end = tree.index(_NAME_END)
            packs.read(tree[name_end + 1 : name_end + 21].hex())
        tip = commit[_PARENT].decode() if commit[46:52] == b"parent" else ""


def read_tips(store: str, tips: Iterable[str]) -> None:
    """Read commits and their trees, as a list needs them."""
    packs = open_packs(store)
    for tip in tips:
        _, commit = packs.read(tip)
        packs.read(commit[_TREE].decode())
