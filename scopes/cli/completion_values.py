"""The values of completion that need more than file names: messages, conflicts, memory entries, fields and aliases.

Only these values cost the import of the store, the schemas or git's configuration.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice

from scopes.errors import ScopesError
from scopes.history.messages import shown_author, walk_headers_newest_first
from scopes.history.revisions import list_branch_tips, resolve_conversation
from scopes.ids import ConversationId
from scopes.loading import load
from scopes.merge.conflict_keys import shown_key
from scopes.sanitize import clean_line
from scopes.store.projects import find_project
from scopes.store.repository import Repository, open_repository

Candidates = Iterator[tuple[str, str]]

MAX_CANDIDATES = 50
_MAX_READ = 1000  # messages that are compared with what was typed
_ID_LETTERS = 8
_MAX_DESCRIPTION = 60


def list_values(placeholder: str, store: str, conversation: str, typed: str) -> list[tuple[str, str]]:
    """Return the newest MESSAGE, CONFLICT, ENTRY or ACTION values that start with `typed`, with descriptions.

    A conversation named `@` is the latest one. If the store cannot be read, there are none.
    """
    try:
        repository = _open(store)
        found = islice(_SOURCES[placeholder](repository, conversation, typed), MAX_CANDIDATES)
        return [(value, clean_line(text)[:_MAX_DESCRIPTION]) for value, text in found]
    except ScopesError:
        return []


def find_conversation(store: str, text: str) -> str:
    """Return the id of the conversation that `@`, `@-` or `@{2}` names; the text itself if there is none."""
    try:
        return resolve_conversation(_open(store), text)
    except ScopesError:
        return text


def _open(store: str) -> Repository:
    repository = open_repository(store)
    repository.caller = repository.caller._replace(
        find_project=lambda: find_project(os.getcwd(), os.path.expanduser("~"))
    )
    return repository


def _messages(repository: Repository, conversation: str, typed: str) -> Candidates:
    tips = list_branch_tips(repository, resolve_conversation(repository, conversation)).values()
    heads = islice(walk_headers_newest_first(repository, tips), _MAX_READ if typed else MAX_CANDIDATES)
    for head in heads:
        if head.id.startswith(typed):
            yield _shorten(head.id, typed), f"{shown_author(head)}: {head.subject}"


def _conflicts(repository: Repository, conversation: str, typed: str) -> Candidates:
    conversation_id: ConversationId = resolve_conversation(repository, conversation)
    for row in load("scopes.merge.conflict_list:walk_conflicts")(repository, conversation_id):
        text = f"{row.conflict.type}: {shown_key(row.conflict.key)} ({row.conflict.status})"
        yield str(row.number), text
        if typed and row.conflict.id.startswith(typed):
            yield _shorten(row.conflict.id, typed), text


def _entries(repository: Repository, _conversation: str, typed: str) -> Candidates:
    for entry in load("scopes.memory.store:Memory")(repository).walk(typed[:_ID_LETTERS]):
        yield _shorten(entry.id, typed), f"{entry.agent}: {entry.summary}"


def _actions(repository: Repository, _conversation: str, typed: str) -> Candidates:
    for entry in load("scopes.memory.store:Memory")(repository).walk(typed.partition(".")[0]):
        for item in entry.action_items:
            if not item.done:
                name, _, number = item.id.rpartition(".")
                yield f"{_shorten(name, typed.partition('.')[0])}.{number}", item.text


def _shorten(name: str, typed: str) -> str:
    """Return the beginning of an id that lists show; the whole id if more than that was typed."""
    return name if len(typed) > _ID_LETTERS else name[:_ID_LETTERS]


_SOURCES: dict[str, Callable[[Repository, str, str], Candidates]] = {
    "MESSAGE": _messages,
    "CONFLICT": _conflicts,
    "ENTRY": _entries,
    "ACTION": _actions,
}
