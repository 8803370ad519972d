"""List the messages of a side that claim to have changed a file, whether or not an edit of it is recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from scopes.history.messages import header_of, is_root
from scopes.ids import MessageId, Oid
from scopes.merge.conflict_keys import comparable_key, key_of_path
from scopes.merge.divergence import state_in, state_of
from scopes.model import encoding
from scopes.model.claims import FILES
from scopes.store.objects import Commit
from scopes.store.repository import Objects
from scopes.store.trees import diff_blobs, find_entry, read_blob

_AUTHORS = frozenset({"agent", "human"})  # kinds of authors


class FileClaim(NamedTuple):
    """A claim about a file; `agent` is empty for tools and merges, `content` is the hash of the text if it is known."""

    message: MessageId
    agent: str
    content: str | None


FileClaims: TypeAlias = Mapping[str, Sequence[FileClaim]]
"""Claims about files by comparable key, oldest first."""


def list_file_claims(objects: Objects, commits: Iterable[Commit], directory: str | None) -> FileClaims:
    """Return the claims about files by key, oldest first: those that differ from the state of every parent.

    `commits` are oldest first.
    """
    found: dict[str, list[FileClaim]] = {}
    states: dict[Oid, Oid | None] = {}  # by commit
    trees: dict[Oid | None, Oid | None] = {}  # of the claims about files, by state
    for commit in commits:
        states[commit.oid] = state = state_in(objects, commit.tree)
        files = trees[state] if state in trees else trees.setdefault(state, _files_in(objects, state))
        changed: dict[str, Oid | None] | None = None
        for parent in commit.parents:
            state = states[parent] if parent in states else state_of(objects, parent)
            before = trees[state] if state in trees else _files_in(objects, state)
            paths = {path: new for path, _, new in diff_blobs(objects, before, files)} if before != files else {}
            changed = paths if changed is None else {path: changed[path] for path in changed.keys() & paths.keys()}
        if not changed or is_root(commit):
            continue
        header = header_of(commit)
        agent = header.author if header.author_kind in _AUTHORS else ""
        for path, blob in sorted(changed.items()):
            key = comparable_key(key_of_path(f"{FILES}/{path}"), directory)
            found.setdefault(key, []).append(FileClaim(header.id, agent, _content_of(objects, blob)))
    return found


def _files_in(objects: Objects, state: Oid | None) -> Oid | None:
    """Return the tree of the claims about files in a state."""
    entry = None if state is None else find_entry(objects, state, FILES)
    return entry.oid if entry is not None and entry.is_tree else None


def _content_of(objects: Objects, blob: Oid | None) -> str | None:
    claim = None if blob is None else encoding.load(read_blob(objects, blob))
    content = claim.get("content") if isinstance(claim, dict) else None
    return content if isinstance(content, str) else None
