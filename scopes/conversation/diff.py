"""`diff`: what two branches, messages or conversations do not have in common, with the exit code of diff(1) (S4-62).

Messages are compared by id and content, never by commit, so that a rebased or cherry-picked message is the same one.
What is compared of the state are its claims: what was decided, proposed, found, and written into files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from scopes.errors import Invalid
from scopes.history.messages import MessageHead, head_of, is_root, read_message
from scopes.history.revparse import Revision, find_conversation, resolve_revision, resolve_revision_anywhere
from scopes.ids import Oid
from scopes.merge.attribution import claim_value
from scopes.merge.conflict_keys import agent_of, subject_of
from scopes.merge.divergence import state_of
from scopes.model import canonical
from scopes.model.claims import content_of
from scopes.model.message import Message
from scopes.result import Result
from scopes.store.graph import list_merge_bases, list_new_commits
from scopes.store.repository import Repository
from scopes.store.trees import diff_blobs, read_blob

_UNCOMPARED = frozenset({"participants", "conflicts"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One side: how it was named, and where it stands."""

    name: str
    place: Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDiffers:
    """One message that has different content on the two sides."""

    head: MessageHead
    left: Message
    right: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimDiffers:
    """One claim: its key, the agent where claims of that group go by agent, and both values; absent ones are unknown.

    A value of None on a side where `in_left` or `in_right` is False means that there is none.
    """

    key: str
    agent: str | None
    left: Any
    right: Any
    in_left: bool
    in_right: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(Result):
    """What differs; messages are oldest first, claims sorted by key."""

    left: Compared
    right: Compared
    only_left: tuple[MessageHead, ...]
    only_right: tuple[MessageHead, ...]
    changed: tuple[MessageDiffers, ...]
    claims: tuple[ClaimDiffers, ...]

    @property
    def exit_code(self) -> int:
        """One where there is a difference, as diff(1) has it."""
        return 1 if self.only_left or self.only_right or self.changed or self.claims else 0


def diff(repository: Repository, left: str, right: str | None = None) -> Difference:
    """Compare two places: `CONV` with `A..B`, or two places anywhere in the store.

    Raises:
        NotFound, Ambiguous: there is no such place.
        Invalid: only one place is named.
    """
    first, second = _places(repository, left, right)
    bases = list_merge_bases(repository, first.place.oid, second.place.oid)
    sides = [
        [commit for commit in list_new_commits(repository, one.place.oid, two.place.oid, bases) if not is_root(commit)]
        for one, two in ((first, second), (second, first))
    ]
    ours, theirs = ({head.id: head for head in map(head_of, commits)} for commits in sides)
    return Difference(
        left=first,
        right=second,
        only_left=tuple(head for name, head in ours.items() if name not in theirs),
        only_right=tuple(head for name, head in theirs.items() if name not in ours),
        changed=tuple(_changed(repository, [(ours[name], theirs[name]) for name in ours if name in theirs])),
        claims=tuple(_claims(repository, first.place.oid, second.place.oid)),
    )


def _places(repository: Repository, left: str, right: str | None) -> tuple[Compared, Compared]:
    """Resolve what is compared: `A B`, `CONV A..B`, `CONV/A..B`; `A...B` begins at the merge base, as in git."""
    text = left if right is None else right
    one, dots, two = text.partition("..")
    if not dots:
        if right is None:
            raise Invalid("name two places to compare", hint="for example: scopes conv diff conv-001 main..fix")
        one, two, conversation = left, right, None
    else:
        conversation = None if right is None else find_conversation(repository, left)
    first = Compared(name=one or left, place=resolve_revision(repository, one or left, conversation))
    name = two.removeprefix(".") or first.place.conversation
    second = Compared(name=name, place=resolve_revision_anywhere(repository, name, first.place.conversation))
    return (_common(repository, first, second), second) if two.startswith(".") else (first, second)


def _common(repository: Repository, first: Compared, second: Compared) -> Compared:
    bases = list_merge_bases(repository, first.place.oid, second.place.oid)
    if len(bases) != 1:
        raise Invalid(
            f"{first.name} and {second.name} have {len(bases)} merge bases", hint="compare them with two dots: A..B"
        )
    return Compared(name=f"{first.name}...", place=Revision(first.place.conversation, None, bases[0]))


def _changed(repository: Repository, pairs: Iterable[tuple[MessageHead, MessageHead]]) -> Iterable[MessageDiffers]:
    for left, right in pairs:
        ours, theirs = (read_message(repository, head.oid) for head in (left, right))
        if content_of(ours) != content_of(theirs):
            yield MessageDiffers(head=left, left=ours, right=theirs)


def _claims(repository: Repository, left: Oid, right: Oid) -> list[ClaimDiffers]:
    found = []
    states = [state_of(repository, oid) for oid in (left, right)]
    for path, old, new in diff_blobs(repository, *states):
        key = subject_of(path)
        if path.partition("/")[0] in _UNCOMPARED:
            continue
        values = [None if blob is None else claim_value(key, _read(repository, blob)) for blob in (old, new)]
        found.append(
            ClaimDiffers(
                key=key,
                agent=agent_of(path),
                left=values[0],
                right=values[1],
                in_left=old is not None,
                in_right=new is not None,
            )
        )
    return sorted(found, key=lambda claim: (claim.key, claim.agent or ""))


def _read(repository: Repository, blob: Oid) -> Any:
    return canonical.load(read_blob(repository, blob))
