"""Decisions for the tests of rebase and cherry-pick: append one to a branch, and read those of a branch."""

from __future__ import annotations

from scopes.conversation.append import MessageAppended
from scopes.history.names import resolve_revision
from scopes.merge.compare import state_of
from scopes.model import canonical_json
from scopes.store.objects import read_blob, walk_blobs
from scopes.store.repository import Repository
from tests.support.history import say


def decide(
    repository: Repository, where: str, choice: str, *, author: str = "carol", topic: str = "auth"
) -> MessageAppended:
    """Append a decision to a branch."""
    document = {"topic": topic, "decision": choice}
    return say(repository, where, f"we use {choice}", author=author, kind="decision", decision=document)


def decided(repository: Repository, where: str) -> list[str]:
    """Return the decisions of a branch, sorted by topic."""
    state = state_of(repository, resolve_revision(repository, where).oid)
    blobs = [] if state is None else sorted(walk_blobs(repository, state))
    return [
        canonical_json.load(read_blob(repository, oid))["decision"]
        for path, oid in blobs
        if path.startswith("decisions/")
    ]
