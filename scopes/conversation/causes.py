"""Who caused an operation, for the change log: a person, an agent, or a remote.

An operation names who ran it, but not what that is: a name that is registered as a program is an agent, others are
people. What somebody said by an operation, such as a review or a position, he caused, whoever ran the command. Who ran
a fetch did not make the changes that it brought: their cause is the remote. Messages have an author, metadata only the
machine that wrote it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from scopes.conversation.change import cause_of
from scopes.conversation.registry_changes import RegistryFile
from scopes.errors import Corrupt, NotFound
from scopes.history.messages import header_of
from scopes.history.shared_refs import AGENT_FILES
from scopes.ids import Oid
from scopes.model.claims import PARTICIPANT_KINDS
from scopes.model.operation import Operation
from scopes.store.refs import HEADS, REMOTES
from scopes.store.repository import Repository, read_commit

SAYS: Final = frozenset({
    "agents-send", "review", "resolve", "collaborate", "collaborate-joined", "collaborate-argued", "collaborate-closed",
})  # kinds of operations that add messages of one author  # fmt: skip

_FETCH: Final = "fetch"  # the kind of operation of all that fetches: also pull, clone and bundle import


class Causes:
    """Finds the causes of operations; they are given oldest first, with what they changed in the registry."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._agents: dict[str, str] = {}  # the names of programs, by number

    def find(self, record: Operation, files: Sequence[RegistryFile]) -> str:
        """Return the cause of an operation."""
        kind = "agent" if record.actor in self._agents.values() else "human"
        cause = _find_remote(record) or self._find_author(record) or cause_of(kind, record.actor)
        for file in files:
            if file.path.startswith(AGENT_FILES):
                self._agents.pop(file.number, None)
                if file.after.get("type") == "ai":
                    self._agents[file.number] = str(file.after.get("name"))
        return cause

    def _find_author(self, record: Operation) -> str | None:
        """Return the author of what an operation said, as a cause; None if it said nothing."""
        tips = [change.new for change in record.changes if change.ref.startswith(HEADS)] if record.kind in SAYS else []
        for tip in tips:
            with suppress(NotFound, Corrupt):
                head = header_of(read_commit(self._repository, Oid(tip or "")))
                if head.author_kind in PARTICIPANT_KINDS:
                    return cause_of(head.author_kind, head.author)
        return None


def _find_remote(record: Operation) -> str | None:
    """Return the remote that an operation has fetched from, as a cause; None if it did not fetch."""
    if record.kind != _FETCH:
        return None
    moved = (change.ref.removeprefix(REMOTES) for change in record.changes if change.ref.startswith(REMOTES))
    name = next((ref.partition("/")[0] for ref in moved), None)
    return "remote" if name is None else f"remote:{name}"
