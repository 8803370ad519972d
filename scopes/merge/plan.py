"""Plan a merge: find the conflicts, say who holds what, resolve what the policy resolves, and write the merged state.

scopes itself adds two messages to a history: the merge, and the notice that begins a resolution. Their ids, times and
bytes depend on the tips alone, so that the same merge is the same commit on every machine. Who merged, and when, is in
the operation log. Where the user's git signs, the commit has a signature, too: then its message has the same id on
every machine, and the commit has not.
"""

from __future__ import annotations

import re
from base64 import b32encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from scopes.clock import format_seconds
from scopes.errors import Refused
from scopes.history.activity import find_call_message
from scopes.history.messages import (
    MessageHeader,
    header_of,
    is_root,
    message_id_of,
    read_body,
    read_message,
    write_commit_over,
    write_message_blob,
)
from scopes.ids import ID_LENGTH, MessageId, Oid
from scopes.merge.compare import (
    Disagreement,
    Divergence,
    PathChanges,
    Side,
    find_disagreements,
    find_divergence,
    find_later_review,
    state_of,
)
from scopes.merge.files import FileComparison, compare_files
from scopes.merge.keys import RESOLVING_KINDS, find_file, group_of, key_of_path, value_field
from scopes.merge.resolve import Policy, apply_choice, auto_resolve
from scopes.model import canonical_json
from scopes.model.canonical_json import leaf
from scopes.model.conflicts import (
    Conflict,
    Position,
    conflict_id,
    decode_conflict,
    encode_conflict,
    resolution_document,
)
from scopes.model.message import (
    CONFLICTS,
    ENTITIES,
    MESSAGES,
    PROPOSALS,
    Author,
    Message,
    content_of,
    is_purged_copy,
    text_parts,
)
from scopes.result import Note
from scopes.store.graph import walk_newest_first
from scopes.store.objects import (
    BlobChange,
    Commit,
    Objects,
    diff_blobs,
    find_subtree,
    read_blob,
    read_commit,
    read_tree,
    update_tree,
)
from scopes.store.repository import Repository

SCOPES = Author("scopes", "system")
NOTICE = "Conflict detected, creating resolution branch"
_OWN_TEXT = re.compile(r"Merge [0-9]+ messages?")


def merge_text(count: int) -> str:
    """Return the text of a merge of `count` messages; names of branches differ between machines (S4-19)."""
    return f"Merge {count} message{'' if count == 1 else 's'}"


def is_written_by_scopes(head: MessageHeader) -> bool:
    """Return True if a message is a merge with a text of scopes, or the notice that begins a resolution."""
    if (head.author, head.author_kind) != (SCOPES.name, SCOPES.kind):
        return False
    return head.kind == "system" or (head.kind == "merge" and _OWN_TEXT.fullmatch(head.subject) is not None)


def derived_id(*values: Any) -> MessageId:
    """Return a message id that is a hash of JSON values."""
    return MessageId(b32encode(sha256(canonical_json.dump(list(values))).digest()).decode("ascii").lower()[:ID_LENGTH])


def write_merge_commit(  # noqa: PLR0917 - the parts of a merge commit
    objects: Objects,
    parents: Sequence[Oid],
    state: Oid | None,
    merged: Iterable[MessageId],
    conflicts: Iterable[Conflict],
    text: str,
    sign: Callable[[bytes], bytes],
) -> tuple[MessageId, Oid]:
    """Write a merge commit that lists the merged messages and the resolved conflicts; `sign` may add a signature."""
    resolved = [
        {"id": conflict.id, "type": conflict.type, "key": conflict.key, **resolution_document(conflict.resolution)}
        for conflict in conflicts
        if conflict.resolution is not None
    ]
    message_id = derived_id(
        "merge", list(parents), sorted(canonical_json.dump(each).decode() for each in resolved), text
    )
    document: dict[str, Any] = {"messages": list(merged)}
    if resolved:
        document["resolved"] = resolved
    times = [read_commit(objects, parent).time for parent in parents]
    commit = _write(objects, parents, state, message_id, "merge", text, {"merge": document}, max(times), sign)
    return message_id, commit


def write_notice(objects: Objects, target: Oid, source: Oid, state: Oid | None) -> Oid:
    """Write the notice that begins a resolution, on top of the target (S4-17)."""
    time = max(read_commit(objects, tip).time for tip in (target, source))
    return _write(objects, (target,), state, derived_id("conflict", target, source), "system", NOTICE, {}, time)


def _write(  # noqa: PLR0917 - the parts of a commit
    objects: Objects,
    parents: Sequence[Oid],
    state: Oid | None,
    message_id: MessageId,
    kind: str,
    text: str,
    extra: Mapping[str, Any],
    time_seconds: int,
    sign: Callable[[bytes], bytes] = bytes,
) -> Oid:
    message = Message(
        id=message_id, author=SCOPES, parts=text_parts(text), kind=kind, time=format_seconds(time_seconds), extra=extra
    )
    blob = write_message_blob(objects, message)
    return write_commit_over(objects, parents, message, blob, state, time=time_seconds, sign=sign)


def conflict_path(conflict: Conflict) -> str:
    """Return the path of a conflict's record below `state/`."""
    return leaf(CONFLICTS, conflict.id)


def list_conflicts_at(objects: Objects, tip: Oid) -> dict[str, Conflict]:
    """Return the conflicts recorded in the state of a commit, by id, ordered by key and type."""
    return list_records(objects, state_of(objects, tip))


def list_records(objects: Objects, state: Oid | None) -> dict[str, Conflict]:
    """Return the conflicts recorded in a state, by id, ordered by key and type."""
    tree = find_subtree(objects, state, CONFLICTS)
    entries = () if tree is None else read_tree(objects, tree).values()
    records = (decode_conflict(read_blob(objects, each.oid)) for each in entries)
    return {record.id: record for record in sorted(records, key=lambda each: (each.key, each.type))}


def open_conflicts_at(objects: Objects, tip: Oid) -> list[Conflict]:
    """Return the open conflicts in the state of a commit."""
    return [record for record in list_conflicts_at(objects, tip).values() if record.status != "resolved"]


def merge_records(objects: Objects, divergence: Divergence) -> dict[str, BlobChange]:
    """Return the changes to the target's state that merge the records of the source into it."""
    changes: dict[str, BlobChange] = {}
    for key, source_changes in divergence.source.changes.items():
        if not key.startswith(CONFLICTS) or group_of(key) != CONFLICTS:  # there may be thousands of files
            continue
        in_target = divergence.target.changes.get(key, {})
        for path, change in source_changes.items():
            other = in_target.get(path)
            if other is None or other.new is None or change.new is None:
                changes[path] = change.new if other is None or other.new is None else other.new
            elif other.new != change.new:
                data = {blob: read_blob(objects, blob) for blob in (other.new, change.new)}
                # the same in both directions: a resolved one if there is one
                changes[path] = min(data, key=lambda blob: (decode_conflict(data[blob]).resolution is None, data[blob]))
    return changes


def list_inherited(objects: Objects, divergence: Divergence) -> list[Conflict]:
    """Return the conflicts that are open in one of the sides, and would still be open after a merge."""
    sides = [list_records(objects, side.state) for side in (divergence.target, divergence.source)]
    resolved = {record.id for side in sides for record in side.values() if record.status == "resolved"}
    return [record for record in {**sides[1], **sides[0]}.values() if record.id not in resolved]


_TOOL = "tool"  # kind of author
_PROPOSAL_GROUPS = frozenset({PROPOSALS, ENTITIES})


def blame_paths(
    objects: Objects,
    newest_first: Iterable[Commit],
    wanted: Mapping[str, Oid | None],
    *,
    count_resolutions: bool = False,
) -> dict[str, Oid]:
    """Find the newest commits that set each path to its blob, newest first; `wanted` maps paths to blobs.

    A merge commit counts only for paths that differ from all its parents. Who resolved a conflict with the value of a
    side is not its author, unless `count_resolutions` is given.
    """
    found: dict[str, Oid] = {}
    missing = dict(wanted)
    states: dict[Oid, Oid | None] = {}
    for commit in newest_first if missing else ():
        if not missing:
            break
        state = states.pop(commit.oid) if commit.oid in states else state_of(objects, commit.oid)
        for parent in commit.parents:
            states.setdefault(parent, state_of(objects, parent))
        changed: set[str] | None = None
        for before in [states[parent] for parent in commit.parents] or [None]:
            paths = {path for path, _, new in diff_blobs(objects, before, state) if missing.get(path, path) == new}
            changed = paths if changed is None else changed & paths
        key = _resolved_key(objects, commit, with_value=count_resolutions)
        on_key = set() if key is None else {path for path in missing if key_of_path(path) == key}
        setting = changed or set()
        if count_resolutions:
            setting |= {path for path in on_key if find_file(objects, state, path) == wanted[path]}
        else:
            setting -= on_key
        for path in setting:
            found[path] = commit.oid
            del missing[path]
    return found


def _resolved_key(objects: Objects, commit: Commit, *, with_value: bool) -> str | None:
    """Return the key of the conflict that a commit resolved with a side, the base or a new value; else None."""
    if commit.kind != "notice":
        return None
    match read_body(objects, commit).extra.get("conflict"):
        case {"status": "resolved", "choice": "source" | "target" | "base" | "value" as choice, "key": str(key)}:
            return key if with_value or choice != "value" else None
    return None


def describe(objects: Objects, divergence: Divergence, disagreements: Iterable[Disagreement]) -> list[Conflict]:
    """Return a conflict for each disagreement, with the positions of the base and of both sides."""
    listed = list(disagreements)
    if not listed:
        return []
    changes = [change for each in listed for side in (each.target, each.source) for change in side.items()]
    old = {path: change.old for path, change in changes if change.old is not None}
    authors = {
        "target": _blame_side(
            objects, divergence.target, [each.target for each in listed], [each.target_restated for each in listed]
        ),
        "source": _blame_side(
            objects, divergence.source, [each.source for each in listed], [each.source_restated for each in listed]
        ),
        "base": blame_paths(objects, walk_newest_first(objects, divergence.bases) if old else (), old),
    }
    originals = _find_original_messages(objects, divergence, [each.key for each in listed])
    return [_conflict(objects, each, authors, originals) for each in listed]


def _blame_side(
    objects: Objects, side: Side, changes: Sequence[PathChanges], restated: Iterable[Mapping[str, Oid]]
) -> dict[str, Oid]:
    wanted = {path: change.new for each in changes for path, change in each.items() if change.new != change.old}
    found = blame_paths(objects, reversed(side.commits), wanted)
    older = {path: blob for path, blob in wanted.items() if path not in found and blob is not None}
    if older:  # a replayed message may meet values that are older than the commits of its new base
        found |= blame_paths(objects, walk_newest_first(objects, [side.tip]), older)
    again = {path: oid for paths in restated for path, oid in paths.items()}
    chosen = {path for path, oid in again.items() if read_commit(objects, oid).kind in RESOLVING_KINDS}
    if chosen:  # a resolution stated the value again: its author is in the history before
        unchanged = {path: change.new for each in changes for path, change in each.items() if path in chosen}
        found |= blame_paths(objects, walk_newest_first(objects, [side.tip]), unchanged)
    return found | {path: oid for path, oid in again.items() if path not in chosen}


def _find_original_messages(objects: Objects, divergence: Divergence, keys: Iterable[str]) -> dict[str, Oid]:
    """Return the commits, in the history of the bases, of the messages that keys are about."""
    missing = {key.partition("/")[2]: key for key in keys if group_of(key) == MESSAGES}
    found: dict[str, Oid] = {}
    for commit in walk_newest_first(objects, divergence.bases) if missing else ():
        key = missing.pop(message_id_of(commit), None)
        if key is not None:
            found[key] = commit.oid
        if not missing:
            break
    return found


def _conflict(
    objects: Objects,
    disagreement: Disagreement,
    authors: Mapping[str, Mapping[str, Oid]],
    originals: Mapping[str, Oid],
) -> Conflict:
    key, sides = disagreement.key, (disagreement.target, disagreement.source)
    old_blobs = {path: change.old for changes in sides for path, change in changes.items()}
    original = [originals[key]] if key in originals and not any(old_blobs.values()) else []
    base = _positions(objects, key, old_blobs, authors["base"], original)
    target, source = (
        _positions(
            objects,
            key,
            {path: change.new for path, change in changes.items() if change.new != change.old or path in restated},
            authors[name],
            messages,
        )
        for name, changes, restated, messages in (
            ("target", disagreement.target, disagreement.target_restated, disagreement.target_messages),
            ("source", disagreement.source, disagreement.source_restated, disagreement.source_messages),
        )
    )
    values = [[position.value for position in positions] for positions in (base, source, target)]
    return Conflict(
        id=conflict_id(disagreement.type, key, *values),
        type=disagreement.type,
        key=key,
        base=base,
        source=source,
        target=target,
    )


def _positions(
    objects: Objects, key: str, blobs: Mapping[str, Oid | None], authors: Mapping[str, Oid], messages: Iterable[Oid]
) -> tuple[Position, ...]:
    """Return the positions in blobs, the newest last, then those of messages."""
    age = {oid: rank for rank, oid in enumerate(dict.fromkeys(authors.values()))}  # blame finds the newest first
    paths = sorted(blobs, key=lambda path: (-age.get(authors.get(path, Oid("")), len(age)), path))
    found = ((blobs[path], authors.get(path)) for path in paths)
    positions = [_position(objects, key, blob, author) for blob, author in found if blob is not None]
    for oid in messages:
        message = read_message(objects, oid)
        positions.append(Position(message.text, message.id, message.author.name, _confidence(message)))
    return tuple(positions)


def _position(objects: Objects, key: str, blob: Oid, author: Oid | None) -> Position:
    claim: Any = canonical_json.load(read_blob(objects, blob))
    value = claim_value(key, claim)
    if author is None:
        return Position(value)
    message = read_message(objects, author)
    if group_of(key) == MESSAGES and message.amends is not None:
        value = message.text
    head = header_of(read_commit(objects, author))
    caller = find_call_message(objects, head) if head.author_kind == _TOOL else None
    agent = message.author.name if caller is None else caller.author
    return Position(value, message.id, agent, _confidence(message))


def claim_value(key: str, claim: Any) -> Any:
    """Return the value of a claim: its value field if keys of that group have one, else the whole claim."""
    field = value_field(key)
    if isinstance(claim, dict) and field is not None and field in claim:
        return claim[field]
    if isinstance(claim, dict) and group_of(key) in _PROPOSAL_GROUPS and claim.get("operation") == "update":
        return claim.get("after")
    return claim


def _confidence(message: Message) -> float | None:
    value = (message.payload or {}).get("confidence")
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePlan:
    """A planned merge.

    Attributes:
        conflicts: One for each of `disagreements`, in the same order, resolved or open.
        messages: The messages that are new in the target, oldest first (S4-11).
        inherited: The conflicts of earlier merges that would still be open in the merged state.
        files: What both sides did to the files that both changed, sorted by path.
    """

    divergence: Divergence
    disagreements: tuple[Disagreement, ...]
    conflicts: tuple[Conflict, ...]
    messages: tuple[MessageId, ...]
    inherited: tuple[Conflict, ...] = ()
    notes: tuple[Note, ...] = ()
    files: tuple[FileComparison, ...] = ()

    @property
    def open_conflicts(self) -> tuple[Conflict, ...]:
        """The conflicts that are not resolved."""
        return tuple(conflict for conflict in self.conflicts if conflict.status != "resolved")

    @property
    def up_to_date(self) -> bool:
        """True if the target has all commits of the source."""
        return not self.divergence.source.commits

    @property
    def fast_forward(self) -> bool:
        """True if the target is an ancestor of the source."""
        return self.divergence.bases == (self.divergence.target.tip,)


def plan_merge(
    repository: Repository,
    objects: Objects,
    target: Oid,
    source: Oid,
    policy: Policy,
    *,
    unrelated: bool = False,
    directory: str | None = None,
) -> MergePlan:
    """Plan the merge of two commits. Only trees are written, to `objects`; no ref moves.

    `directory` is that of the conversation, to read recorded edits.

    Raises:
        Refused: the histories have nothing in common and `unrelated` is not given, or a rule forbids the merge.
    """
    divergence = find_divergence(repository, objects, target, source, unrelated=unrelated)
    if divergence is None:
        raise Refused("the two histories have no message in common", hint="merge them anyway with --allow-unrelated")
    plan = plan_of(objects, divergence, policy)
    files = compare_files(objects, divergence, [each.key for each in plan.disagreements], directory)
    return replace(plan, files=files, inherited=tuple(list_inherited(objects, divergence)))


def plan_of(objects: Objects, divergence: Divergence, policy: Policy) -> MergePlan:
    """Find the conflicts of a divergence and resolve those that the policy resolves."""
    disagreements = find_disagreements(objects, divergence)
    shared = {message_id_of(commit) for commit in divergence.target.commits}
    messages = (message_id_of(commit) for commit in divergence.source.commits if not is_root(commit))
    conflicts, notes = auto_resolve(describe(objects, divergence, disagreements), policy)
    return MergePlan(
        divergence=divergence,
        disagreements=disagreements,
        conflicts=tuple(conflicts),
        messages=tuple(dict.fromkeys(each for each in messages if each not in shared)),
        notes=tuple(notes),
    )


def adds_nothing(objects: Objects, plan: MergePlan) -> bool:
    """Return True if the target has copies of all messages of the source, and the merge keeps its state.

    Copies are compared as `diff` does: an import of a session that was cut off has other usage counts. A message that
    was purged in the target stays so.
    """
    if plan.messages or plan.disagreements or plan.fast_forward:
        return False
    copies = {message_id_of(commit): commit for commit in plan.divergence.target.commits}
    for commit in plan.divergence.source.commits:
        copy = copies.get(message_id_of(commit))
        if copy is None:
            return False
        here, there = read_body(objects, copy), read_body(objects, commit)
        if content_of(here) != content_of(there) and not is_purged_copy(here, there):
            return False
    return write_state(objects, plan) == plan.divergence.target.state


def _take_source(
    objects: Objects, divergence: Divergence, key: str, source_changes: PathChanges
) -> dict[str, BlobChange]:
    """Return the changes of the source to a key without a conflict.

    A proposal of the target stays if the source only withdrew the one before it, and a review if it is the later one.
    """
    changes: dict[str, BlobChange] = {path: change.new for path, change in source_changes.items()}
    ours = divergence.target.changes.get(key, {})
    if find_later_review(objects, key, ours, source_changes) == "target":
        return {}
    if group_of(key) == PROPOSALS:
        kept = {path for path, change in ours.items() if change.new is not None}
        changes = {path: blob for path, blob in changes.items() if blob is not None or path not in kept}
    return changes


def write_state(objects: Objects, plan: MergePlan) -> Oid | None:
    """Write the merged state of a plan and return its tree; a key with an open conflict keeps the value of the target.

    A conflict that is open or that a side won is recorded. What resolves itself in the same way in both directions is
    in the message of the merge alone.
    """
    divergence = plan.divergence
    changes = merge_records(objects, divergence)
    conflicting: set[str] = set()
    for disagreement, conflict in zip(plan.disagreements, plan.conflicts, strict=True):
        conflicting.add(disagreement.key)
        strategy = None if conflict.resolution is None else conflict.resolution.strategy
        if conflict.resolution is not None:
            target, source = disagreement.target, disagreement.source
            changes |= apply_choice(objects, target, source, conflict.resolution.choice)
        if strategy in {None, "ours", "theirs"} or (strategy or "").startswith("rule "):
            changes[conflict_path(conflict)] = encode_conflict(conflict)
    state = divergence.target.state
    for key, source_changes in divergence.source.changes.items():
        if group_of(key) == CONFLICTS or key in conflicting:
            continue
        changes |= _take_source(objects, divergence, key, source_changes)
    return update_tree(objects, state, changes) if changes else state
