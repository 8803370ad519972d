"""The manifest of a conversation on a remote: its branches, its title and its metadata, in one commit.

The commit T has the manifest that was there before as its first parent, if there was one, and the tips of the branches
after it, sorted by the ids of the branches. Its tree has `manifest.json`, and the metadata as `meta/`. Author, time and
subject are functions of these, so two machines that push the same make the same commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from scopes.errors import Corrupt, Invalid, TooNew
from scopes.ids import BranchName, Oid, is_oid, parse_branch_name
from scopes.lazy_patterns import compile_lazily
from scopes.model import encoding
from scopes.model.conversation import BranchEntry
from scopes.store.objects import BLOB, COMMIT, TREE, Commit, Identity, TreeEntry, format_commit, format_tree
from scopes.store.repository import Objects, read_commit, read_data, read_tree

FILE: Final = "manifest.json"
META: Final = "meta"
KIND: Final = "manifest"
SUBJECT: Final = "Manifest of a conversation"
VERSION: Final = 1
MAX_BRANCHES: Final = 9_999  # with the manifest before them, ten thousand parents
MAX_TITLE: Final = 10_000  # characters
MAX_MANIFEST_BYTES: Final = 8 << 20
_KIND_TRAILER: Final = "Scopes-Kind"
_AUTHOR: Final = Identity("scopes", "scopes@systems.scopes")
_RANDOM_ID = compile_lazily(r"[0-9a-f]{12}")
_NAME = "name:"
_MAX_COUNT: Final = 10**9
_PROJECT = compile_lazily(r"[0-9a-f]{12}")


class ManifestBranch(NamedTuple):
    """A branch in a manifest, with the number of its messages."""

    name: BranchName
    tip: Oid
    messages: int


class Manifest(NamedTuple):
    """What a manifest says; branches by id."""

    title: str | None
    project: str
    created: str
    newest: str
    branches: Mapping[str, ManifestBranch]


class StoredManifest(NamedTuple):
    """A manifest in its commit; `previous` is the manifest before it, `meta` the tree of the metadata."""

    oid: Oid
    previous: Oid | None
    manifest: Manifest
    meta: Oid | None
    time: int


def branch_id(name: BranchName, entry: BranchEntry | None) -> str:
    """Return the id of a branch, which is the same on every machine."""
    del entry  # it will have an id of its own
    return _NAME + name


def tips_of(branches: Mapping[str, ManifestBranch]) -> tuple[Oid, ...]:
    """Return the tips of branches, each once, sorted by the ids of the branches."""
    return tuple(dict.fromkeys(branches[key].tip for key in sorted(branches)))


def encode_manifest(manifest: Manifest) -> bytes:
    """Encode a manifest as canonical JSON."""
    document: dict[str, Any] = {
        "v": VERSION,
        "project": manifest.project,
        "created": manifest.created,
        "newest": manifest.newest,
        "branches": {
            key: {"name": branch.name, "tip": branch.tip, "count": branch.messages}
            for key, branch in manifest.branches.items()
        },
    }
    return encoding.dump(document if manifest.title is None else {**document, "title": manifest.title})


def decode_manifest(data: bytes) -> Manifest:
    """Decode a manifest, which somebody else may have written; every field is checked.

    Raises:
        TooNew: a newer version of scopes wrote it.
        Corrupt: it is damaged, or a name in it is not allowed.
    """
    document: Any = encoding.load(data)
    if isinstance(document, dict) and isinstance(document.get("v"), int) and document["v"] > VERSION:
        raise TooNew("a newer version of scopes wrote the manifest of a conversation", hint="update scopes")
    match document:
        case {
            "v": 1,
            "project": str(project),
            "created": str(created),
            "newest": str(newest),
            "branches": dict(branches),
            **rest,
        } if _PROJECT.fullmatch(project) and max(len(created), len(newest)) <= 64 and 0 < len(branches) <= MAX_BRANCHES:
            title = rest.get("title")
            if title is None or (isinstance(title, str) and len(title) <= MAX_TITLE):
                found = {_check_id(key): _decode_branch(value) for key, value in branches.items()}
                return Manifest(title, project, created, newest, found)
    raise _damaged()


def _check_id(key: str) -> str:
    """Check the id of a branch: random digits, or the name that it had first."""
    if not _RANDOM_ID.fullmatch(key):
        _check_name(key.removeprefix(_NAME) if key.startswith(_NAME) else "")
    return key


def _check_name(name: str) -> BranchName:
    try:
        return parse_branch_name(name)
    except Invalid as error:
        raise Corrupt(f"a branch of the conversation has a name that is not allowed: {error.message}") from error


def _decode_branch(value: object) -> ManifestBranch:
    match value:
        case {"name": str(name), "tip": str(tip), "count": int(count)} if (
            is_oid(tip) and 0 <= count <= _MAX_COUNT and not isinstance(count, bool)
        ):
            return ManifestBranch(_check_name(name), Oid(tip), count)
    raise _damaged()


def _damaged() -> Corrupt:
    return Corrupt("the manifest of a conversation is damaged", hint="see who wrote it to the remote")


def write_manifest(objects: Objects, manifest: Manifest, meta: Oid | None, previous: Oid | None, time: int) -> Oid:
    """Write the commit of a manifest; `time` is that of its newest tip, in seconds since 1970."""
    entries = [TreeEntry(FILE, objects.write(BLOB, encode_manifest(manifest)), is_tree=False)]
    if meta is not None:
        entries.append(TreeEntry(META, meta, is_tree=True))
    before = () if previous is None else (previous,)
    data = format_commit(
        tree=objects.write(TREE, format_tree(entries)),
        parents=(*before, *tips_of(manifest.branches)),
        author=_AUTHOR,
        time=time,
        subject=SUBJECT,
        trailers=[(_KIND_TRAILER, KIND)],
    )
    return objects.write(COMMIT, data)


def is_manifest(commit: Commit) -> bool:
    """Return True if a commit says that it is a manifest."""
    return commit.kind == KIND


def read_manifest(objects: Objects, oid: Oid) -> StoredManifest:
    """Read a manifest from its commit, and compare its parents with it.

    Raises:
        Corrupt, NotFound, TooNew: it is not a manifest, is damaged or is missing.
    """
    commit = read_commit(objects, oid)
    entries = read_tree(objects, commit.tree) if is_manifest(commit) else {}
    file, meta = entries.pop(FILE, None), entries.pop(META, None)
    if file is None or file.is_tree or entries or (meta is not None and not meta.is_tree):
        raise Corrupt(f"commit {oid} is not the manifest of a conversation", hint="see who wrote it to the remote")
    data = read_data(objects, file.oid, BLOB)
    if len(data) > MAX_MANIFEST_BYTES:
        raise _damaged()
    manifest = decode_manifest(data)
    tips = tips_of(manifest.branches)
    before = commit.parents[: len(commit.parents) - len(tips)]
    if len(before) > 1 or commit.parents != (*before, *tips):
        raise Corrupt(f"the parents of the manifest {oid} are not the tips of its branches", hint="it may be forged")
    return StoredManifest(oid, before[0] if before else None, manifest, None if meta is None else meta.oid, commit.time)
