"""The values of completion that are read from the objects of a store: messages, conflicts, keys, memory entries.

Only these values cost the import of the store.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from scopes.errors import ScopesError
from scopes.history.handles import participants_of
from scopes.history.messages import shown_author, walk_headers_newest_first
from scopes.history.names import list_branch_tips, list_latest, resolve_conversation, resolve_revision
from scopes.ids import ConversationId, Oid
from scopes.merge.compare import state_of
from scopes.merge.keys import decoded_key, key_of_path
from scopes.model.conflicts import ENDED
from scopes.model.encoding import dump
from scopes.model.message import CONFLICTS, FILES, MESSAGES, PARTICIPANTS
from scopes.sanitize import clean_line
from scopes.secret_patterns import RULES
from scopes.store.config import read_addresses
from scopes.store.objects import read_commit, read_tree, walk_blobs
from scopes.store.projects import cache_directory, find_here, index_directory
from scopes.store.refs import HEADS
from scopes.store.repository import Repository, open_repository

if TYPE_CHECKING:
    from scopes.model.conflicts import Position

Candidates = Iterator[tuple[str, str]]

MAX_CANDIDATES = 50
_MAX_READ = 1000  # messages that are compared with what was typed
_MAX_READ_ANYWHERE = 5000  # the same if no message of the conversation matches
_ID_LETTERS = 8
_NOT_BLAMED = frozenset({PARTICIPANTS, CONFLICTS, MESSAGES})  # groups of keys
_MAX_DESCRIPTION = 60


def list_values(
    placeholder: str, store: str, conversation: str, typed: str, *, ended: bool = False
) -> list[tuple[str, str]]:
    """Return the values for a placeholder in _SOURCES that start with `typed`, newest first, with descriptions.

    A conversation named `@` is the latest one. For SIDE, `typed` is the conflict. With `ended`, ended merge requests
    are included, and, as soon as something was typed, ended conflicts. If the store cannot be read, there are none.
    """
    try:
        repository = _open(store)
        with_ended = ended and (typed or placeholder != "CONFLICT")
        source = (_WITH_ENDED.get(placeholder) if with_ended else None) or _SOURCES[placeholder]
        found = islice(source(repository, conversation, typed), MAX_CANDIDATES)
        return [(value, clean_line(text)[:_MAX_DESCRIPTION]) for value, text in found]
    except ScopesError:
        return []


def list_remotes(store: str) -> list[tuple[str, str]]:
    """Return the remotes of a store and their addresses, sorted by name; none if their file is damaged."""
    try:
        return sorted(read_addresses(store).items())
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
    repository.caller = repository.caller._replace(find_project=lambda: find_here(os.getcwd(), store))
    return repository


def _messages(repository: Repository, conversation: str, typed: str) -> Candidates:
    tips = list_branch_tips(repository, resolve_conversation(repository, conversation)).values()
    heads = islice(walk_headers_newest_first(repository, tips), _MAX_READ if typed else MAX_CANDIDATES)
    for head in heads:
        if head.id.startswith(typed):
            yield _shorten(head.id, typed), f"{shown_author(head)}: {head.subject}"


def _messages_anywhere(repository: Repository, _conversation: str, typed: str) -> Candidates:
    """Yield the messages of all conversations, those of the latest conversation first."""
    left = _MAX_READ_ANYWHERE
    for conversation in list_latest(repository):
        tips = list_branch_tips(repository, conversation).values()
        for head in islice(walk_headers_newest_first(repository, tips), left):
            left -= 1
            if head.id.startswith(typed):
                yield _shorten(head.id, typed), f"{conversation}, {shown_author(head)}: {head.subject}"


def _open_conflicts(repository: Repository, conversation: str, typed: str) -> Candidates:
    return _conflicts(repository, conversation, typed, ended=False)


def _conflicts(repository: Repository, conversation: str, typed: str, *, ended: bool) -> Candidates:
    """Yield the open conflicts, with `ended` also the others; each by id and key too if something was typed."""
    conversation_id: ConversationId = resolve_conversation(repository, conversation)
    from scopes.merge.conflicts import read_ended

    history = read_ended(repository) if ended else None
    from scopes.merge.conflicts import walk_conflicts

    for row in walk_conflicts(repository, conversation_id, ended=history):
        if row.conflict.status in ENDED and not ended:
            continue
        text = f"{row.conflict.type}: {decoded_key(row.conflict.key)} ({row.conflict.status})"
        yield str(row.number), text
        if typed and row.conflict.id.startswith(typed):
            yield _shorten(row.conflict.id, typed), text
        if typed:
            yield decoded_key(row.conflict.key), text


def _open_requests(repository: Repository, conversation: str, typed: str) -> Candidates:
    return _requests(repository, conversation, typed, state="open")


def _requests(repository: Repository, conversation: str, typed: str, *, state: str = "all") -> Candidates:
    """Yield the merge requests by number, and by id if the beginning of one was typed."""
    from scopes.conversation.merge import list_merge_requests

    result = list_merge_requests(repository, conversation, state=state)
    for row in result.merge_requests:
        text = f"{row.request.title} ({row.state})"
        yield str(row.request.number), text
        if typed and row.request.id.startswith(typed):
            yield _shorten(row.request.id, typed), text


def _candidates(repository: Repository, conversation: str, typed: str) -> Candidates:
    from scopes.memory.decision_candidates import list_candidates

    result = list_candidates(repository, conversation)
    for each in result.candidates:
        message, _, number = each.id.rpartition(".")
        yield f"{_shorten(message, typed.partition('.')[0])}.{number}", each.text


def _open_proposals(repository: Repository, conversation: str, typed: str) -> Candidates:
    return _proposals(repository, conversation, typed, closed=False)


def _proposals(repository: Repository, conversation: str, typed: str, *, closed: bool = True) -> Candidates:
    """Yield the proposals by id, open ones first."""
    from scopes.proposals.list import list_proposals

    result = list_proposals(repository, conversation, include_closed=closed)
    for row in result.proposals:
        each = row.proposal
        yield _shorten(each.id, typed), f"{each.entity}: {', '.join(each.fields)} ({each.state})"


def _topics(repository: Repository, conversation: str, _typed: str) -> Candidates:
    """Yield the topics of the decisions in effect; `conversation` may name a branch."""
    from scopes.conversation.decisions import decisions

    result = decisions(repository, conversation)
    return ((row.topic, row.decision) for row in result.decisions if row.current)


def _sides(repository: Repository, conversation: str, conflict: str) -> Candidates:
    if not conversation:
        from scopes.conversation.conflicts import find_conflict_anywhere

        conversation = find_conflict_anywhere(repository, conflict)
    from scopes.conversation.conflicts import show_conflict

    view = show_conflict(repository, conversation, conflict, files=False)
    for side in view.sides:
        positions: Iterable[Position] = getattr(view.row.conflict, side, ())
        values = (f"{each.agent or 'unknown'}: {_as_text(each.value)}" for each in positions)
        yield (
            side,
            "the values of both" if side == "both" else "; ".join(values) or "no value: nothing will be in effect",
        )


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else dump(value).decode()


def _keys(repository: Repository, where: str, typed: str) -> Candidates:
    """Yield the groups of keys in the state, then the keys of the group that was typed; files have an option."""
    state = state_of(repository, resolve_revision(repository, where).oid)
    if state is None:
        return
    groups = {name: entry for name, entry in read_tree(repository, state).items() if name not in _NOT_BLAMED}
    yield from ((group, "all keys of the group") for group in sorted(groups))
    for group, entry in sorted(groups.items()):
        if entry.is_tree and (group != FILES or typed.startswith(f"{FILES}/")):
            paths = (path for path, _ in walk_blobs(repository, entry.oid, f"{group}/"))
            keys = {decoded_key(key_of_path(path)) for path in paths}
            yield from ((key, "key") for key in sorted(keys) if key.startswith(typed))


def _files(repository: Repository, where: str, typed: str) -> Candidates:
    """Yield the files in the state."""
    state = state_of(repository, resolve_revision(repository, where).oid)
    entry = None if state is None else read_tree(repository, state).get(FILES)
    paths = () if entry is None or not entry.is_tree else walk_blobs(repository, entry.oid, f"{FILES}/")
    for path in sorted({decoded_key(key_of_path(path)).partition("/")[2] for path, _ in paths}):
        if path.startswith(typed):
            yield path, "file"


def _agents(repository: Repository, _conversation: str, _typed: str) -> Candidates:
    tips = [read_commit(repository, Oid(oid)) for oid in repository.list_refs(HEADS).values()]
    yield from ((name, "agent") for name in participants_of(repository, tips))


def _registered(repository: Repository, _conversation: str, _typed: str) -> Candidates:
    from scopes.agents.registry import Registry

    for agent in Registry(repository).agents:
        yield agent.name, f"number {agent.number}, {'available' if agent.available else 'away'}"


def _entries(repository: Repository, _conversation: str, typed: str) -> Candidates:
    from scopes.memory.store import Memory

    for entry in Memory(repository).walk(typed[:_ID_LETTERS]):
        yield _shorten(entry.id, typed), f"{entry.agent}: {entry.summary}"


def _actions(repository: Repository, _conversation: str, typed: str) -> Candidates:
    from scopes.memory.store import Memory

    for entry in Memory(repository).walk(typed.partition(".")[0]):
        for item in entry.action_items:
            if not item.done:
                name, _, number = item.id.rpartition(".")
                yield f"{_shorten(name, typed.partition('.')[0])}.{number}", item.text


def _secrets(repository: Repository, _conversation: str, typed: str) -> Candidates:
    directory = index_directory(cache_directory(os.environ), repository.path)
    from scopes.secrets.allowed import read_allowed

    allowed = read_allowed(repository)
    from scopes.secrets.list import known_secrets

    for name, rule in known_secrets(repository, directory).items():
        yield _shorten(name, typed), f"{rule}, {'allowed' if name in allowed else 'not allowed'}"


def _rules_and_secrets(repository: Repository, conversation: str, typed: str) -> Candidates:
    yield from ((rule.kind, "rule") for rule in RULES if rule.kind.startswith(typed))
    yield from _secrets(repository, conversation, typed)


def _shorten(name: str, typed: str) -> str:
    """Return the beginning of an id that lists show; the whole id if more than that was typed."""
    return name if len(typed) > _ID_LETTERS else name[:_ID_LETTERS]


_WITH_ENDED: dict[str, Callable[[Repository, str, str], Iterable[tuple[str, str]]]] = {
    "CONFLICT": partial(_conflicts, ended=True),
    "REQUEST": _requests,
    "PROPOSAL": _proposals,
}
_SOURCES: dict[str, Callable[[Repository, str, str], Candidates]] = {
    "MESSAGE": _messages,
    "MESSAGE ANYWHERE": _messages_anywhere,
    "CONFLICT": _open_conflicts,
    "REQUEST": _open_requests,
    "CANDIDATE": _candidates,
    "PROPOSAL": _open_proposals,
    "TOPIC": _topics,
    "SIDE": _sides,
    "GROUP/NAME": _keys,
    "AGENT": _agents,
    "AGENT|NUMBER": _registered,
    "FILE": _files,
    "ENTRY": _entries,
    "SECRET": _secrets,
    "RULE|SECRET": _rules_and_secrets,
    "ACTION": _actions,
}
