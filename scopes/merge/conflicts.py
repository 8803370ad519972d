"""The conflicts of a conversation: list and number them, find one by its name, read what was said, find its sides.

A conflict is open on the conflict-resolution branch of what is in progress. Its record stays in the state, so that it
is known on every branch that has it, and after it was resolved. One that was aborted is found in the operations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any, NamedTuple, TypeAlias

from scopes.clock import known_seconds, utc
from scopes.errors import Ambiguous, Invalid, NotFound
from scopes.history.messages import (
    STATE_DIRECTORY,
    MessageHeader,
    RecordedTimes,
    display_time,
    message_id_of,
    read_body,
    walk_headers_newest_first,
)
from scopes.history.names import find_root_commit, list_branch_tips
from scopes.ids import AgentName, BranchName, ConversationId, Oid
from scopes.merge.compare import (
    Disagreement,
    PathChange,
    changes_on,
    find_disagreements,
    find_divergence,
    state_of,
)
from scopes.merge.in_progress import HELD, PURPOSE, InProgress, holding, list_conflicts_of, list_in_progress
from scopes.merge.keys import (
    can_have_value,
    can_state,
    decoded_key,
    display_key,
    folded_key,
    group_of,
    per_agent,
    value_field,
)
from scopes.merge.plan import list_conflicts_at, open_conflicts_at
from scopes.merge.replay import divergence_of
from scopes.merge.resolve import BOTH, EarlierResolutions, walk_resolved
from scopes.model import canonical_json
from scopes.model.canonical_json import encode_component, leaf, without_none
from scopes.model.conflicts import ENDED, SIDES, Conflict, Position, conflict_document
from scopes.model.conversation import ABANDONED
from scopes.model.message import ARGUMENT, CONFLICTS, ENTITIES, MESSAGES, PROPOSALS, content_hash, read_argument
from scopes.model.message import Position as ArguedPosition
from scopes.model.operation import Operation
from scopes.store import refs
from scopes.store.graph import is_ancestor, list_new_commits, walk_newest_first
from scopes.store.objects import BLOB, BlobChange, Commit, Objects, find_entry, read_commit
from scopes.store.operations import walk_operations
from scopes.store.repository import Repository

_ID_PREFIX = re.compile(r"[0-9a-f]{1,12}")
_MAX_NUMBER_DIGITS = 3
_ABORTED = "-abort"
_DROPPING = frozenset({"rebase-conflict", "cherry-pick-conflict", "delete-branch"})  # kinds of operations
_DISCUSSING_KINDS = frozenset({"human", "agent"})  # kinds of author


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictRow:
    """One conflict, numbered from 1 within its conversation.

    Attributes:
        branch: The conflict-resolution branch.
        since: When it was opened: the merge stopped. For an aborted one, and one that a merge or replay resolved by
            itself, when that happened.
        resolved: When it was resolved; None for other ones.
        recorded_at: When an operation wrote the message that opened it, if that has another time and it is known.
        kind: "merge", "rebase" or "cherry-pick"; "branch" if nothing is in progress on the branch.
    """

    number: int
    conversation: ConversationId
    branch: BranchName
    source: str
    target: BranchName
    since: str
    conflict: Conflict
    kind: str = "merge"
    resolved: str | None = None
    recorded_at: str | None = None

    @property
    def opened_at(self) -> str:
        """When it was opened, as people see it."""
        return self.recorded_at or self.since

    @property
    def changed_at(self) -> str:
        """When it was resolved, or else opened, as people see it."""
        return self.opened_at if self.resolved in {None, self.since} else self.resolved or self.opened_at

    def document(self, texts: Mapping[str, str] | None = None) -> dict[str, object]:
        """Return the conflict as a JSON object with its place; `texts` are those of its messages, by id."""
        place = without_none(
            conversation=self.conversation,
            branch=self.branch,
            source_branch=self.source,
            target_branch=self.target,
            since=utc(self.since),
            recorded_at=utc(self.recorded_at),
            resolved_at=utc(self.resolved),
        )
        return conflict_document(self.number, self.conflict, texts) | place


class _Dropped(NamedTuple):
    """A conflict-resolution branch that an operation aborted, deleted or moved on from, and its tip before."""

    operation: Operation
    branch: BranchName
    tip: Oid


EndedConflicts: TypeAlias = Mapping[ConversationId, Sequence[_Dropped]]
"""Where the conflicts are that ended without a resolution, by conversation; from `read_ended`."""
_Row: TypeAlias = tuple[ConflictRow, InProgress]
_Held: TypeAlias = tuple[InProgress, Conflict]


def read_ended(repository: Repository) -> EndedConflicts:
    """Find the conflict-resolution branches that were dropped: by --abort, by --skip, or with the branch."""
    found: dict[ConversationId, list[_Dropped]] = {}
    for _, operation in walk_operations(repository):
        if operation.kind.endswith(_ABORTED) or operation.kind in _DROPPING:
            for change in operation.changes:
                pair = refs.split_branch_ref(change.ref)
                if pair is not None and pair[1].startswith(f"{PURPOSE}/") and change.old is not None:
                    found.setdefault(pair[0], []).append(_Dropped(operation, pair[1], Oid(change.old)))
    return found


def walk_conflicts(
    repository: Repository, conversation: ConversationId, *, ended: EndedConflicts | None = None
) -> Iterator[ConflictRow]:
    """Yield the conflicts of a conversation, by branch, then by key; numbers are unique.

    First those of merges and replays in progress, resolved ones included; then open ones recorded on other branches;
    with `ended`, from `read_ended`, also those that were resolved or aborted.
    """
    yield from (row for row, _ in _walk_rows(repository, conversation, ended=ended))


def read_conflict(repository: Repository, conversation: ConversationId, name: str) -> tuple[ConflictRow, InProgress]:
    """Return a conflict by its id, its number, a prefix of its id, or its key; up to three digits are always a number.

    If several match and one of them has not ended, it is that one. Of several resolutions of one conflict it is the
    first one.

    Raises:
        NotFound, Ambiguous: none or several match.
    """
    for with_ended in (False, True):  # the operations are read only if nothing else has that name
        ended = read_ended(repository) if with_ended else None
        rows = list(_walk_rows(repository, conversation, ended=ended))
        found = _find_named(rows, name)
        if found:
            break
    if not found:
        hint = f"list them: scopes conflicts list {quote(conversation)}"
        raise NotFound(f"there is no conflict {name!a} in {conversation}", hint=hint)
    found = [pair for pair in found if pair[0].conflict.status not in ENDED] or found
    are_of_one = len({row.conflict.id for row, _ in found}) == 1
    if len(found) > 1 and not (are_of_one and found[0][0].conflict.status in ENDED):
        names = ", ".join(f"{row.number} ({row.conflict.id} on {row.branch})" for row, _ in found[:8])
        hint = f"name one by its number: {names}"
        raise Ambiguous(f"{name!a} matches {len(found)} conflicts of {conversation}", hint=hint)
    return found[0]


def is_id_prefix(name: str) -> bool:
    """Return True if a name can be the beginning of an id; up to three digits are always a number."""
    return _ID_PREFIX.fullmatch(name) is not None and not (name.isdecimal() and len(name) <= _MAX_NUMBER_DIGITS)


def _find_named(rows: list[_Row], name: str) -> list[_Row]:
    found = [pair for pair in rows if pair[0].conflict.id == name]
    found = found or [pair for pair in rows if name.isdecimal() and name == str(pair[0].number)]
    found = found or [pair for pair in rows if is_id_prefix(name) and pair[0].conflict.id.startswith(name)]
    spellings = (lambda key: key), decoded_key, display_key
    found = found or [pair for pair in rows if name in {spell(pair[0].conflict.key) for spell in spellings}]
    return found or [pair for pair in rows if pair[0].conflict.key == folded_key(name)]


def _is_discussion(head: MessageHeader) -> bool:
    """Return True for a message of an agent or a person that is no resolution or escalation."""
    return head.author_kind in _DISCUSSING_KINDS and head.kind != "notice"


def _walk_rows(repository: Repository, conversation: ConversationId, *, ended: EndedConflicts | None) -> Iterator[_Row]:
    times, waiting = RecordedTimes(repository), list_in_progress(repository, conversation)
    earlier = list_earlier(repository, conversation, *waiting)
    for number, (in_progress, record) in enumerate(_walk(repository, conversation, waiting, ended), 1):
        answers = () if record.status in ENDED else earlier.find(record)
        found = replace(record, earlier=answers) if answers else record
        yield _row(repository, times, in_progress, number, found), in_progress


def _find_notices(
    repository: Repository, tip: Oid, conflict: str, *, is_resolved: bool
) -> tuple[Commit, Commit | None]:
    """Return the oldest commit, on the first parents, with the record of a conflict, and the one that resolved it."""
    path, opening, resolving = f"{STATE_DIRECTORY}/{leaf(CONFLICTS, conflict)}", read_commit(repository, tip), None
    if is_resolved:
        resolving = next((commit for found, commit in walk_resolved(repository, [tip]) if found == conflict), None)
        opening = resolving or opening
    while opening.parents:
        before = read_commit(repository, opening.parents[0])
        if find_entry(repository, before.tree, path) is None:
            break
        opening = before
    return opening, resolving


def list_earlier(repository: Repository, conversation: ConversationId, *waiting: InProgress) -> EarlierResolutions:
    """Return the resolutions that may answer the conflicts of branches of one conversation."""
    tips = [tip for each in waiting for tip in (each.target_tip, each.source_tip)]
    return EarlierResolutions(repository, conversation, *tips)


def _row(
    repository: Repository, times: RecordedTimes, in_progress: InProgress, number: int, record: Conflict
) -> ConflictRow:
    since, recorded, resolved = in_progress.entry.created, None, None
    is_resolved = record.status == "resolved"
    if is_resolved or (in_progress.kind == HELD and record.status not in ENDED):
        opening, resolving = _find_notices(repository, in_progress.tip, record.id, is_resolved=is_resolved)
        since, written = known_seconds(opening.time) or since, times.find(opening.oid, opening.time)
        recorded = None if written is None else known_seconds(written)
        # what a merge or replay resolved by itself was opened and resolved at once
        resolved = (since if resolving is None else known_seconds(resolving.time)) if is_resolved else None
    return ConflictRow(
        number=number,
        conversation=in_progress.conversation,
        branch=in_progress.branch,
        source=in_progress.source,
        target=in_progress.target,
        since=since,
        resolved=resolved,
        recorded_at=None if recorded is None or recorded[:19] == since[:19] else recorded,
        conflict=record,
        kind=in_progress.kind,
    )


def _walk(
    repository: Repository, conversation: ConversationId, waiting: Sequence[InProgress], ended: EndedConflicts | None
) -> Iterator[_Held]:
    """Yield the conflicts of what is in progress; one that is talked about is in debate. Then those of `_walk_held`."""
    seen: set[str] = set()
    for in_progress in waiting:
        heads = walk_headers_newest_first(repository, [in_progress.tip], {in_progress.stopped})
        arguments = (
            read_argument(read_body(repository, each).extra.get(ARGUMENT)) for each in heads if _is_discussion(each)
        )
        about = {each.about if each is not None and is_id_prefix(each.about) else None for each in arguments}
        for record in list_conflicts_of(repository, in_progress):
            seen.add(record.id)
            is_debated = record.status == "open" and not about.isdisjoint({record.id, None})
            yield in_progress, replace(record, status="debate") if is_debated else record
    yield from _walk_held(repository, conversation, {each.branch for each in waiting}, seen, ended)


def _walk_held(
    repository: Repository,
    conversation: ConversationId,
    busy: set[BranchName],
    seen: set[str],
    ended: EndedConflicts | None,
) -> Iterator[_Held]:
    """Yield the conflicts recorded on branches where nothing is in progress: open ones, and with `ended` all.

    An open one is listed for each branch, since it is resolved on each, unless the branch was merged into another one
    that has it resolved. A resolved one is listed once. One that was aborted, or whose
    message a replay skipped, is listed once: nobody can resolve it any more.
    """
    tips = list_branch_tips(repository, conversation)
    if ended is None:
        tips = {name: tip for name, tip in tips.items() if name not in busy}
    opened: list[_Held] = []
    resolved: dict[str, list[_Held]] = {}
    for name in sorted(tips, key=lambda name: (name != "main", name)):
        records = list_conflicts_at(repository, tips[name])
        for record in records.values():
            if record.id in seen and (name in busy or record.status != "resolved"):
                continue
            held = holding(repository, conversation, name, tips[name]), record
            if record.status == "resolved":
                resolved.setdefault(record.id, []).append(held)
            elif name not in busy and not _was_skipped(held[0]):
                opened.append(held)
    for in_progress, record in opened:
        tips_resolved = (other.tip for other, _ in resolved.get(record.id, ()))
        if not any(is_ancestor(repository, in_progress.tip, tip) for tip in tips_resolved):
            yield in_progress, record
    if ended is not None:
        known = {*seen, *(record.id for _, record in opened)}
        for identity, found in resolved.items():
            named = next((each for each, _ in found if each.source), found[0][0])
            holder = replace(found[0][0], source=named.source, target=named.target)
            yield holder, found[0][1]
            known.add(identity)
        yield from _walk_dropped(repository, conversation, ended, tips, known)


def _was_skipped(held: InProgress) -> bool:
    """Return True for a branch whose replay ended by --skip, or that was abandoned."""
    return held.entry.purpose == PURPOSE and held.entry.status == ABANDONED


def _walk_dropped(
    repository: Repository,
    conversation: ConversationId,
    ended: EndedConflicts,
    tips: Mapping[BranchName, Oid],
    known: set[str],
) -> Iterator[_Held]:
    """Yield the conflicts that were aborted, or skipped with their messages, each once; ids in `known` are left out."""
    held = [holding(repository, conversation, name, tip) for name, tip in tips.items()]
    dropped = [each for each in held if _was_skipped(each)]
    root = find_root_commit(repository, conversation) or Oid("")
    dropped += (
        holding(repository, conversation, each.branch, each.tip, each.operation)
        for each in ended.get(conversation, ())
        if repository.has(each.tip) and is_ancestor(repository, root, each.tip)
    )
    listed = set(known)
    for each in dropped:
        for record in open_conflicts_at(repository, each.tip):
            if record.id not in listed:
                listed.add(record.id)
                yield each, replace(record, status="aborted")


class Discussion(NamedTuple):
    """What was said about a conflict.

    talk: the messages of agents and people, oldest first
    positions: the newest one of each author, in the order in which they were stated
    escalated_to: whom it was escalated to last; None if it was not
    escalated_at: when
    """

    talk: tuple[MessageHeader, ...]
    positions: tuple[ArguedPosition, ...]
    escalated_to: str | None = None
    escalated_at: str | None = None


def read_discussion(repository: Repository, in_progress: InProgress, conflict: Conflict) -> Discussion:
    """Return what was said about a conflict, also after it has ended."""
    begin, end = in_progress.stopped, in_progress.tip
    if in_progress.kind == HELD:
        opening, resolving = _find_notices(repository, end, conflict.id, is_resolved=conflict.status == "resolved")
        begin, end = opening.oid, end if resolving is None else resolving.oid
    heads = list(walk_headers_newest_first(repository, [end], {begin}))
    positions: dict[str, ArguedPosition] = {}
    addressee = time = None
    talk = []
    for head in reversed(heads):
        extra = read_body(repository, head).extra
        if _is_discussion(head):
            argument = read_argument(extra.get(ARGUMENT))
            if argument is not None and argument.about == conflict.id:
                positions.pop(head.author, None)
                author = AgentName(head.author)
                positions[author] = ArguedPosition(
                    author=author, time=display_time(head), message=head.id, argument=argument
                )
            talk.append(head)
        elif head.kind == "notice" and head.to:
            match extra.get("conflict"):
                case {"id": str(found), "status": "escalated"} if found == conflict.id:
                    addressee, time = head.to[0], display_time(head)
    if in_progress.kind == HELD and conflict.status not in ENDED:  # the branch has other messages too
        stated = {each.message for each in positions.values()}
        talk = [head for head in talk if head.id in stated]
    return Discussion(tuple(talk), tuple(positions.values()), addressee, time)


def find_disagreement(
    repository: Repository, in_progress: InProgress, conflict: Conflict, objects: Objects | None = None
) -> Disagreement:
    """Detect the disagreement behind a recorded conflict again, from the tips of both sides.

    A branch that only holds the record has the values in the record: the disagreement is made from these, and their
    claims are written to `objects` (default: the repository, under its lock).
    """
    target, source, divergence = in_progress.target_tip, in_progress.source_tip, None
    if in_progress.kind == "merge":
        divergence = find_divergence(repository, repository, target, source, unrelated=True)
    elif in_progress.kind != HELD:
        new = list_new_commits(repository, target, source)
        stating = [commit for commit in new if can_state(commit)]
        divergence = divergence_of(repository, target, read_commit(repository, source), new, stating)
    for disagreement in () if divergence is None else find_disagreements(repository, divergence):
        if (disagreement.key, disagreement.type) == (conflict.key, conflict.type):
            return disagreement
    return _disagreement_of_record(repository, objects or repository, in_progress.tip, conflict)


def changes_made_since(repository: Repository, in_progress: InProgress, key: str) -> dict[str, BlobChange]:
    """Return the changes that undo what messages on the conflict-resolution branch claimed about a key.

    Without them "take target" would keep such a claim, which neither side has made.
    """
    before, after = (state_of(repository, tip) for tip in (in_progress.target_tip, in_progress.tip))
    changes = changes_on(repository, before, after, [key]).get(key, {})
    return {path: change.old for path, change in changes.items()}


def _disagreement_of_record(repository: Repository, objects: Objects, tip: Oid, conflict: Conflict) -> Disagreement:
    """Make the disagreement that a record describes, from the values of its positions."""
    base, target, source = (
        _claims_of_positions(repository, objects, tip, conflict.key, positions)
        for positions in (conflict.base, conflict.target, conflict.source)
    )
    if group_of(conflict.key) == MESSAGES:  # a side that only answered the message has not changed it
        target, source = target or base, source or base
    changes = [
        {path: PathChange(base.get(path), side.get(path)) for path in {**base, **side}} for side in (target, source)
    ]
    return Disagreement(conflict.key, conflict.type, changes[0], changes[1])


def _claims_of_positions(
    repository: Repository, objects: Objects, tip: Oid, key: str, positions: Iterable[Position]
) -> dict[str, Oid]:
    found = {}
    for position in positions:
        claim = _claim_of_position(repository, tip, key, position)
        if claim is not None:
            agent = f"/{encode_component(position.agent or '')}" if per_agent(key) else ""
            is_entity = group_of(key) == PROPOSALS and isinstance(claim, dict) and claim.keys() == {"value"}
            path = f"{ENTITIES}/{key.partition('/')[2]}=" if is_entity else f"{key}{agent}="
            found[path] = objects.write(BLOB, canonical_json.dump(claim))
    return found


def _claim_of_position(repository: Repository, tip: Oid, key: str, position: Position) -> Any:
    """Return the claim with the value of a position, the inverse of `claim_value`; None if a message made no claim."""
    value, field = position.value, value_field(key)
    if isinstance(value, dict) and value.keys() == {BOTH}:
        return value
    if field is not None:
        return {field: value}
    if group_of(key) == PROPOSALS and not (isinstance(value, dict) and value.keys() & {"operation", "value"}):
        return {"operation": "update", "after": value}
    if group_of(key) == MESSAGES and isinstance(value, str):
        for commit in walk_newest_first(repository, [tip]):
            if message_id_of(commit) == position.message:
                message = read_body(repository, commit)
                return None if message.amends is None else {"amended": content_hash(message)}
        return None
    return value


def list_sides(disagreement: Disagreement, conflict: Conflict) -> tuple[str, ...]:
    """Return the sides that can be taken: `base` only if there is a value, `both` only if the key can hold both."""
    return tuple(side for side in SIDES if _find_obstacle(disagreement, conflict, side) is None)


def _find_obstacle(disagreement: Disagreement, conflict: Conflict, side: str) -> str | None:
    """Return why a conflict cannot take a side; None if it can."""
    key, target, source = disagreement.key, disagreement.target, disagreement.source
    if side == "base" and not conflict.base:
        return f"{decoded_key(key)} has no value at the merge base"
    if side == BOTH and group_of(key) == MESSAGES:
        return "a message cannot have two texts"
    has_one_value = value_field(key) is not None or group_of(key) == PROPOSALS
    differs = any(target[path].new != source[path].new for path in target.keys() & source.keys())
    return f"{decoded_key(key)} holds one value" if side == BOTH and has_one_value and differs else None


def require_side(disagreement: Disagreement, conflict: Conflict, side: str) -> None:
    """Check that a conflict can take a side.

    Raises:
        Invalid: it cannot; the hint names the sides that it can take.
    """
    sides = list_sides(disagreement, conflict)
    if side in sides:
        return
    obstacle = _find_obstacle(disagreement, conflict, side)
    hint = f"take {', '.join(sides[:-1])} or {sides[-1]}"
    hint += " (ours is target, theirs is source)" if obstacle is None else ""
    if can_have_value(disagreement.key):
        hint += ", or give a new value: --value 'as we agreed'"
    raise Invalid(obstacle or f"{side!a} is not a valid side of a conflict", hint=hint)


def read_value(key: str, text: str) -> Any:
    """Parse a value from the command line: as JSON if the key can hold any value and the text is JSON, else as text.

    Raises:
        Invalid: the JSON cannot be stored.
    """
    if value_field(key) is not None or group_of(key) == MESSAGES:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    canonical_json.dump(value)
    return value
