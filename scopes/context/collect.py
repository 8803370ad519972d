"""Read the turns and touched files of one conversation, or of all conversations for a work item (S1-18)."""

from __future__ import annotations

import sys
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from scopes.context.decision_lines import ContextDecision, in_effect, outdated_marks
from scopes.context.file_states import file_states
from scopes.context.pair_results import ReadMessage, pair_results
from scopes.context.project_files import TouchedFile
from scopes.context.turns import Turn, has_content, make_turn, may_be_turn
from scopes.context.work_items import find_work_item
from scopes.errors import NotFound
from scopes.history.messages import (
    Amendment,
    MessageHeader,
    find_amendments,
    headers_of,
    latest,
    read_body,
    walk_headers_oldest_first,
)
from scopes.history.metadata import read_metadata
from scopes.history.names import Revision, resolve_revision
from scopes.history.sessions import reader_notes
from scopes.ids import ConversationId, MessageId, Oid
from scopes.memory.compaction_base import walk_compactions
from scopes.merge.lanes import may_be_resolution, resolution_line
from scopes.merge.plan import is_written_by_scopes
from scopes.model.conversation import CONFLICT_RESOLUTION
from scopes.model.message import Message, file_operations, text_parts
from scopes.result import Note
from scopes.sanitize import for_prompt
from scopes.store.graph import walk_oldest_first
from scopes.store.objects import Commit
from scopes.store.repository import Repository

# Most conversations have no decision and no merge: these modules are imported for those that do.
if TYPE_CHECKING:
    from scopes.conversation.decisions import StatedDecision
    from scopes.merge.lanes import LaneMark, MarkedLanes

_READING = frozenset({"read", "mention"})
BEFORE_COMPACTION, NO_CONTENT, RETRACTED = "before_compaction", "no_content", "retracted"
AMENDMENT, OTHER_WORK = "amendment", "other_work_item"
MERGE_NOTICE = "merge notices of scopes, which cost no tokens"
_REASONS = {
    NO_CONTENT: "no content for a model",
    RETRACTED: "retracted",
    AMENDMENT: "its text is in the amended message",
    OTHER_WORK: "for another work item",
}


class ReadLimits(NamedTuple):
    """How much of each conversation is read.

    include_all: start at the first message, not after the last compaction.
    work_item: leave out messages for other work items.
    max_messages: read at most so many, the newest ones.
    as_recorded: reconstruct the content of files at the revision instead of using the files of the project.
    verbatim: if there are more messages, a summary replaces the older ones; None: never.
    """

    include_all: bool = False
    work_item: str | None = None
    max_messages: int = sys.maxsize
    as_recorded: bool = False
    verbatim: int | None = None


class ExcludedMessage(NamedTuple):
    """A message that is not a turn, by its number in its conversation, and why; `key` is the reason in counts."""

    conversation: str
    number: int
    head: MessageHeader
    reason: str
    key: str | None = None


@dataclass(slots=True)
class Collected:
    """What was read from the conversations.

    turns: oldest first. files: each once, last touched first.
    messages: their total number. filtered: the number of read messages that are not turns.
    unread: turns beyond `max_messages`. summarized: turns that a summary replaces. Both are counted from the commits.
    summary: the text of the compaction or summary before the first turn.
    lanes: the marks of merged branches that have a turn, by number.
    decisions: those in effect at the revisions, newest first; of the newest conversation first.
    """

    turns: list[Turn] = field(default_factory=list)
    files: list[TouchedFile] = field(default_factory=list)
    messages: int = 0
    filtered: int = 0
    unread: int = 0
    summarized: int = 0
    summary: str | None = None
    excluded: list[ExcludedMessage] = field(default_factory=list)
    lanes: dict[int, LaneMark] = field(default_factory=dict)
    decisions: list[ContextDecision] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def resolve_revisions(
    repository: Repository, where: str | None, work_item: str | None, at: str | None
) -> list[Revision]:
    """Return the revisions to read up to: those with the work item, oldest first, then the one that `where` names.

    Raises:
        NotFound, Ambiguous, Invalid: there is no such conversation or message, or no message for the work item.
    """
    named = None if where is None else resolve_revision(repository, where)
    if named is not None and at is not None:
        named = resolve_revision(repository, at, named.conversation)
    if work_item is None:
        if named is None:
            raise NotFound("no conversation is given", hint="name one, or a work item: --work-item ID")
        return [named]
    conversation = None if named is None else named.conversation
    revisions = [each for each in find_work_item(repository, work_item) if each.conversation != conversation]
    if named is not None:
        revisions.append(named)
    if not revisions:
        raise NotFound(f"no message is for the work item {work_item!a}", hint="see: scopes list")
    return revisions


def active_branch_notes(repository: Repository, revision: Revision, text: str, verb: str) -> tuple[Note, ...]:
    """Return a note if the active branch, which a reader gets, has open conflicts or was left by its session.

    `text` is the name that was given for the revision; `verb` is the command that reads it.
    """
    if revision.branch is None or not revision.branch.startswith(f"{CONFLICT_RESOLUTION}/"):
        return reader_notes(repository, revision, text)
    from scopes.merge.in_progress import resolution_branch_notes

    return resolution_branch_notes(repository, revision, text, verb)


def collect(repository: Repository, revisions: Sequence[Revision], limits: ReadLimits) -> Collected:
    """Read the messages of all conversations, given oldest first."""
    collected = Collected()
    files: dict[str, TouchedFile] = {}
    for revision in revisions:
        _add_conversation(repository, revision, limits, collected, files)
    for turn in collected.turns:
        turn.named = len(revisions) > 1
    collected.files = list(reversed(files.values()))
    if limits.as_recorded:
        _add_file_states(repository, revisions[-1], collected)
    return collected


def _add_conversation(
    repository: Repository, revision: Revision, limits: ReadLimits, collected: Collected, files: dict[str, TouchedFile]
) -> None:
    conversation = revision.conversation
    commits = list(walk_oldest_first(repository, [revision.oid]))
    heads = list(headers_of(commits))
    lanes = _find_lanes(repository, revision, commits)
    del commits
    collected.messages += len(heads)
    if not heads:
        _use_title(repository, conversation, collected)
    start = 0
    root = None if limits.include_all else _find_context_root(repository, revision.oid, heads)
    if root is not None:
        collected.summary = for_prompt(read_body(repository, heads[root]).text)
        start = root + 1
    start = max(start, _replace_by_summary(repository, heads, start, limits.verbatim, collected))
    older = [position for position in range(start) if position != root]
    collected.filtered += len(older)
    collected.summarized += sum(may_be_turn(heads[position]) for position in older)
    collected.excluded += [
        ExcludedMessage(
            conversation, position + 1, heads[position], "summarized",
            BEFORE_COMPACTION if may_be_turn(heads[position]) else NO_CONTENT,
        )
        for position in older
    ]  # fmt: skip
    if root is not None:
        reason = "used as the summary at the beginning"
        collected.excluded.append(ExcludedMessage(conversation, root + 1, heads[root], reason))
    first = max(start, len(heads) - limits.max_messages)
    collected.unread += sum(may_be_turn(head) and head.kind != "tool-results" for head in heads[start:first])
    stated = _find_decisions(repository, revision.oid, heads, limits.work_item)
    collected.decisions[:0] = in_effect(conversation, stated)
    _add_turns(
        repository, revision, heads, first, limits,
        lanes=lanes, outdated=outdated_marks(stated), collected=collected, files=files,
    )  # fmt: skip


def _find_lanes(repository: Repository, revision: Revision, commits: Sequence[Commit]) -> MarkedLanes | None:
    if all(len(commit.parents) < 2 for commit in commits):
        return None
    from scopes.merge.lanes import MarkedLanes

    return MarkedLanes(repository, revision.conversation, commits, revision.branch)


def _find_decisions(
    repository: Repository, tip: Oid, heads: Sequence[MessageHeader], work_item: str | None
) -> tuple[StatedDecision, ...]:
    if not any(head.kind == "decision" or may_be_resolution(head) for head in heads):
        return ()
    from scopes.conversation.decisions import decisions_at

    return decisions_at(repository, tip, heads, work_item)


def _add_turns(
    repository: Repository,
    revision: Revision,
    heads: Sequence[MessageHeader],
    first: int,
    limits: ReadLimits,
    *,
    lanes: MarkedLanes | None,
    outdated: Mapping[Oid, str],
    collected: Collected,
    files: dict[str, TouchedFile],
) -> None:
    """Add the turns and touched files of the messages from position `first` on.

    `outdated` are marks for messages whose decision is no longer in effect.
    """
    conversation = revision.conversation
    amendments = find_amendments(repository, revision.oid, heads[first:])
    known = {head.id for head in heads}
    read = []
    messages: dict[Oid, Message] = {}
    begin = len(collected.turns)
    for number, head in enumerate(heads[first:], start=first + 1):
        stored = read_body(repository, head)
        message, excluded = _amended(stored, amendments, known, limits.work_item)
        if message is not None:
            if lanes:
                messages[head.oid] = message
            _note_files(message, number, files)
            if head.kind == "notice":
                message = replace(message, parts=text_parts(resolution_line(repository, head, message)))
            if head.oid in outdated and has_content(message):
                message = replace(message, parts=(*text_parts(outdated[head.oid]), *message.parts))
            if may_be_turn(head) and has_content(message):
                read.append(ReadMessage(number, head, message))
                continue
            excluded = NO_CONTENT
        collected.filtered += 1
        reason = MERGE_NOTICE if is_written_by_scopes(head) else _REASONS[excluded]
        collected.excluded.append(ExcludedMessage(conversation, number, head, reason, excluded))
    for number, head, message, results in pair_results(read):
        turn = make_turn(number, conversation, head, message)
        if turn is not None:
            turn.results = results
            collected.turns.append(turn)
    if lanes:
        _add_lanes(collected, collected.turns[begin:], lanes, messages)


def _add_lanes(
    collected: Collected, turns: Sequence[Turn], lanes: MarkedLanes, messages: Mapping[Oid, Message]
) -> None:
    """Add the lanes of the turns of a conversation; digests cover the messages that were read."""
    numbers: dict[int, int] = {}
    first = len(collected.lanes)
    for turn in turns:
        found = lanes.lanes_of(turn.head.oid)
        for lane in found:
            numbers.setdefault(lane, first + len(numbers))
        turn.lanes = tuple(numbers[lane] for lane in found)
    for lane, number in numbers.items():
        collected.lanes[number] = lanes.mark(lane, lambda head: messages.get(head.oid))


def _use_title(repository: Repository, conversation: ConversationId, collected: Collected) -> None:
    """Use the title of a conversation without messages as its summary (S1-19)."""
    title = read_metadata(repository, conversation).title
    collected.summary = collected.summary or (None if title is None else for_prompt(title))
    collected.warnings.append(f"{conversation} has no messages" + ("" if title is None else ": only its title is used"))


def _find_context_root(repository: Repository, tip: Oid, heads: Sequence[MessageHeader]) -> int | None:
    """Return the position of the last compaction that is not retracted; None if there is none."""
    found = next(walk_compactions(repository, tip, reversed(heads)), None)
    return None if found is None else heads.index(found[0])


def _replace_by_summary(
    repository: Repository, heads: Sequence[MessageHeader], start: int, verbatim: int | None, collected: Collected
) -> int:
    """Add the last summary if there are more than `verbatim` messages (S3-14); return the first position to read."""
    if verbatim is None or len(heads) - start <= verbatim:
        return start
    for position in reversed(range(start, len(heads))):
        if heads[position].kind == "summary":
            text = for_prompt(read_body(repository, heads[position]).text)
            collected.summary = "\n\n".join(filter(None, (collected.summary, text)))
            return min(position, len(heads) - verbatim)
    return start


def _amended(
    stored: Message, amendments: Mapping[MessageId, Amendment], known: Container[str], work_item: str | None
) -> tuple[Message | None, str]:
    """Return a message with its amendments applied, or None and why it is left out.

    An amendment is left out if the message that it amends is one of `known`; picked without it, it is a message.
    """
    if stored.amends is not None and stored.amends in known:
        return None, AMENDMENT
    if work_item is not None and stored.work_item not in (None, work_item):
        return None, OTHER_WORK
    current = latest(stored, amendments)
    if current is None:
        return None, RETRACTED
    return stored if current is stored else replace(stored, parts=current.parts), ""


def _note_files(message: Message, number: int, files: dict[str, TouchedFile]) -> None:
    """Move the files of a message to the end of `files`, the first one of the message last (S1-3)."""
    touches = {touch.path: touch for touch in message.files}
    for path in reversed(dict.fromkeys(path for path, _ in file_operations(message))):
        before, touch = files.pop(path, None), touches.get(path)
        is_unchanged = before is not None and (touch is None or touch.op in _READING)
        content_hash = None if touch is None else touch.content_hash
        files[path] = TouchedFile(
            path, number, content_hash or (before.content_hash if before and is_unchanged else None)
        )


def _add_file_states(repository: Repository, revision: Revision, collected: Collected) -> None:
    """Set the content that the files had at a revision, as far as it was recorded."""
    heads = walk_headers_oldest_first(repository, [revision.oid])
    states = file_states(read_body(repository, head) for head in heads)
    collected.files = [file._replace(content=states.get(file.path)) for file in collected.files]
    if any(file.content is not None for file in collected.files):
        collected.notes.append(
            Note("files are as the tools of this conversation recorded them; other changes to them are not known")
        )
