"""Which events of `acp.log` a user asks for: those of a store, of a conversation, from a time on.

The start of a proxy says which store it writes to; the other events of its process are of the same one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from operator import itemgetter
from typing import Final, NamedTuple

from scopes.history.metadata import read_metadata
from scopes.history.names import resolve_branch, resolve_conversation
from scopes.ids import BranchName, ConversationId
from scopes.live.event_log import Event
from scopes.model.conversation import ACP
from scopes.store.repository import Repository

STORE: Final = "store"
STARTS: Final = frozenset({"start", "start-failed"})


class OfConversation(NamedTuple):
    """A conversation, or one branch of it, and the sessions of agents that were recorded there."""

    conversation: ConversationId
    sessions: Collection[str]
    branch: BranchName | None = None

    def has(self, event: Event) -> bool:
        """Return True if an event is about one of its sessions."""
        conversation, _, branch = str(event.details.get("where") or "").partition("/")
        is_there = conversation == self.conversation and self.branch in {None, branch}
        return event.details.get("session") in self.sessions or is_there


class EventFilter(NamedTuple):
    """What is wanted; None: everything.

    store: the real path of a store; an event of an older version that names none counts as its own
    conversation: what happened to its sessions, and to the processes that had one
    since: a time as events have it
    """

    store: str | None = None
    conversation: OfConversation | None = None
    since: str | None = None

    def choose(self, events: Iterable[Event]) -> tuple[Event, ...]:
        """Return the events that are wanted, in their order."""
        chosen = [each for run in _runs_of(events) if self._has_store(run) for each in self._of_conversation(run)]
        return tuple(event for _, event in sorted(chosen, key=itemgetter(0)) if self._has_time(event))

    def _has_store(self, run: _Run) -> bool:
        return self.store is None or run.store in {None, self.store}

    def _has_time(self, event: Event) -> bool:
        return self.since is None or event.time >= self.since

    def _of_conversation(self, run: _Run) -> list[tuple[int, Event]]:
        of = self.conversation
        if of is None or not any(of.has(event) for _, event in run.events):
            return run.events if of is None else []
        return [each for each in run.events if of.has(each[1]) or not each[1].details.keys() & {"session", "where"}]


class _Run:
    """The events of one process, with their numbers in the log."""

    def __init__(self) -> None:
        self.store: str | None = None
        self.events: list[tuple[int, Event]] = []


def _runs_of(events: Iterable[Event]) -> list[_Run]:
    found: list[_Run] = []
    latest: dict[int, _Run] = {}
    for number, event in enumerate(events):
        if event.name in STARTS or event.pid not in latest:
            latest[event.pid] = _Run()
            found.append(latest[event.pid])
        run = latest[event.pid]
        run.store = store_of(event) or run.store
        run.events.append((number, event))
    return found


def store_of(event: Event) -> str | None:
    """Return the store that an event names."""
    value = event.details.get(STORE)
    return value if isinstance(value, str) else None


def of_conversation(repository: Repository, text: str) -> OfConversation:
    """Return the sessions that were recorded in a conversation, or on a branch; those that later ones continued too.

    Raises:
        NotFound, Ambiguous, Invalid: the conversation or the branch cannot be resolved.
    """
    branch = None
    if "/" in text:
        conversation, branch = resolve_branch(repository, text, None)
    else:
        conversation = resolve_conversation(repository, text)
    sessions: set[str] = set()
    for name, entry in read_metadata(repository, conversation).branches.items():
        found = entry.extra.get(ACP)
        if isinstance(found, dict) and branch in {None, name}:
            stale = found.get("stale")
            each = [found.get("session"), *(stale if isinstance(stale, list) else [])]
            sessions.update(session for session in each if isinstance(session, str))
    return OfConversation(conversation, frozenset(sessions), branch)
