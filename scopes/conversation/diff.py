"""`diff`: compare two branches, messages or conversations; the exit code is that of diff(1) (S4-62).

Messages are matched by id and compared by content, not by commit, so a rebased or cherry-picked message counts as the
same. The states are compared claim by claim: decisions, proposals, findings, files written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scopes.errors import Invalid, NotFound
from scopes.history.messages import NO_TEXT, MessageHeader, header_of, is_root, read_body
from scopes.history.name_syntax import LATEST
from scopes.history.revisions import (
    Revision,
    find_latest_with_branch,
    resolve_conversation,
    resolve_revision,
    resolve_revision_anywhere,
    resolve_with_latest,
)
from scopes.history.tool_calls import TOOL_RESULTS, find_call_message
from scopes.ids import MessageId, Oid
from scopes.merge.attribution import claim_value
from scopes.merge.conflict_keys import agent_of, key_of_path
from scopes.merge.divergence import state_of
from scopes.merge.spellings import group_by_topic
from scopes.model import encoding
from scopes.model.claims import CONFLICTS, PARTICIPANTS, content_of
from scopes.model.message import Message, Part
from scopes.result import Result
from scopes.sanitize import SUBJECT_LENGTH
from scopes.store.graph import list_merge_bases, list_new_commits
from scopes.store.objects import Commit
from scopes.store.repository import Repository
from scopes.store.trees import diff_blobs, read_blob

_NOT_COMPARED = frozenset({PARTICIPANTS, CONFLICTS})


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffSide:
    """One side of a comparison: the name that was given and the revision it resolved to."""

    name: str
    revision: Revision


class MessageDetail(NamedTuple):
    """A message and the results of its tool calls; `folded` is True if another message shows all of its results."""

    message: Message
    results: tuple[Part, ...] = ()
    folded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedMessage:
    """A message that is on both sides with different content."""

    head: MessageHeader
    left: Message
    right: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedClaim:
    """A claim with different values: its key, its agent if claims of that group belong to agents, and both values.

    `in_left` and `in_right` tell an absent claim from one whose value is null. `changed_in` is the only side that
    changed it since the merge base, "left" or "right"; None if both did, or if there is not exactly one merge base.
    `right_key` is set if the right side spells the topic differently.
    """

    key: str
    agent: str | None
    left: Any
    right: Any
    in_left: bool
    in_right: bool
    changed_in: str | None = None
    right_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(Result):
    """The differences between two sides; messages are oldest first, claims sorted by key.

    `details` has, if requested, the messages of either side whose commits do not show their whole text.
    """

    left: DiffSide
    right: DiffSide
    only_left: tuple[MessageHeader, ...]
    only_right: tuple[MessageHeader, ...]
    changed: tuple[ChangedMessage, ...]
    claims: tuple[ChangedClaim, ...]
    details: Mapping[Oid, MessageDetail] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """1 if there is a difference, otherwise 0, as for diff(1)."""
        return 1 if self.only_left or self.only_right or self.changed or self.claims else 0


def diff(repository: Repository, left: str, right: str | None = None, *, details: bool = False) -> Difference:
    """Compare two revisions: two anywhere in the store, or a conversation and a range `A..B` in it.

    A revision may be named without its conversation if that is the latest one. With `details` the result has the bodies
    and tool results that a person wants to see.

    Raises:
        NotFound, Ambiguous: a revision cannot be resolved.
        Invalid: only one revision is given.
    """
    left_side, right_side = resolve_sides(repository, left, right)
    left_tip, right_tip = left_side.revision.oid, right_side.revision.oid
    bases = list_merge_bases(repository, left_tip, right_tip)
    left_commits = list_new_commits(repository, left_tip, right_tip, bases)
    right_commits = list_new_commits(repository, right_tip, left_tip, bases)
    in_left, in_right = _messages_by_id(left_commits), _messages_by_id(right_commits)
    in_both = [(in_left[message_id], in_right[message_id]) for message_id in in_left if message_id in in_right]
    only_left = tuple(head for message_id, head in in_left.items() if message_id not in in_right)
    only_right = tuple(head for message_id, head in in_right.items() if message_id not in in_left)
    claims = _changed_claims(repository, left_tip, right_tip, bases)
    return Difference(
        left=left_side,
        right=right_side,
        only_left=only_left,
        only_right=only_right,
        changed=tuple(_changed_messages(repository, in_both)),
        claims=tuple(sorted(claims, key=lambda claim: (claim.key, claim.agent or ""))),
        details=_read_details(repository, only_left) | _read_details(repository, only_right) if details else {},
    )


def resolve_sides(
    repository: Repository, left: str, right: str | None, command: str = "diff"
) -> tuple[DiffSide, DiffSide]:
    """Resolve the arguments: `A B`, `CONV A..B` or `CONV/A..B`; `A...B` compares the merge base with B, as in git.

    `command` is for the hint.

    Raises as `diff` does.
    """
    text = left if right is None else right
    one, dots, two = text.partition("..")
    if not dots:
        if right is None and not _is_in_latest(repository, left):
            raise Invalid("name two revisions to compare", hint=f"for example: scopes {command} conv-001 main..fix")
        one, two = (left, right) if right is not None else (LATEST, left)
    if dots and right is not None:
        revision = resolve_revision(repository, one or left, resolve_conversation(repository, left))
    else:
        revision = resolve_with_latest(repository, one or left)
    first = DiffSide(name=one or left, revision=revision)
    name = two.removeprefix(".") or first.revision.conversation
    second = DiffSide(name=name, revision=resolve_revision_anywhere(repository, name, first.revision.conversation))
    return (_merge_base(repository, first, second), second) if two.startswith(".") else (first, second)


def _is_in_latest(repository: Repository, text: str) -> bool:
    """Return True if a word is not a conversation or message of the store, but may be a name in the latest one."""
    if find_latest_with_branch(repository, text) is not None:
        return True
    try:
        resolve_revision(repository, text)
    except NotFound:
        return True
    return False


def _merge_base(repository: Repository, first: DiffSide, second: DiffSide) -> DiffSide:
    bases = list_merge_bases(repository, first.revision.oid, second.revision.oid)
    if len(bases) != 1:
        raise Invalid(
            f"{first.name} and {second.name} have {len(bases)} merge bases", hint="compare them with two dots: A..B"
        )
    return DiffSide(name=f"{first.name}...", revision=Revision(first.revision.conversation, None, bases[0]))


def _messages_by_id(commits: Iterable[Commit]) -> dict[MessageId, MessageHeader]:
    """Return the messages of commits by id, in the same order."""
    return {head.id: head for head in (header_of(commit) for commit in commits if not is_root(commit))}


def _read_details(repository: Repository, heads: Sequence[MessageHeader]) -> dict[Oid, MessageDetail]:
    """Read the messages without a complete subject, and assign tool results to the message with their calls."""
    details: dict[Oid, MessageDetail] = {}
    own = {head.oid for head in heads}
    for head in heads:
        if head.subject != NO_TEXT and len(head.subject) < SUBJECT_LENGTH:
            continue
        message = read_body(repository, head)
        details[head.oid] = MessageDetail(message)
        call = find_call_message(repository, head) if head.kind == TOOL_RESULTS else None
        if call is None or call.oid not in own:
            continue
        calling = details.get(call.oid) or MessageDetail(read_body(repository, call))
        results = tuple(part for part in message.parts if part.type == "tool_result")
        called = {part.fields.get("call_id") for part in calling.message.parts if part.type == "tool_call"}
        silent = not message.text.strip() and all(part.type in {"text", "tool_result"} for part in message.parts)
        answered = silent and all(part.fields.get("call_id", "") in called for part in results)
        details[head.oid] = MessageDetail(message, folded=answered)
        details[call.oid] = calling._replace(results=calling.results + results)
    return details


def _changed_messages(
    repository: Repository, pairs: Iterable[tuple[MessageHeader, MessageHeader]]
) -> Iterator[ChangedMessage]:
    for left_head, right_head in pairs:
        left, right = read_body(repository, left_head), read_body(repository, right_head)
        if content_of(left) != content_of(right):
            yield ChangedMessage(head=left_head, left=left, right=right)


def _changed_claims(repository: Repository, left: Oid, right: Oid, bases: Sequence[Oid]) -> Iterator[ChangedClaim]:
    changed_by = {side: _changed_paths(repository, bases, tip) for side, tip in (("left", left), ("right", right))}
    states = state_of(repository, left), state_of(repository, right)
    blobs = {
        path: (old, new)
        for path, old, new in diff_blobs(repository, *states)
        if path.partition("/")[0] not in _NOT_COMPARED
    }
    for paths in group_by_topic(blobs).values():
        for one, other in _paired(paths, blobs):
            key, right_key = key_of_path(one), key_of_path(other)
            old, new = blobs[one][0], blobs[other][1]
            if old == new:  # one claim in two spellings
                continue
            yield ChangedClaim(
                key=key,
                agent=agent_of(one),
                left=_read_value(repository, key, old),
                right=_read_value(repository, right_key, new),
                in_left=old is not None,
                in_right=new is not None,
                changed_in=_only_side({one, other}, changed_by) if len(bases) == 1 else None,
                right_key=right_key if right_key != key else None,
            )


def _paired(paths: Sequence[str], blobs: Mapping[str, tuple[Oid | None, Oid | None]]) -> list[tuple[str, str]]:
    """Return the paths of one topic as pairs of a left and a right one, which differ if the sides spell it differently.

    A side of an earlier version may hold several spellings: these are compared path by path.
    """
    in_left = [path for path in paths if blobs[path][0] is not None]
    in_right = [path for path in paths if blobs[path][1] is not None]
    if len(in_left) == len(in_right) == 1:
        return [(in_left[0], in_right[0])]
    return [(path, path) for path in paths]


def _changed_paths(repository: Repository, bases: Sequence[Oid], tip: Oid) -> frozenset[str]:
    """Return the paths of the claims that changed between the only merge base and a tip."""
    if len(bases) != 1:
        return frozenset()
    return frozenset(
        path for path, _, _ in diff_blobs(repository, state_of(repository, bases[0]), state_of(repository, tip))
    )


def _only_side(paths: Collection[str], changed_by: Mapping[str, frozenset[str]]) -> str | None:
    sides = [side for side, changed in changed_by.items() if not changed.isdisjoint(paths)]
    return sides[0] if len(sides) == 1 else None


def _read_value(repository: Repository, key: str, blob: Oid | None) -> Any:
    return None if blob is None else claim_value(key, encoding.load(read_blob(repository, blob)))
