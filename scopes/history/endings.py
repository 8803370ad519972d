"""How a turn ended that has no whole answer (S3-24): the one word for it in every view."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

from scopes.history.messages import MessageHeader, read_message_at
from scopes.ids import Oid
from scopes.model.conversation import ACP
from scopes.model.message import Message
from scopes.store.objects import Commit
from scopes.store.repository import Repository

Ending: TypeAlias = Literal["interrupted", "cancelled", "unanswered"]
_ANSWERS: Final = frozenset({"answer", "tool-results"})


def ending_of(message: Message) -> Ending | None:
    """Return how the turn of a message ended, if the message says it: by an interrupt, or by the user; else None."""
    if "cancelled" in {message.status, message.stop_reason}:
        return "cancelled"
    return "interrupted" if message.kind == "interrupt" or message.status in {"interrupted", "partial"} else None


def is_unanswered(prompt: Message, next_prompts: Iterable[Message]) -> bool:
    """Return True if a prompt behind `scopes acp` has no answer; its proxy was killed, or the agent is at it.

    next_prompts: the only messages that follow it, on any branch. One of the same run may have been sent while it was
    under way, and then the answer of both comes later.
    """
    run = _run_of(prompt)
    return prompt.kind == "prompt" and run is not None and all(_run_of(each) != run for each in next_prompts)


def _run_of(message: Message) -> str | None:
    found = message.extra.get(ACP)
    run = found.get("run") if isinstance(found, dict) else None
    return run if isinstance(run, str) else None


class Following:
    """What follows each message, in a walk in which it comes after all that follow it."""

    def __init__(self, tips: Iterable[Oid]) -> None:
        self._tips = frozenset(tips)  # of branches: nothing follows them
        self._next: dict[Oid, tuple[MessageHeader, ...]] = {}

    def visit(self, head: MessageHeader) -> tuple[Oid, ...] | None:
        """Return the prompts that follow the last message of a turn; None for other messages."""
        following = self._next.pop(head.oid, ())
        for parent in head.parents:
            self._next[parent] = (*self._next.get(parent, ()), head)
        if not following and head.oid not in self._tips:
            return None
        return last_of_turn(head.kind, {each.oid: each.kind for each in following})


def last_of_turn(kind: str, following: Mapping[Oid, str]) -> tuple[Oid, ...] | None:
    """Return the prompts that follow the last message of a turn, of the kinds of all that follow; None for others."""
    if kind in _ANSWERS:
        return None if _ANSWERS.intersection(following.values()) else ()
    return tuple(following) if kind == "prompt" and set(following.values()) <= {"prompt"} else None


def find_ending(
    repository: Repository, commits: Mapping[Oid, Commit], commit: Commit, message: Message
) -> Ending | None:
    """Return how the turn of a message ended without a whole answer, among all commits of its conversation."""
    if message.kind == "prompt":
        following = {each.oid: str(each.kind) for each in commits.values() if commit.oid in each.parents}
        prompts = last_of_turn(message.kind, following)
        bodies = (read_message_at(repository, commits[oid].tree) for oid in prompts or ())
        if prompts is not None and is_unanswered(message, bodies):
            return "unanswered"
    return ending_of(message)
