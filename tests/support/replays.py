"""Replay the branch fix on main in either way, for tests of what both have in common."""

from __future__ import annotations

from collections.abc import Sequence

from scopes.conversation.rebase import ReplayConflicted, Replayed, cherry_pick, rebase
from scopes.store.repository import Repository


def replay(repository: Repository, verb: str, messages: Sequence[str] = ("fix",)) -> Replayed | ReplayConflicted:
    """Rebase fix onto main, or pick messages (default: those of fix) to main."""
    if verb == "rebase":
        return rebase(repository, "conv-001", branch="fix", onto="main")
    return cherry_pick(repository, "conv-001", list(messages), branch="main")
