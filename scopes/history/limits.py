"""Check the limits of a conversation: how many messages it may have, and how long it may be idle (S1-24).

They stop nothing: `append` and `context` report what is left, and warn when a limit is exceeded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from scopes.clock import now_nanoseconds
from scopes.history.messages import count_messages
from scopes.ids import Oid
from scopes.result import Note
from scopes.store.config import Config
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Repository, read_commit, read_commit_stub


class Limits(NamedTuple):
    """The settings `scopes.maxTurns` and `scopes.idleSeconds`; None: no limit."""

    max_turns: int | None = None
    idle_seconds: int | None = None


class Idle(NamedTuple):
    """How long a branch is idle, and the verb for it."""

    verb: str
    seconds: int


NO_LIMITS: Final = Limits()


def read_limits(config: Config) -> Limits:
    """Return the configured limits."""
    turns, seconds = config.find_integer("scopes.maxTurns", 0), config.find_integer("scopes.idleSeconds", 0)
    return Limits(turns or None, seconds or None)


def check_limits(
    repository: Repository, tip: Oid, limits: Limits, find_idle: Callable[[Repository, Oid], Idle]
) -> tuple[int | None, tuple[Note, ...]]:
    """Return how many messages may still come after a tip, None without a limit, and notes on exceeded limits.

    `find_idle` returns how long the branch was idle; it is called only if there is a limit.
    """
    notes, remaining = [], None
    if limits.max_turns is not None:
        count = count_messages(walk_newest_first(repository, [tip]))
        remaining = max(0, limits.max_turns - count)
        if not remaining:
            text = f"the history of the branch has {count} of {limits.max_turns} messages (scopes.maxTurns)"
            notes.append(Note(text, "continue in a new one: scopes new"))
    if limits.idle_seconds is not None:
        verb, seconds = find_idle(repository, tip)
        if seconds > limits.idle_seconds:
            limit = f"longer than scopes.idleSeconds ({limits.idle_seconds})"
            notes.append(Note(f"the branch {verb} idle for {seconds} seconds, {limit}"))
    return remaining, tuple(notes)


def idle_before(repository: Repository, tip: Oid) -> Idle:
    """Return how long a branch was idle before its tip was appended."""
    commit = read_commit(repository, tip)
    return Idle("was", commit.time - read_commit_stub(repository, commit.parents[0]).time if commit.parents else 0)


def idle_since(repository: Repository, tip: Oid) -> Idle:
    """Return how long a branch has been idle since its tip was appended."""
    return Idle("has been", now_nanoseconds() // 1_000_000_000 - read_commit_stub(repository, tip).time)
