"""Nested trees as flat maps from path to blob: reading one path, walking all, and writing a few changes.

An unchanged subtree keeps its object, so carrying state forward from message to message costs one tree per level that
changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scopes.ids import Oid
from scopes.store.objects import BLOB, EMPTY_TREE, TREE, Entry, compare_trees, find_in_tree, format_tree
from scopes.store.repository import Objects, read_data, read_tree

Change = bytes | Oid | None
"""What becomes of a path: new bytes, a blob that is stored already, or nothing any more."""


def find_entry(objects: Objects, tree: Oid, path: str) -> Entry | None:
    """Return the entry at a path of components joined by `/`, or None."""
    entry: Entry | None = Entry("", tree, is_tree=True)
    for name in path.split("/"):
        if entry is None or not entry.is_tree:
            return None
        entry = find_in_tree(read_data(objects, entry.oid, TREE), name)
    return entry


def find_blob(objects: Objects, tree: Oid, path: str) -> bytes | None:
    """Return the bytes at a path, or None where there is no file."""
    entry = find_entry(objects, tree, path)
    return None if entry is None or entry.is_tree else read_blob(objects, entry.oid)


def read_blob(objects: Objects, oid: Oid) -> bytes:
    """Read a blob, or raise NotFound or Corrupt."""
    return read_data(objects, oid, BLOB)


def walk_blobs(objects: Objects, tree: Oid, prefix: str = "") -> Iterator[tuple[str, Oid]]:
    """Yield path and blob id of every file below a tree, in stored order."""
    stack = [(prefix, tree, True)]  # of our own: a tree from outside may be deeper than Python recurses
    while stack:
        path, oid, is_tree = stack.pop()
        if is_tree:
            below = reversed(read_tree(objects, oid).values())
            stack.extend((f"{path}{e.name}/" if e.is_tree else path + e.name, e.oid, e.is_tree) for e in below)
        else:
            yield path, oid


def diff_blobs(objects: Objects, old: Oid | None, new: Oid | None) -> Iterator[tuple[str, Oid | None, Oid | None]]:
    """Yield path, former and present blob of every file that differs between two trees; None is an absent one.

    Subtrees that are equal are not opened, so the cost is that of the change.
    """
    stack = [("", old, new)]
    while stack:
        prefix, before, after = stack.pop()
        data = [b"" if tree in {None, EMPTY_TREE} else read_data(objects, tree, TREE) for tree in (before, after)]
        for name, (left, right) in compare_trees(*data).items():
            path = prefix + name
            trees = [entry.oid if entry is not None and entry.is_tree else None for entry in (left, right)]
            if trees != [None, None]:
                stack.append((f"{path}/", trees[0], trees[1]))
            blobs = [entry.oid if entry is not None and not entry.is_tree else None for entry in (left, right)]
            if blobs != [None, None]:
                yield path, blobs[0], blobs[1]


def _entries(objects: Objects, tree: Oid | None) -> dict[str, Entry]:
    return {} if tree is None or tree == EMPTY_TREE else read_tree(objects, tree)


def update_tree(objects: Objects, tree: Oid | None, changes: Mapping[str, Change]) -> Oid:
    """Write a tree that differs from `tree` (None: the empty one) in the given paths only; return its id."""
    return _update(objects, tree, changes) or objects.write(TREE, b"")


def _update(objects: Objects, tree: Oid | None, changes: Mapping[str, Change]) -> Oid | None:
    """Do one level; None when nothing is left, since git keeps no empty directories."""
    entries = _entries(objects, tree)
    below: dict[str, dict[str, Change]] = {}
    for path, change in changes.items():
        name, slash, rest = path.partition("/")
        if slash:
            below.setdefault(name, {})[rest] = change
        elif change is None:
            if name in entries and not entries[name].is_tree:
                del entries[name]
        else:
            blob = objects.write(BLOB, change) if isinstance(change, bytes) else change
            entries[name] = Entry(name, blob, is_tree=False)
    for name, inner in below.items():
        old = entries.get(name)
        subtree = _update(objects, old.oid if old is not None and old.is_tree else None, inner)
        if subtree is not None:
            entries[name] = Entry(name, subtree, is_tree=True)
        elif old is not None and old.is_tree:
            del entries[name]
    return objects.write(TREE, format_tree(entries.values())) if entries else None
