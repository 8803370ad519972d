"""Use nested trees as flat maps from path to blob: read one path, walk all paths, write changes.

An unchanged subtree keeps its object, so a new state costs one tree object for each level that changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scopes.ids import Oid
from scopes.store.objects import (
    BLOB,
    EMPTY_TREE,
    TREE,
    TreeEntry,
    compare_trees,
    find_in_tree,
    format_tree,
    object_id,
    parse_tree,
)
from scopes.store.repository import Objects, Repository, read_data, read_tree

BlobChange = bytes | Oid | None
"""The new content of a path: bytes, the id of a stored blob, or None to delete the path."""


def find_entry(objects: Objects, tree: Oid, path: str) -> TreeEntry | None:
    """Return the entry at a path; None if there is none."""
    entry: TreeEntry | None = TreeEntry("", tree, is_tree=True)
    for name in path.split("/"):
        if entry is None or not entry.is_tree:
            return None
        entry = find_in_tree(read_data(objects, entry.oid, TREE), name)
    return entry


def find_blob(objects: Objects, tree: Oid, path: str) -> bytes | None:
    """Return the bytes of the file at a path; None if there is no file."""
    entry = find_entry(objects, tree, path)
    return None if entry is None or entry.is_tree else read_blob(objects, entry.oid)


def read_blob(objects: Objects, oid: Oid) -> bytes:
    """Read a blob, or raise NotFound or Corrupt."""
    return read_data(objects, oid, BLOB)


def walk_blobs(objects: Objects, tree: Oid, prefix: str = "") -> Iterator[tuple[str, Oid]]:
    """Yield path and blob id of every file in a tree, in stored order."""
    stack = [(prefix, tree, True)]  # not recursive: a foreign tree may be deeper than Python's recursion limit
    while stack:
        path, oid, is_tree = stack.pop()
        if is_tree:
            children = reversed(read_tree(objects, oid).values())
            stack.extend((f"{path}{e.name}/" if e.is_tree else path + e.name, e.oid, e.is_tree) for e in children)
        else:
            yield path, oid


def diff_blobs(objects: Objects, old: Oid | None, new: Oid | None) -> Iterator[tuple[str, Oid | None, Oid | None]]:
    """Yield path, old blob and new blob of every file that differs between two trees; None for a missing file.

    Equal subtrees are not read, so the cost depends on the changes alone.
    """
    stack = [("", old, new)]
    while stack:
        prefix, before, after = stack.pop()
        data = [b"" if tree in {None, EMPTY_TREE} else read_data(objects, tree, TREE) for tree in (before, after)]
        if not data[0]:  # a long branch adds directories with very many files
            for name, oid, is_tree in sorted(parse_tree(data[1]).values()):
                if is_tree:
                    stack.append((f"{prefix}{name}/", None, oid))
                else:
                    yield prefix + name, None, oid
            continue
        for name, (left, right) in compare_trees(*data).items():
            path = prefix + name
            old_tree, old_blob = _by_kind(left)
            new_tree, new_blob = _by_kind(right)
            if old_tree or new_tree:
                stack.append((f"{path}/", old_tree, new_tree))
            if old_blob or new_blob:
                yield path, old_blob, new_blob


def _by_kind(entry: TreeEntry | None) -> tuple[Oid | None, Oid | None]:
    """Return the id of an entry as that of a tree, or as that of a blob."""
    if entry is None:
        return None, None
    _, oid, is_tree = entry
    return (oid, None) if is_tree else (None, oid)


def take_changes(objects: Objects, base: Oid | None, target: Oid | None, source: Oid | None) -> Oid | None:
    """Write a copy of `target` with everything in which `source` differs from `base`; return its id, None if empty.

    Whole trees are taken where only one side has changed anything, so that many new files are not read.

    Raises:
        ValueError: a name is that of a file and of a directory.
    """
    trees = [None if tree == EMPTY_TREE else tree for tree in (base, target, source)]
    base, target, source = trees
    if source in {base, target}:
        return target
    if target == base:
        return source
    before, entries, after = (_entries(objects, tree) for tree in trees)
    for name in before.keys() | after.keys():
        old, new, own = before.get(name), after.get(name), entries.get(name)
        if old == new:
            continue
        if len({entry.is_tree for entry in (old, new, own) if entry is not None}) > 1:
            raise ValueError(name)
        found = None if new is None else new.oid
        if any(entry is not None and entry.is_tree for entry in (old, new)):
            found = take_changes(objects, *(None if entry is None else entry.oid for entry in (old, own, new)))
        if found is None:
            entries.pop(name, None)
        else:
            entries[name] = TreeEntry(name, found, is_tree=any(each.is_tree for each in (old, new) if each is not None))
    return objects.write(TREE, format_tree(entries.values())) if entries else None


def _entries(objects: Objects, tree: Oid | None) -> dict[str, TreeEntry]:
    return {} if tree is None or tree == EMPTY_TREE else read_tree(objects, tree)


def update_tree(objects: Objects, tree: Oid | None, changes: Mapping[str, BlobChange]) -> Oid:
    """Write a copy of `tree` (None: the empty tree) with changes at the given paths; return its id."""
    return _update(objects, tree, changes) or objects.write(TREE, b"")


def _update(objects: Objects, tree: Oid | None, changes: Mapping[str, BlobChange]) -> Oid | None:
    """Update one level; return None if it is empty, since git stores no empty directories."""
    entries = _entries(objects, tree)
    subtrees: dict[str, dict[str, BlobChange]] = {}
    for path, change in changes.items():
        name, slash, rest = path.partition("/")
        if slash and name in subtrees:
            subtrees[name][rest] = change
        elif slash:
            subtrees[name] = {rest: change}
        elif change is None:
            if name in entries and not entries[name].is_tree:
                del entries[name]
        else:
            blob = objects.write(BLOB, change) if isinstance(change, bytes) else change
            entries[name] = TreeEntry(name, blob, is_tree=False)
    for name, inner in subtrees.items():
        old = entries.get(name)
        subtree = _update(objects, old.oid if old is not None and old.is_tree else None, inner)
        if subtree is not None:
            entries[name] = TreeEntry(name, subtree, is_tree=True)
        elif old is not None and old.is_tree:
            del entries[name]
    return objects.write(TREE, format_tree(entries.values())) if entries else None


class ObjectsInMemory:
    """Reads the objects of a store; what is written stays in memory, in `written`."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._written: dict[Oid, tuple[str, bytes]] = {}

    @property
    def written(self) -> Mapping[Oid, tuple[str, bytes]]:
        """The objects that were written meanwhile, in their order."""
        return self._written

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object, or raise NotFound or Corrupt."""
        found = self._written.get(oid)
        return self._repository.read(oid) if found is None else found

    def write(self, kind: str, data: bytes) -> Oid:
        """Keep an object in memory and return its id."""
        oid = object_id(kind, data)
        self._written[oid] = (kind, data)
        return oid
