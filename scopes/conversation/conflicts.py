"""`conflicts list` and `conflicts show`: the conflicts of merges, rebases and cherry-picks (S4-56)."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

from scopes.errors import Ambiguous, Invalid, NotFound
from scopes.history.messages import MessageHeader, message_id_of, read_body
from scopes.history.revisions import conversation_ids, find_directory, resolve_conversation
from scopes.ids import ConversationId, Oid
from scopes.merge.conflict_keys import group_of
from scopes.merge.conflict_list import (
    ConflictRow,
    find_conversations_of_conflict,
    is_id_prefix,
    read_conflict,
    walk_conflicts,
)
from scopes.merge.discussion import read_discussion
from scopes.merge.divergence import find_divergence, state_of
from scopes.merge.ended_conflicts import EndedConflicts
from scopes.merge.files import FileComparison, compare_files, patch_of
from scopes.merge.in_progress import InProgress
from scopes.merge.manual_resolution import find_disagreement, list_sides
from scopes.merge.spellings import list_shown_spellings
from scopes.model.argument import Position as StatedPosition
from scopes.model.claims import FILES
from scopes.model.conflicts import ENDED, STATUSES, Conflict
from scopes.result import Result
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Repository
from scopes.store.unwritten_objects import UnwrittenObjects

MAX_PATCH = 1 << 16
_NAMED_CONVERSATIONS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictList(Result):
    """The conflicts of one conversation or of all; open ones only, unless `include_all`."""

    conversation: ConversationId | None
    conflicts: tuple[ConflictRow, ...]
    include_all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChanges:
    """What both sides did to a file: the last edits of target and source as patches.

    A patch is empty if it is not recorded or not wanted, and cut after MAX_PATCH characters.
    """

    comparison: FileComparison
    target_patch: str = ""
    source_patch: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictView(Result):
    """One conflict with the texts of its messages, by id, and what was said about it, oldest first, until it ended.

    `positions` are what authors hold, with what speaks for it: the newest one of each. `escalated_to` is who was asked
    last to resolve it, `escalated_at` when; `sides` are the sides that a resolution can take, none if the
    conflict is resolved. `spellings` are the keys of both sides if they spell the topic differently. `file` is what
    both sides did to the file.
    """

    row: ConflictRow
    texts: Mapping[str, str]
    talk: tuple[MessageHeader, ...]
    positions: tuple[StatedPosition, ...] = ()
    escalated_to: str | None = None
    escalated_at: str | None = None
    sides: tuple[str, ...] = ()
    file: FileChanges | None = None
    spellings: tuple[str, ...] = ()


def list_conflicts(
    repository: Repository, conversation: str | None = None, *, status: str | None = None, include_all: bool = False
) -> ConflictList:
    """List the unresolved conflicts; with `include_all` also all that were resolved or aborted.

    Raises:
        NotFound, Ambiguous: there is no such conversation.
        Invalid: there is no such status.
    """
    if status is not None and status not in STATUSES:
        raise Invalid(f"{status!a} is not a valid conflict status", hint="statuses: " + ", ".join(STATUSES))
    conversation_id = None if conversation is None else resolve_conversation(repository, conversation)
    searched = conversation_ids(repository) if conversation_id is None else [conversation_id]
    ended = EndedConflicts(repository) if include_all or status in ENDED else None
    rows = [row for each in searched for row in walk_conflicts(repository, each, ended=ended)]
    statuses = {status} if status is not None else set(STATUSES) if include_all else set(STATUSES) - ENDED
    found = tuple(row for row in rows if row.conflict.status in statuses)
    selected = include_all or status is not None
    return ConflictList(conversation=conversation_id, conflicts=found, include_all=selected)


def show_conflict(
    repository: Repository, conversation: str, conflict: str, *, files: bool = True, patch: bool = True
) -> ConflictView:
    """Show one conflict, named by its id, a unique prefix of it, its number, or its key.

    With `files`, a conflict about a file says whether the edits of both sides overlap, with `patch` what the last ones
    did.

    Raises:
        NotFound, Ambiguous: there is no such conflict.
    """
    row, in_progress = read_conflict(repository, resolve_conversation(repository, conversation), conflict)
    texts = _read_texts(repository, in_progress, row.conflict)
    discussion = read_discussion(repository, in_progress, row.conflict)
    sides = list_sides_of(repository, row, in_progress)
    file = _read_file_changes(repository, row, in_progress, patch=patch) if files else None
    spellings = _read_spellings(repository, row, in_progress)
    return ConflictView(
        row=row,
        texts=texts,
        talk=discussion.talk,
        positions=discussion.positions,
        escalated_to=discussion.escalated_to,
        escalated_at=discussion.escalated_at,
        sides=sides,
        file=file,
        spellings=spellings,
    )


def _read_spellings(repository: Repository, row: ConflictRow, in_progress: InProgress) -> tuple[str, ...]:
    """Return the keys of both sides of an open conflict if they spell its topic differently."""
    if row.conflict.status in ENDED:
        return ()
    states = [state_of(repository, tip) for tip in (in_progress.target_tip, in_progress.source_tip)]
    return list_shown_spellings(repository, states, row.conflict.key)


def list_sides_of(repository: Repository, row: ConflictRow, in_progress: InProgress) -> tuple[str, ...]:
    """Return the sides that a resolution of a conflict can take; none if it has ended."""
    if row.conflict.status in ENDED:
        return ()
    unwritten = UnwrittenObjects(repository)
    return list_sides(find_disagreement(repository, in_progress, row.conflict, unwritten), row.conflict)


def find_conflict_anywhere(repository: Repository, name: str) -> ConversationId:
    """Return the conversation of a conflict that is named alone: the latest one, else the only one with that id.

    A number names a conflict of the latest conversation only.

    Raises:
        NotFound, Ambiguous: no conversation or several have such a conflict.
        Invalid: the name is that of a conversation.
    """
    latest: ConversationId | None = None
    with contextlib.suppress(NotFound):  # the store is empty
        latest = resolve_conversation(repository, "@")
        read_conflict(repository, latest, name)
        return latest
    found = find_conversations_of_conflict(repository, name)
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(f"{conversation} {name}" for conversation in found[:_NAMED_CONVERSATIONS])
        raise Ambiguous(f"{name!a} matches conflicts of {len(found)} conversations", hint=f"name one of: {names}")
    if name in conversation_ids(repository):
        raise Invalid(f"{name} is a conversation", hint=f"name its conflict too: {name} 1")
    where = f" in {latest}, the latest conversation" if latest is not None and not is_id_prefix(name) else ""
    hint = "list them: scopes conflicts list; a number needs its conversation before it"
    raise NotFound(f"there is no conflict {name!a}{where}", hint=hint)


def _read_texts(repository: Repository, in_progress: InProgress, conflict: Conflict) -> dict[str, str]:
    """Read the texts of the messages that set the values of a conflict."""
    positions = (*conflict.base, *conflict.source, *conflict.target)
    missing = {position.message for position in positions if position.message is not None}
    found: dict[str, str] = {}
    for commit in walk_newest_first(repository, [in_progress.tip, in_progress.source_tip]):
        if not missing:
            break
        message = message_id_of(commit)
        if message in missing:
            missing.discard(message)
            found[message] = read_body(repository, commit).text
    return found


def _read_file_changes(
    repository: Repository, row: ConflictRow, in_progress: InProgress, *, patch: bool
) -> FileChanges | None:
    """Compare the file of a conflict again, from the messages of both sides; None if it is about something else."""
    if group_of(row.conflict.key) != FILES:
        return None
    tips = in_progress.target_tip, in_progress.source_tip
    if tips[0] == tips[1]:  # the branch only holds the record
        found = _find_messages(repository, in_progress.tip, row.conflict)
        if found is None:
            return None
        tips = found
    directory = find_directory(repository, row.conversation)
    divergence = find_divergence(repository, repository, *tips, directory=directory)
    if divergence is None:
        return None
    comparison = compare_files(repository, divergence, [row.conflict.key])[0]
    if not patch:
        return FileChanges(comparison=comparison)
    return FileChanges(
        comparison=comparison,
        target_patch=patch_of(comparison.path, comparison.target.edit)[:MAX_PATCH],
        source_patch=patch_of(comparison.path, comparison.source.edit)[:MAX_PATCH],
    )


def _find_messages(repository: Repository, tip: Oid, conflict: Conflict) -> tuple[Oid, Oid] | None:
    """Return the commits of the messages that set the values of target and source; None if one is not there."""
    wanted = [side[-1].message if side else None for side in (conflict.target, conflict.source)]
    found: dict[str, Oid] = {}
    for commit in walk_newest_first(repository, [tip]):
        if None in wanted or found.keys() >= set(wanted):
            break
        message = message_id_of(commit)
        if message in wanted:
            found[message] = commit.oid
    target, source = (found.get(message or "") for message in wanted)
    return None if target is None or source is None else (target, source)
