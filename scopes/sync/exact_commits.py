"""Check that a commit from a remote has the bytes that scopes writes: it says and hides nothing beside its content."""

from __future__ import annotations

from scopes.errors import Corrupt
from scopes.ids import Oid
from scopes.store.objects import COMMIT, Commit, parse_commit
from scopes.store.repository import Objects, read_data
from scopes.store.signing import without_signature
from scopes.sync.manifest import format_manifest_commit


def check_exact(oid: Oid, data: bytes, written: bytes) -> None:
    """Check that a commit is what scopes writes, or that with a signature.

    Raises:
        Corrupt: it has another header, author, subject or text.
    """
    if data != written and without_signature(data) != written:
        raise Corrupt(f"commit {oid} is not as scopes writes it", hint="see who wrote it to the remote")


def check_manifest_commit(objects: Objects, oid: Oid) -> Commit:
    """Check the commit of a manifest as `check_exact` does, and return it."""
    data = read_data(objects, oid, COMMIT)
    commit = parse_commit(oid, data)
    check_exact(oid, data, format_manifest_commit(commit.tree, commit.parents, commit.time))
    return commit
