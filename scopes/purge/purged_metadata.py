"""Decide which metadata commits belong to purged conversations, and rewrite references to these in other metadata.

The metadata of a kept conversation may come from other people and may name any commit: this does not remove it.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from typing import Any, Final, NamedTuple

from scopes.errors import Corrupt
from scopes.history.metadata import BRANCHES, CLOCKS, Clock, decode_clock, encode_clock
from scopes.history.names import MAIN
from scopes.ids import Oid, is_oid
from scopes.model import canonical_json
from scopes.model.canonical_json import encode_component
from scopes.purge.all_commits import walk_known
from scopes.store import refs
from scopes.store.objects import (
    TREE,
    BlobChange,
    Commit,
    Objects,
    find_blob,
    find_entry,
    parse_tree,
    read_blob,
    read_data,
    update_tree,
    walk_blobs,
)

TAGS: Final = ("tags/", "meta/tags/")  # of metadata, and of a manifest
ENTRIES: Final = (BRANCHES, f"meta/{BRANCHES}")
_MAIN: Final = encode_component(MAIN)
_TRASH_DEPTH: Final = 2  # CONVERSATION/OPERATION: what was deleted together

_OID: Final = re.compile(r"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])")

Commits = Mapping[Oid, Oid | None]


class MetadataOf(NamedTuple):
    """The metadata commits of kept and of purged conversations, as far as they are reachable from refs."""

    staying: frozenset[Oid]
    going: frozenset[Oid]

    def is_gone(self, objects: Objects, commit: Commit, commits: Commits) -> bool:
        """Return True if a commit has the metadata of a purged conversation.

        If it is only reachable from the operation log, the root in the entry of main decides; if there is no such
        entry, that of another branch.
        """
        if commit.oid in self.staying:
            return False
        return commit.oid in self.going or any(commits.get(fork, "") is None for fork in _list_forks(objects, commit))


def list_metadata(values: Mapping[str, str], commits: Commits, others: Iterable[Commit]) -> MetadataOf:
    """Find the metadata commits of kept and of purged conversations.

    values: the values of all refs
    others: the commits that are not part of a history
    """
    groups: dict[str, bool] = {}  # of refs, whether one of their branches stays
    tips: dict[str, list[Oid]] = {}
    for ref, value in values.items():
        group, kind = _split(ref)
        if kind == "heads":
            groups[group] = groups.get(group, False) or commits.get(Oid(value), value) is not None
        elif kind == "meta":
            tips.setdefault(group, []).append(Oid(value))
    parents = {each.oid: each.parents for each in others}
    staying, going = (
        frozenset(walk_known([tip for group in tips if groups.get(group) is stays for tip in tips[group]], parents))
        for stays in (True, False)
    )
    return MetadataOf(staying, going - staying)


def _split(ref: str) -> tuple[str, str]:
    """Split a ref into its conversation (or deletion), and whether it is a branch or metadata."""
    for prefix, kind in ((refs.HEADS, "heads"), (refs.META, "meta")):
        if ref.startswith(prefix):
            return ref.removeprefix(prefix).partition("/")[0], kind
    names = ref.removeprefix(refs.TRASH).split("/")
    if not ref.startswith(refs.TRASH) or len(names) <= _TRASH_DEPTH:
        return "", ""
    return "/".join(names[:_TRASH_DEPTH]), names[_TRASH_DEPTH]


def _list_forks(objects: Objects, commit: Commit) -> list[Oid]:
    entry = parse_tree(read_data(objects, commit.tree, TREE)).get(BRANCHES.rstrip("/"))
    if entry is None or not entry.is_tree:
        return []
    files = {
        each.name: each.oid for each in parse_tree(read_data(objects, entry.oid, TREE)).values() if not each.is_tree
    }
    found = [_fork_of(read_blob(objects, oid)) for oid in ([files[_MAIN]] if _MAIN in files else files.values())]
    return [fork for fork in found if fork is not None]


def _fork_of(data: bytes) -> Oid | None:
    try:
        document = canonical_json.load(data)
    except Corrupt:
        return None
    fork = document.get("fork") if isinstance(document, dict) else None
    return Oid(fork) if isinstance(fork, str) and is_oid(fork) else None


def names_gone(data: bytes, commits: Commits) -> bool:
    """Return True for a tag of a commit that is removed."""
    return commits.get(Oid(data.decode("ascii", "replace").strip()), "") is None


def without_gone(data: bytes, commits: Commits) -> bytes:
    """Return the entry of a branch without the fields that name a removed commit."""
    try:
        document = canonical_json.load(data)
    except Corrupt:
        return data
    if not isinstance(document, dict):
        return data
    kept: dict[str, Any] = {
        str(name): value
        for name, value in document.items()
        if not any(commits.get(Oid(oid), "") is None for oid in _OID.findall(f"{name} {value}"))
    }
    return canonical_json.dump(kept) if len(kept) < len(document) else data


def advance_tags(objects: Objects, before: Oid, after: Oid) -> Oid:
    """Return a rewritten metadata tree in which removed tags have a greater clock, so that no join brings them back."""
    for folder in TAGS:
        left, right = (find_entry(objects, tree, folder.rstrip("/")) for tree in (before, after))
        if left is None or not left.is_tree or (right is not None and right.oid == left.oid):
            continue
        kept = {} if right is None else parse_tree(read_data(objects, right.oid, TREE))
        for name in parse_tree(read_data(objects, left.oid, TREE)):
            if name not in kept:
                after = advance_clock(objects, after, f"tags/{name}", top=folder.removesuffix("tags/"))
    return after


_NOBODY: Final = "0" * 12


def advance_clocks(objects: Objects, tree: Oid, folder: str, changed: Container[Oid]) -> Oid:
    """Return a tree in which the registers of a folder that have one of some blobs have a clock greater by 1.

    Whoever changes a value in the same way writes the same clock, and the value before does not come back with a join.

    folder: it may be below others, and the clocks are beside it
    """
    entry = find_entry(objects, tree, folder.rstrip("/"))
    above, _, name = folder.rstrip("/").rpartition("/")
    changes: dict[str, BlobChange] = {}
    for path, blob in walk_blobs(objects, entry.oid) if entry is not None and entry.is_tree else ():
        if blob in changed:
            file = "/".join(filter(None, (above, CLOCKS, name, path)))
            clock = decode_clock(find_blob(objects, tree, file))
            changes[file] = encode_clock(Clock(clock.number + 1, clock.machine or _NOBODY))
    return update_tree(objects, tree, changes) if changes else tree


def advance_clock(objects: Objects, tree: Oid, register: str, *, top: str = "") -> Oid:
    """Return a tree in which a register has a clock greater by 1, as `advance_clocks` does.

    top: the folder that the metadata are in, with a slash
    """
    file = f"{top}{CLOCKS}/{register}"
    clock = decode_clock(find_blob(objects, tree, file))
    return update_tree(objects, tree, {file: encode_clock(Clock(clock.number + 1, clock.machine or _NOBODY))})
