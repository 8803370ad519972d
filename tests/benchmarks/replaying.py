"""The time of a rebase per message, compared with one append: a rebase writes one pack and moves its refs once."""

from __future__ import annotations

from collections.abc import Iterator

from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.rebase import rebase
from scopes.history.messages import plain_message
from tests.benchmarks.timing import Row, by_turns, wall
from tests.benchmarks.workspace import Workspace
from tests.support.store import FULL, open_store

_CONVERSATION = "conv-001"
_AGENTS = 40


def measure(work: Workspace) -> Iterator[Row]:
    """Yield the time per message of a rebase onto few and onto as many new messages."""
    race = Race(work)
    for new in (3, race.moved):
        ours, reference = by_turns(work.repetitions(5), lambda n=new: race.run_ours(n), race.run_reference)
        yield Row(
            operation=f"rebase of {race.moved} over {new} new ones, per message",
            ours=ours,
            reference=reference,
            against="one append, synced",
            budget=0.5,
        )


class Race:
    """Rebase the newer half of main onto a branch that starts at its middle, each time in a copy of one store."""

    def __init__(self, work: Workspace) -> None:
        self._work = work
        self._base = work.store_of(1, 1000)
        self.moved = work.amount(1000) // 2

    def run_ours(self, new: int) -> float:
        repository = open_store(self._work.copy(self._base))
        branch(repository, _CONVERSATION, name="idea", start=f"main~{self.moved}", switch=False)
        for number in range(new):
            message = plain_message(f"agent-{number % _AGENTS}", f"message {number}")
            append(repository, _CONVERSATION, message, branch="idea")
        repository = open_store(repository.path, FULL)
        self._work.sync()
        seconds = wall(lambda: rebase(repository, _CONVERSATION, branch="main", onto="idea"))
        return seconds / self.moved

    def run_reference(self) -> float:
        repository = open_store(self._work.copy(self._base), FULL)
        messages = [plain_message("carol", f"message {number}") for number in range(20)]
        return wall(lambda: [append(repository, _CONVERSATION, message) for message in messages]) / len(messages)
