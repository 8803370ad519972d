"""Check the limits of a conversation: how many messages it may have, and how long it may be idle (S1-24).

They stop nothing: `append` and `context` report what is left, and warn when a limit is exceeded.
"""

from __future__ import annotations

from typing import Final, NamedTuple

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


NO_LIMITS: Final = Limits()


def read_limits(config: Config) -> Limits:
    """Return the configured limits."""
    turns, seconds = config.find_integer("scopes.maxTurns", 0), config.find_integer("scopes.idleSeconds", 0)
    return Limits(turns or None, seconds or None)


def check_limits(
    repository: Repository, tip: Oid, limits: Limits, *, until: int | None = None
) -> tuple[int | None, tuple[Note, ...]]:
    """Return how many messages may still come after a tip, None without a limit, and notes on exceeded limits.

    until: the branch is idle from the tip to this time, in seconds; None: it was idle before the tip was appended.
    """
    notes, remaining = [], None
    if limits.max_turns is not None:
        count = count_messages(walk_newest_first(repository, [tip]))
        remaining = max(0, limits.max_turns - count)
        if not remaining:
            text = f"the history of the branch has {count} of {limits.max_turns} messages (scopes.maxTurns)"
            notes.append(Note(text, "continue in a new one: scopes conv new"))
    if limits.idle_seconds is not None:
        idle = _idle_seconds(repository, tip, until)
        if idle > limits.idle_seconds:
            verb = "was" if until is None else "has been"
            text = f"the branch {verb} idle for {idle} seconds, longer than scopes.idleSeconds ({limits.idle_seconds})"
            notes.append(Note(text))
    return remaining, tuple(notes)


def _idle_seconds(repository: Repository, tip: Oid, until: int | None) -> int:
    if until is not None:
        return until - read_commit_stub(repository, tip).time
    commit = read_commit(repository, tip)
    return commit.time - read_commit_stub(repository, commit.parents[0]).time if commit.parents else 0
