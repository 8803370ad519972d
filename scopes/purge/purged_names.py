"""Where else the names of a purged conversation and its branches stand: first lines of commits, and inboxes.

Memory, facts and inboxes say in the first line of a commit what it is about, as `remember CONV/BRANCH`. A name may be
what was to be removed, so such a line is replaced, as in the operation log, and an entry of an inbox goes.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from scopes.model.tombstone import PURGED_TEXT
from scopes.store.objects import Commit

_INBOX: Final = "inbox/"
_WORDS: Final = re.compile(r"[^\w.-]+")  # between the names of conversations in a text
_UUID: Final = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_MESSAGE: Final = re.compile(rb"(?<![a-z0-9])[a-z2-7]{26}(?![a-z0-9])")


def are_named(names: Collection[str], text: str) -> bool:
    """Return True if a text has one of the names as a word."""
    return bool(names) and any(word in names or word.rstrip(".") in names for word in _WORDS.split(text))


def subject_without(names: Collection[str], commit: Commit) -> str | None:
    """Return what replaces the first line of a commit that names a purged conversation; None if it may stay."""
    return PURGED_TEXT if commit.kind is None and are_named(names, commit.subject) else None


def is_inbox_entry_of(path: str, data: bytes, uuids: Collection[str], messages: Collection[str]) -> bool:
    """Return True for a file of an inbox about a message of a conversation that is gone."""
    if not path.startswith(_INBOX) or not (uuids or messages):
        return False
    return any(each.decode() in uuids for each in _UUID.findall(data)) or any(
        each.decode() in messages for each in _MESSAGE.findall(data)
    )
