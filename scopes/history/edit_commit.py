"""Write a commit again with other parents, another tree or another subject; everything else stays byte by byte.

A signature does not stay: it would be that of another commit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from scopes.history.messages import TO_TRAILER
from scopes.ids import Oid
from scopes.lazy_patterns import compile_lazily
from scopes.store.objects import one_line

_REPLACED = (b"tree ", b"parent ")
_PERSON = compile_lazily(rb"^(author|committer) .*>(?= [0-9]+ [+-][0-9]{4}$)", re.MULTILINE)
_RECIPIENTS = f"{TO_TRAILER}: ".encode()
_SIGNATURES = (b"gpgsig", b"mergetag")


def edit_commit(
    data: bytes, tree: Oid, parents: Iterable[Oid], *, subject: str | None = None, kind: str | None = None
) -> bytes:
    """Return the bytes of a commit with another tree and parents, and another subject and kind if they are given."""
    head, gap, body = data.partition(b"\n\n")
    above = [b"tree " + tree.encode(), *(b"parent " + parent.encode() for parent in parents)]
    if subject is not None:
        body = one_line(subject).encode() + body[len(body.partition(b"\n")[0]) :]
    if kind is not None:
        lines = body.split(b"\n")
        body = b"\n".join(b"Scopes-Kind: " + kind.encode() if _is_kind(line) else line for line in lines)
    return b"\n".join([*above, *_walk_kept(head.split(b"\n"))]) + gap + body


def edit_people(data: bytes, other: bytes) -> bytes:
    """Return the bytes of a commit with the author, the committer and the recipients of another one; times stay."""
    head, gap, body = data.partition(b"\n\n")
    people = {match[1]: match[0] for match in _PERSON.finditer(other)}
    head = _PERSON.sub(lambda match: people[match[1]], head)
    recipients = next((line for line in other.split(b"\n") if line.startswith(_RECIPIENTS)), b"")
    lines = (recipients if line.startswith(_RECIPIENTS) else line for line in body.split(b"\n"))
    return head + gap + b"\n".join(lines)


def _is_kind(line: bytes) -> bool:
    return line.startswith(b"Scopes-Kind: ")


def _walk_kept(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the header lines that stay; a line that begins with a blank belongs to the one before."""
    is_kept = True
    for line in lines:
        if not line.startswith(b" "):
            is_kept = not line.startswith((*_REPLACED, *_SIGNATURES))
        if is_kept:
            yield line
