"""How a turn ended that has no whole answer (S3-24): the one word for it in every view."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final, Literal, TypeAlias

from scopes.errors import Corrupt, NotFound
from scopes.history.messages import MessageHeader, read_message_at
from scopes.history.metadata import read_metadata
from scopes.history.revisions import MAIN
from scopes.ids import BranchName, ConversationId, Oid
from scopes.model.conversation import ACP
from scopes.model.message import Message
from scopes.store.objects import Commit
from scopes.store.repository import Repository

Ending: TypeAlias = Literal["interrupted", "cancelled", "unanswered"]
_ENDS: Final = frozenset({"answer", "tool-results", "prompt"})
_ANSWERS: Final = frozenset({"answer", "tool-results"})
_INTERRUPTED: Final = frozenset({"interrupted", "partial"})
_WORDS: Final = (b'"cancelled"', b'"interrupted"', b'"partial"')


def ending_of(message: Message) -> Ending | None:
    """Return how the turn of a message ended, if the message says it: by an interrupt, or by the user; else None."""
    status = message.status
    if "cancelled" in (status, message.stop_reason):
        return "cancelled"
    return "interrupted" if message.kind == "interrupt" or status in _INTERRUPTED else None


def may_have_ending(kind: str, body: bytes) -> bool:
    """Return False if neither `ending_of` nor `is_unanswered` finds anything in the last message of a turn.

    It is decided by its stored bytes: to decode each message takes long.
    """
    return b'"acp":' in body if kind == "prompt" else any(word in body for word in _WORDS)


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


def is_live(repository: Repository, conversation: ConversationId, branch: BranchName | None) -> bool:
    """Return True if `scopes acp` has recorded on a branch, or on main, from which it may come; None: on any one."""
    with suppress(Corrupt, NotFound):
        branches = read_metadata(repository, conversation).branches
        return any(ACP in entry.extra for name, entry in branches.items() if branch is None or name in {branch, MAIN})
    return False


class Following:
    """What follows each message, in a walk in which it comes after all that follow it.

    tips: those of branches: nothing follows them. is_live: the conversation has sessions of `scopes acp`; in others,
    which are imported, an interrupt is a message of its own.
    """

    def __init__(self, tips: Iterable[Oid], *, is_live: bool) -> None:
        self._tips = frozenset(tips)
        self._is_live = is_live
        self._next: dict[Oid, tuple[MessageHeader, ...]] = {}

    def visit(self, head: MessageHeader) -> tuple[Oid, ...] | None:
        """Return the prompts that follow the last message of a turn; None for others, and if it ended as it should."""
        known, kind = self._next, head.kind
        if not self._is_live and not known and kind != "interrupt" and head.oid not in self._tips:
            return None  # nearly always
        following = known.pop(head.oid, ())
        for parent in head.parents if self._is_live or kind == "interrupt" else ():
            known[parent] = (*known[parent], head) if parent in known else (head,)
        if kind not in _ENDS or (not following and head.oid not in self._tips):
            return None
        return last_of_turn(kind, {each.oid: each.kind for each in following})


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
