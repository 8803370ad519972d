"""Commands that remove a secret from what a push sends, one for each place. None of them contains the secret.

A name with a secret is changed or deleted. Everything else needs a redacted copy, because messages do not change.
"""

from __future__ import annotations

from collections.abc import Iterable

from scopes.ids import ConversationId

_NAMES = {
    "title": "scopes rename {conversation} --title TEXT",
    "tags": "scopes tag -d {conversation} TAG",
    "branches": "scopes branch -m {conversation} OLD NEW",
}
_ENTRY = "the entry of a branch"  # entries of other branches contain the name of a branch, and change with it
_COPY = "scopes redact {conversation}"


def place_of(message: str | None, field: str) -> str:
    """Return the place of a secret as text: a message, the title, a tag, the name of a branch, or other metadata."""
    if message is not None:
        return "message"
    return {"title": "title", "tags": "tag", "branches": "branch"}.get(_name_of(field), field.removeprefix("the "))


def cures_of(conversation: ConversationId, places: Iterable[tuple[str | None, str]]) -> tuple[str, ...]:
    """Return the commands after which a conversation, or its redacted copy, can be pushed without a secret.

    places: (message, field) of every place of the secret in that conversation
    """
    fields = ["" if message is not None else field for message, field in places]
    names = [_name_of(field) for field in fields]
    with_branch = {_ENTRY} if "branches" in names else set()
    found = [_NAMES.get(name) for name, field in zip(names, fields, strict=True) if field not in with_branch]
    commands = (_COPY,) if None in found else tuple(dict.fromkeys(each for each in found if each is not None))
    return tuple(command.format(conversation=conversation) for command in commands)


def _name_of(field: str) -> str:
    """Return the kind of name that a field of a scan or a push means, such as `title` or `tags`."""
    return "title" if field == "the title" else field.partition("[")[0]
