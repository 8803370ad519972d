"""Join the metadata of a conversation with what a remote has; what concerns this machine alone stays here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from scopes.errors import Refused
from scopes.ids import Oid
from scopes.store.objects import COMMIT, EMPTY_TREE, Identity, format_commit
from scopes.store.repository import Objects, read_commit, read_commit_stub
from scopes.store.trees import BlobChange, diff_blobs, find_entry, update_tree

_LOCAL: Final = ("directory", "clocks/directory")  # where the conversation was started: a path of this machine
_AUTHOR: Final = Identity("scopes", "scopes@systems.scopes")
_SUBJECT: Final = "metadata from a remote"


def shared_tree(objects: Objects, metadata: Oid | None) -> Oid | None:
    """Return the tree of a metadata commit without what stays on this machine; None if nothing is left."""
    if metadata is None:
        return None
    tree = read_commit_stub(objects, metadata).tree
    removed: Mapping[str, BlobChange] = {path: None for path in _LOCAL if find_entry(objects, tree, path) is not None}
    shared = update_tree(objects, tree, removed) if removed else tree
    return None if shared == EMPTY_TREE else shared


def combine_metadata(
    objects: Objects, ours: Oid | None, theirs: Oid | None, earlier: Sequence[Oid | None], time: int
) -> Oid | None:
    """Return the metadata commit after a fetch; `ours` is a commit, `theirs` the tree in the manifest of the remote.

    earlier: trees that the remote had before, the last one that both sides had first; `time` is that of the manifest

    Raises:
        Refused: both sides have changed it, and it cannot be joined.
    """
    if theirs is None:
        return ours
    if ours is None:
        return write_received(objects, theirs, (), time)
    shared = shared_tree(objects, ours)
    if theirs == shared:
        return ours
    tree = theirs if shared in earlier else _merge_files(objects, earlier[0] if earlier else None, shared, theirs)
    if tree is not None:
        tree = update_tree(objects, tree, _local_files(objects, ours))
        return write_received(objects, tree, (ours,), max(time, read_commit(objects, ours).time))
    return join_metadata(objects, ours, write_received(objects, theirs, (), time))


def _merge_files(objects: Objects, base: Oid | None, ours: Oid | None, theirs: Oid) -> Oid | None:
    """Return our tree with the files that only the remote has changed; None if both have changed one differently."""
    if base is None:
        return None
    here = {path: new for path, _, new in diff_blobs(objects, base, ours)}
    there = {path: new for path, _, new in diff_blobs(objects, base, theirs)}
    if any(here[path] != there[path] for path in here.keys() & there.keys()):
        return None
    return update_tree(objects, ours, there)


def _local_files(objects: Objects, metadata: Oid) -> dict[str, BlobChange]:
    tree = read_commit_stub(objects, metadata).tree
    found = ((path, find_entry(objects, tree, path)) for path in _LOCAL)
    return {path: entry.oid for path, entry in found if entry is not None and not entry.is_tree}


def write_received(objects: Objects, tree: Oid, parents: tuple[Oid, ...], time: int) -> Oid:
    """Write a metadata commit with a tree that came from a remote; it is a function of the arguments."""
    data = format_commit(tree=tree, parents=parents, author=_AUTHOR, time=time, subject=_SUBJECT)
    return objects.write(COMMIT, data)


def join_metadata(objects: Objects, ours: Oid, theirs: Oid) -> Oid:
    """Return the metadata commit that has the changes of both.

    Raises:
        Refused: both have changes that the other one lacks.
    """
    wanted = read_commit(objects, theirs).tree
    following: Oid | None = ours
    while following is not None:  # a tree that we had before has nothing that we lack
        commit = read_commit(objects, following)
        if shared_tree(objects, following) == wanted:
            return ours
        following = commit.parents[0] if commit.parents else None
    hint = "undo the change of the title, the tags or the branches on one side: scopes operations list"
    raise Refused("metadata was changed on both sides", hint=hint)
