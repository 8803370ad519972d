"""The manifest of a conversation on a remote: its branches, its title and its metadata, in one commit.

The parents of its commit are the manifest before it, if there is one, and then the tips of the branches, sorted by the
ids of the branches. Its tree has `manifest.json`, and the metadata as `meta/`. Author, time and subject depend only on
these, so two machines that push the same content make the same commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from scopes.errors import Corrupt
from scopes.history.messages import is_root, message_id_of
from scopes.ids import Oid
from scopes.model.conversation import MANIFEST_FILE, Manifest, decode_manifest, encode_manifest, tips_of
from scopes.store.graph import walk_newest_first
from scopes.store.objects import (
    BLOB,
    COMMIT,
    TREE,
    Commit,
    Identity,
    Objects,
    TreeEntry,
    format_commit,
    format_tree,
    read_commit,
    read_data,
    read_tree,
)

META: Final = "meta"
KIND: Final = "manifest"
SUBJECT: Final = "Manifest of a conversation"
MAX_MANIFEST_BYTES: Final = 8 << 20
_KIND_TRAILER: Final = "Scopes-Kind"
_AUTHOR: Final = Identity("scopes", "scopes@systems.scopes")


class StoredManifest(NamedTuple):
    """A manifest in its commit; `previous` is the manifest before it, `meta` the tree of the metadata."""

    oid: Oid
    previous: Oid | None
    manifest: Manifest
    meta: Oid | None
    time: int


def count_messages(objects: Objects, manifest: Manifest, known: Mapping[Oid, Commit] | None = None) -> int:
    """Return how many messages the branches have together, each id counted once, as `list` counts them."""
    commits = walk_newest_first(objects, tips_of(manifest.branches), known=known or {})
    return len({message_id_of(commit) for commit in commits if not is_root(commit)})


def write_manifest(objects: Objects, manifest: Manifest, meta: Oid | None, previous: Oid | None, time: int) -> Oid:
    """Write the commit of a manifest; `time` is that of its newest tip, in seconds since 1970."""
    entries = [TreeEntry(MANIFEST_FILE, objects.write(BLOB, encode_manifest(manifest)), is_tree=False)]
    if meta is not None:
        entries.append(TreeEntry(META, meta, is_tree=True))
    before = () if previous is None else (previous,)
    tree = objects.write(TREE, format_tree(entries))
    return objects.write(COMMIT, format_manifest_commit(tree, (*before, *tips_of(manifest.branches)), time))


def format_manifest_commit(tree: Oid, parents: Iterable[Oid], time: int) -> bytes:
    """Format the commit of a manifest."""
    trailers = [(_KIND_TRAILER, KIND)]
    return format_commit(tree=tree, parents=parents, author=_AUTHOR, time=time, subject=SUBJECT, trailers=trailers)


def is_manifest(commit: Commit) -> bool:
    """Return True if the subject of a commit is that of a manifest."""
    return commit.kind == KIND


def read_manifest(objects: Objects, oid: Oid) -> StoredManifest:
    """Read a manifest from its commit, and check that its parents are the tips of its branches.

    Raises:
        Corrupt, NotFound, TooNew: it is not a manifest, is damaged or is missing.
    """
    return manifest_in(objects, read_commit(objects, oid))


def manifest_in(objects: Objects, commit: Commit) -> StoredManifest:
    """Decode the manifest in a commit that was already read; raises as `read_manifest` does."""
    oid = commit.oid
    entries = read_tree(objects, commit.tree) if is_manifest(commit) else {}
    file, meta = entries.pop(MANIFEST_FILE, None), entries.pop(META, None)
    if file is None or file.is_tree or entries or (meta is not None and not meta.is_tree):
        raise Corrupt(f"commit {oid} is not the manifest of a conversation", hint="see who wrote it to the remote")
    data = read_data(objects, file.oid, BLOB)
    if len(data) > MAX_MANIFEST_BYTES:
        raise Corrupt(f"the manifest {oid} is too large", hint="see who wrote it to the remote")
    manifest = decode_manifest(data)
    tips = tips_of(manifest.branches)
    before = commit.parents[: len(commit.parents) - len(tips)]
    if len(before) > 1 or commit.parents != (*before, *tips):
        raise Corrupt(f"the parents of the manifest {oid} are not the tips of its branches", hint="it may be forged")
    return StoredManifest(oid, before[0] if before else None, manifest, None if meta is None else meta.oid, commit.time)
