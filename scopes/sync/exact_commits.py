"""Check that a commit from a remote has exactly the bytes that scopes writes, so that no other data is hidden in it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from scopes.errors import Corrupt
from scopes.history.messages import NO_TEXT, ROOT_KIND, format_message_commit, identity_of
from scopes.ids import Oid
from scopes.model.message import Message
from scopes.store.objects import (
    COMMIT,
    MAX_TIME_SECONDS,
    Commit,
    Objects,
    one_line,
    parse_commit,
    read_data,
    safe_identity,
)
from scopes.sync.content_check import load_shallow
from scopes.sync.manifest import KIND, StoredManifest, format_manifest_commit, manifest_in

_MAX_BYTES: Final = 1 << 16  # of a signature; those of gpgsm have certificates with them, which are some kilobytes
_SIGNATURE = re.compile(  # the last line of a header: base64, and no other text
    rb"\ngpgsig -----BEGIN ((?:SSH|PGP|SIGNED) (?:SIGNATURE|MESSAGE))-----\n(?: ?\n)?"
    rb"(?: [A-Za-z0-9+/=]{1,76}\n)+ -----END \1-----\Z"
)
_MASK: Final = re.compile(r"\[redacted:[a-z0-9:-]*(?:\]|\Z)|\[r?e?d?a?c?t?e?d?\Z")  # a limit may have cut the last one

_USUAL: Final = re.compile(  # time and kind have one form only, as `format_commit` writes them
    rb"tree ([0-9a-f]{40})\nparent ([0-9a-f]{40})\nauthor ([^\n]*) (0|[1-9][0-9]{0,9}) \+0000\n"
    rb"committer \3 \4 \+0000\n\n([^\n]*\n\nScopes-Message: [a-z2-7]{26}\n"
    rb"Scopes-Kind: (?!(?:%s|%s)\n)[a-z-]+\n)" % (ROOT_KIND.encode(), KIND.encode())
)


class UsualCommit(NamedTuple):
    """A parsed commit of a message with one parent, one author, and no signature or list of recipients.

    who: name and mail address
    text: subject and trailers
    """

    tree: Oid
    parent: Oid
    who: bytes
    text: bytes


def find_usual(data: bytes) -> UsualCommit | None:
    """Parse a commit of the usual form, which nearly all have; None for another form."""
    found = _USUAL.fullmatch(data)
    if found is None or int(found[4]) > MAX_TIME_SECONDS:
        return None
    tree, parent, who, _, text = found.groups()
    return UsualCommit(Oid(tree.decode()), Oid(parent.decode()), who, text)


def says_message(commit: UsualCommit, data: bytes) -> bool:
    """Return True if a commit is the one that scopes writes of a message, given the bytes of that.

    This takes half the time of `check_message_commit`, which has to look at the commit if it is False.

    Raises:
        Corrupt: the bytes are not JSON, are nested too deeply, or have a key twice in an object.
    """
    header = _find_header(data)
    if header is None:
        return False
    subject = one_line(header.text.strip() or NO_TEXT)
    written = f"{subject}\n\nScopes-Message: {header.id}\nScopes-Kind: {header.kind}\n"
    who = _who(header.author, header.author_kind)
    return commit.who == who and commit.text == written.encode("utf-8", "surrogatepass")


class _Header(NamedTuple):
    """The fields of a message that are also in its commit."""

    author: str
    author_kind: str
    id: str
    kind: str
    text: str


def _find_header(data: bytes) -> _Header | None:
    """Return the fields that a message has in its commit; None if it has recipients, or another form."""
    match document := load_shallow(data):
        case {"author": {"name": str(name), "kind": str(author_kind), **more}, "id": str(found), "kind": str(of_kind)}:
            if more or not of_kind or "to" in document:
                return None
            return _Header(name, author_kind, found, of_kind, _text_of(document.get("parts")))
    return None


def _text_of(parts: object) -> str:
    """Return the text of a message with these parts; empty if the value is not a list of parts."""
    if type(parts) is not list:
        return ""
    texts: list[str] = []
    for part in parts:
        if type(part) is not dict or type(part.get("type")) is not str:
            return ""
        if part["type"] == "text":
            text = part.get("text")
            texts.append(text if type(text) is str else "")
    return "\n".join(texts)


@lru_cache(maxsize=1000)
def _who(name: str, kind: str) -> bytes:
    return safe_identity(identity_of(name, kind)).encode("utf-8", "surrogatepass")


def check_message_commit(commit: Commit, data: bytes, message: Message) -> None:
    """Check the commit of a message as `check_exact` does.

    Secrets may be masked in its subject although the text has them: `redact` masks the cut beginning of a secret in the
    subject only. The rest of such a subject must be in the text, in the same order.
    """
    written = format_message_commit(commit.tree, commit.parents, message, commit.time)
    if data == written:
        return
    if _is_masked(commit.subject, one_line(message.text, None)):
        from scopes.store.objects import edit_commit

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
    """Check that a commit has the bytes in `written`, or these with a signature.

    Raises:
        Corrupt: it has another header, author, subject or text.
    """
    if data == written:
        return
    if without_signature(data) != written:
        raise Corrupt(f"commit {oid} is not as scopes writes it", hint="see who wrote it to the remote")


def read_exact_manifest(objects: Objects, oid: Oid) -> tuple[StoredManifest, Commit]:
    """Read a manifest as `read_manifest` does, and check its commit as `check_exact` does; return both."""
    data = read_data(objects, oid, COMMIT)
    commit = parse_commit(oid, data)
    stored = manifest_in(objects, commit)
    check_exact(oid, data, format_manifest_commit(commit.tree, commit.parents, commit.time))
    return stored, commit


def without_signature(commit: bytes) -> bytes:
    """Return the bytes of a commit as they were before `add_signature`; unchanged if that has not written them."""
    head, gap, body = commit.partition(b"\n\n")
    found = _SIGNATURE.search(head)
    return commit if found is None or len(found[0]) > _MAX_BYTES else head[: found.start()] + gap + body
