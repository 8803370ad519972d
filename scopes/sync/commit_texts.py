"""The texts of commits that still have to be searched for secrets after the messages in them were searched.

Nearly all texts of a commit are also in its message.
"""

from __future__ import annotations

from collections.abc import Iterator

from scopes.store.objects import Commit


def walk_texts(commit: Commit, body: bytes) -> Iterator[str]:
    """Yield the texts of a commit that `is_written_so`, without those that its message has as they are.

    A subject is the beginning of a text, and may end within a word. What looks like the beginning of a secret then is
    none, because the message has the whole word, and was searched.
    """
    author = commit.author
    yield f"{author.name} <{author.email}>"
    if b'"%b' % _encode(commit.subject) not in body:
        yield commit.subject
    for text in (commit.message_id, commit.kind, commit.to):
        if text is not None and b'"%b"' % _encode(text) not in body:
            yield text


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
