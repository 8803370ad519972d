"""Number the conflicts of a conversation, in progress or recorded, and find one by its number or id."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from scopes.errors import Ambiguous, NotFound
from scopes.history.messages import KIND_TRAILER, TO_TRAILER, MessageHeader, read_message, walk_headers_newest_first
from scopes.history.revisions import conversation_ids, list_branch_tips
from scopes.ids import BranchName, ConversationId, Oid
from scopes.merge.attribution import describe
from scopes.merge.automatic_resolution import read_reuse
from scopes.merge.detection import find_disagreements
from scopes.merge.divergence import find_divergence
from scopes.merge.earlier_resolutions import EarlierResolutions
from scopes.merge.in_progress import InProgress, holding, list_conflicts_of, list_in_progress, read_sides
from scopes.merge.records import list_conflicts_at
from scopes.model.conflicts import Conflict, EarlierResolution, decode_resolution
from scopes.model.message import Message
from scopes.store.graph import is_ancestor, walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Repository

_MAX_NUMBER_DIGITS = 3
_DISCUSSING_KINDS = frozenset({"human", "agent"})  # kinds of author


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictRow:
    """One conflict, numbered from 1 within its conversation.

    Attributes:
        branch: The conflict-resolution branch.
        since: When that was created.
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


_Held: TypeAlias = tuple[InProgress, Conflict, tuple[str, str]]  # with source and target
_Row: TypeAlias = tuple[ConflictRow, InProgress]


def walk_conflicts(
    repository: Repository, conversation: ConversationId, *, ended: bool = False
) -> Iterator[ConflictRow]:
    """Yield the conflicts of a conversation, by branch, then by key; numbers are unique.

    First those of merges and replays in progress, resolved ones included; then open ones recorded on other branches;
    with `ended` also all that were resolved by finished merges.
    """
    yield from (row for row, _ in _walk_rows(repository, conversation, ended=ended))


def read_conflict(repository: Repository, conversation: ConversationId, name: str) -> tuple[ConflictRow, InProgress]:
    """Return a conflict by its id, its number, or a prefix of its id; up to three digits are always a number.

    Raises:
        NotFound, Ambiguous: none or several match.
    """
    for ended in (False, True):  # the history is read only if nothing else has that name
        rows = list(_walk_rows(repository, conversation, ended=ended))
        found = _find_named(rows, name)
        if found:
            break
    if not found:
        hint = f"list them: scopes conflicts list {conversation}"
        raise NotFound(f"there is no conflict {name!a} in {conversation}", hint=hint)
    if len(found) > 1:
        names = ", ".join(f"{row.number} ({row.conflict.id} on {row.branch})" for row, _ in found[:8])
        hint = f"name one by its number: {names}"
        raise Ambiguous(f"{name!a} matches {len(found)} conflicts of {conversation}", hint=hint)
    return found[0]


def find_conversations_of_conflict(repository: Repository, name: str) -> list[ConversationId]:
    """Return the conversations that have a conflict with this id or prefix of an id, never a number."""
    if not is_id_prefix(name):
        return []
    conversations = conversation_ids(repository)
    for ended in (False, True):  # the histories are read only if no open conflict has that id
        found = [
            conversation
            for conversation in conversations
            if any(row.conflict.id.startswith(name) for row in walk_conflicts(repository, conversation, ended=ended))
        ]
        if found:
            break
    return found


def is_id_prefix(name: str) -> bool:
    """Return True if a name can be the beginning of an id; up to three digits are always a number."""
    return bool(name) and not (name.isdecimal() and len(name) <= _MAX_NUMBER_DIGITS)


def _find_named(rows: list[_Row], name: str) -> list[_Row]:
    found = [pair for pair in rows if pair[0].conflict.id == name]
    found = found or [pair for pair in rows if name.isdecimal() and name == str(pair[0].number)]
    return found or [pair for pair in rows if is_id_prefix(name) and pair[0].conflict.id.startswith(name)]


def find_addressee(repository: Repository, tip: Oid, conflict: str) -> str | None:
    """Return whom a conflict was escalated to last, from the messages of a history."""
    for commit in walk_newest_first(repository, [tip]):
        if commit.trailers.get(KIND_TRAILER) == "notice" and commit.trailers.get(TO_TRAILER):
            match read_message(repository, commit.oid):
                case Message(extra={"conflict": {"id": str(found), "status": "escalated"}}, to=(addressee, *_)):
                    if found == conflict:
                        return addressee
    return None


def list_discussion(repository: Repository, in_progress: InProgress) -> list[MessageHeader]:
    """Return the messages of agents and people on the conflict-resolution branch, newest first."""
    heads = walk_headers_newest_first(repository, [in_progress.tip], {in_progress.stopped})
    return [head for head in heads if head.author_kind in _DISCUSSING_KINDS and head.kind != "notice"]


def _walk_rows(repository: Repository, conversation: ConversationId, *, ended: bool) -> Iterator[_Row]:
    number, seen = 0, set[str]()
    waiting = list_in_progress(repository, conversation)
    earlier = list_earlier(repository, *waiting) if waiting else EarlierResolutions(repository, conversation)
    find = earlier.find if read_reuse(repository.config) != "off" else lambda _: ()
    for in_progress in waiting:
        seen |= {record.id for record in list_conflicts_of(repository, in_progress)}
        for row in _rows(repository, in_progress, number):
            yield _with_earlier(row, find), in_progress
            number = row.number
    for in_progress, record, (source, target) in _walk_held(repository, conversation, seen, ended=ended):
        number += 1
        row = replace(_row(in_progress, number, record, record.status), source=source, target=BranchName(target))
        yield _with_earlier(row, find), in_progress


def list_earlier(repository: Repository, in_progress: InProgress, *others: InProgress) -> EarlierResolutions:
    """Return the resolutions that may answer the conflicts of branches of one conversation."""
    tips = [tip for each in (in_progress, *others) for tip in (each.target_tip, each.source_tip)]
    return EarlierResolutions(repository, in_progress.conversation, *tips)


def _with_earlier(row: ConflictRow, find: Callable[[Conflict], tuple[EarlierResolution, ...]]) -> ConflictRow:
    """Return a row with the earlier resolutions of the same question, if its conflict is open."""
    found = () if row.conflict.status == "resolved" else find(row.conflict)
    return replace(row, conflict=replace(row.conflict, decided_before=found)) if found else row


def _rows(repository: Repository, in_progress: InProgress, before: int) -> Iterator[ConflictRow]:
    discussed = bool(list_discussion(repository, in_progress))
    for number, record in enumerate(list_conflicts_of(repository, in_progress), before + 1):
        status = "debate" if record.status == "open" and discussed else record.status
        yield _row(in_progress, number, record, status)


def _row(in_progress: InProgress, number: int, record: Conflict, status: str) -> ConflictRow:
    return ConflictRow(
        number=number,
        conversation=in_progress.conversation,
        branch=in_progress.branch,
        source=in_progress.source,
        target=in_progress.target,
        since=in_progress.entry.created,
        conflict=replace(record, status=status),
        kind=in_progress.kind,
    )


def _walk_held(repository: Repository, conversation: ConversationId, seen: set[str], *, ended: bool) -> Iterator[_Held]:
    """Yield the conflicts recorded on branches where nothing is in progress: open ones, and with `ended` all.

    An open one is listed for each branch, since it is resolved on each, unless the branch was merged into another one
    that has it resolved. A resolved one is listed once.
    """
    busy = {in_progress.branch for in_progress in list_in_progress(repository, conversation)}
    tips = {name: tip for name, tip in list_branch_tips(repository, conversation).items() if name not in busy}
    opened: list[tuple[InProgress, Conflict]] = []
    resolved: dict[str, list[tuple[InProgress, Conflict]]] = {}
    for name in sorted(tips, key=lambda name: (name != "main", name)):
        records = list_conflicts_at(repository, tips[name])
        for record in (record for record in records.values() if record.id not in seen):
            held = holding(repository, conversation, name, tips[name]), record
            if record.status == "resolved":
                resolved.setdefault(record.id, []).append(held)
            else:
                opened.append(held)
    for in_progress, record in opened:
        tips_resolved = (other.tip for other, _ in resolved.get(record.id, ()))
        if not any(is_ancestor(repository, in_progress.tip, tip) for tip in tips_resolved):
            yield in_progress, record, (in_progress.source, in_progress.target)
    if ended:
        for found in resolved.values():
            in_progress, record = found[0]
            by_age = sorted((each for each, _ in found), key=lambda each: each.entry.created)
            sides = (read_sides(each.branch, each.entry, tips) for each in by_age)
            yield in_progress, record, next(filter(None, sides), (in_progress.source, in_progress.target))
        yield from _walk_resolved_by_merges(repository, conversation, seen | resolved.keys())


def _walk_resolved_by_merges(repository: Repository, conversation: ConversationId, seen: set[str]) -> Iterator[_Held]:
    """Yield the conflicts that merges resolved by themselves, each once; ids in `seen` are left out."""
    tips = list_branch_tips(repository, conversation)
    known, walked = set(seen), set[Oid]()
    for name in sorted(tips, key=lambda name: (name != "main", name)):
        for commit in walk_newest_first(repository, [tips[name]], walked):
            walked.add(commit.oid)
            records = _resolved_by_merge(repository, commit) if commit.trailers.get(KIND_TRAILER) == "merge" else []
            for record in records:
                if record.id not in known:
                    known.add(record.id)
                    sides = _source_of(repository, commit, name, tips), name
                    yield holding(repository, conversation, name, tips[name]), record, sides


def _source_of(repository: Repository, commit: Commit, target: BranchName, tips: Mapping[BranchName, Oid]) -> str:
    """Return the branch that a merge commit merged; empty if it was deleted."""
    source = commit.parents[1]
    others = {name: tip for name, tip in tips.items() if name != target}
    exact = [name for name, tip in others.items() if tip == source]
    grown = (name for name, tip in others.items() if is_ancestor(repository, source, tip))
    return exact[0] if exact else next((n for n in grown if not is_ancestor(repository, commit.oid, others[n])), "")


def _resolved_by_merge(repository: Repository, commit: Commit) -> list[Conflict]:
    """Return the conflicts that a merge resolved by itself, from its message; both sides are computed again."""
    match read_message(repository, commit.oid).extra.get("merge"):
        case {"resolved": list(documents)} if len(commit.parents) == 2:
            target, source = commit.parents
            divergence = find_divergence(repository, repository, target, source, unrelated=True)
            if divergence is None:
                return []
            found = describe(repository, divergence, find_disagreements(repository, divergence))
            conflicts = {conflict.id: conflict for conflict in found}
            return [
                replace(conflicts[identity], status="resolved", resolution=decode_resolution(document))
                for document in documents
                if isinstance(document, dict) and (identity := document.get("id")) in conflicts
            ]
    return []
