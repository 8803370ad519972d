"""Check that a commit from a remote has the bytes that scopes writes: it says and hides nothing beside its content."""

from __future__ import annotations

import re
from typing import Final

from scopes.errors import Corrupt
from scopes.history.edit_commit import edit_commit
from scopes.history.messages import format_message_commit
from scopes.ids import Oid
from scopes.model.message import Message
from scopes.store.objects import COMMIT, Commit, one_line, parse_commit
from scopes.store.repository import Objects, read_data
from scopes.store.signing import without_signature
from scopes.sync.manifest import StoredManifest, format_manifest_commit, manifest_in

_MASK: Final = re.compile(r"\[redacted:[a-z0-9:-]*(?:\]|\Z)|\[r?e?d?a?c?t?e?d?\Z")  # a limit may have cut the last one


def check_message_commit(commit: Commit, data: bytes, message: Message) -> None:
    """Check the commit of a message as `check_exact` does.

    In its subject secrets may be masked that the text still has: `redact` masks what a limit has left
    of one in the subject only. All else of such a subject is in the text, in the same order.
    """
    written = format_message_commit(commit.tree, commit.parents, message, commit.time)
    if data == written:
        return
    if _is_masked(commit.subject, one_line(message.text, None)):
        written = edit_commit(written, commit.tree, commit.parents, subject=commit.subject)
    check_exact(commit.oid, data, written)


def _is_masked(subject: str, text: str) -> bool:
    first, *others = _MASK.split(subject)
    if not others or not text.startswith(first):
        return False
    at = len(first)
    for piece in others:
        found = text.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def check_exact(oid: Oid, data: bytes, written: bytes) -> None:
    """Check that a commit is what scopes writes, or that with a signature.

    Raises:
        Corrupt: it has another header, author, subject or text.
    """
    if data != written and without_signature(data) != written:
        raise Corrupt(f"commit {oid} is not as scopes writes it", hint="see who wrote it to the remote")


def read_exact_manifest(objects: Objects, oid: Oid) -> tuple[StoredManifest, Commit]:
    """Read a manifest as `read_manifest` does, and check its commit as `check_exact` does; return both."""
    data = read_data(objects, oid, COMMIT)
    commit = parse_commit(oid, data)
    stored = manifest_in(objects, commit)
    check_exact(oid, data, format_manifest_commit(commit.tree, commit.parents, commit.time))
    return stored, commit
