"""What an import tells: its Result, and notes on skipped files, missing records and parents, possible secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from scopes.history.metadata import read_metadata
from scopes.history.sources import SOURCES
from scopes.ids import ConversationId, OperationId
from scopes.importers.formats.records import CUT_OFF
from scopes.importers.identity import SHORT_ID
from scopes.importers.results import (
    REPEAT_WITH,
    ConversationImported,
    GroupedNote,
    Imported,
    SessionJoined,
    Skipped,
    group_notes,
)
from scopes.importers.targets import ImportRun, ImportTarget
from scopes.model.operation import RefChange
from scopes.result import Note, plural
from scopes.secrets.count import NOT_SCANNED, import_note
from scopes.store.refs import conversation_of, meta_ref


def notes_of_skipped(skipped: Sequence[Skipped]) -> list[Note | GroupedNote]:
    """Return a note for each skipped file that the user asked for, and one with the number of the others."""
    notes: list[Note | GroupedNote] = []
    for found in skipped:
        if found.error is not None and found.named:
            notes.append(Note(found.error.message, found.error.hint))
        elif found.error is not None:
            notes.append(GroupedNote(found.error.message, "{} files could not be imported", found.error.hint))
    others = [found for found in skipped if found.error is None and not found.noted]
    for reason, paths in _by_reason(others).items():
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        notes.append(Note(f"skipped {paths[0]}{more}: {reason}"))
    return notes


def _by_reason(skipped: Sequence[Skipped]) -> dict[str, list[str]]:
    paths: dict[str, list[str]] = {}
    for found in skipped:
        paths.setdefault(found.reason, []).append(found.path)
    return paths


def note_deleted(target: ImportTarget) -> GroupedNote:
    """Return a note on a conversation that an import leaves deleted."""
    hint = "to restore it: scopes import --again FILE, or scopes undo OPERATION, which is in: scopes list --deleted"
    text = f"session {target.document.native_id} was deleted here and stays deleted"
    return GroupedNote(text, "{} sessions were deleted here and stay deleted", hint)


def note_joined(joined: SessionJoined) -> GroupedNote:
    """Return a note on a session that went into the conversation of another one."""
    equal = plural(joined.equal_messages, "equal message")
    where = f"{joined.conversation} as branch {joined.branch} at message {joined.message[:SHORT_ID]}"
    text = f"session {joined.session} joined {where} ({joined.equal_messages} {equal})"
    hint = "if it is wrong: scopes undo"
    return GroupedNote(text, "{} sessions joined the conversations of sessions that begin like them", hint)


def note_missing_parents(run: ImportRun) -> list[Note]:
    """Return one note on the sessions that continue one which is not imported."""
    if not run.missing_parents:
        return []
    session, parent = next(iter(run.missing_parents.items()))
    if len(run.missing_parents) == 1:
        hint = "import its parent too; both then share a conversation"
        return [Note(f"session {session} continues {parent}, which is not imported", hint)]
    several = f"{len(run.missing_parents):,} sessions continue sessions that are not imported"
    text = f"{several}, such as {parent}, which {session} continues"
    return [Note(text, f"import their parents too; to list them, {REPEAT_WITH} --report or -v")]


def note_unparsed(run: ImportRun) -> list[Note]:
    """Return a note with the number of unreadable records and the first of them."""
    count = sum(source.unparsed for source in run.sources)
    if not count:
        return []
    first = next(source for source in run.sources if source.problems)
    records = "1 record" if count == 1 else f"{count} records"
    text = f"{records} could not be read and {'is' if count == 1 else 'are'} kept as raw bytes"
    return [
        Note(
            f"{text}: {first.path}, {first.problems[0]}",
            f"to see what every byte became, {REPEAT_WITH} --report",
        )
    ]


def is_about_last_line(note: Note) -> bool:
    """Return True for a note of `note_unparsed` about nothing but the last line of a file, which has no end yet."""
    return note.text.startswith("1 record could not be read") and note.text.endswith(CUT_OFF)


def note_secrets(run: ImportRun, targets: Iterable[ImportTarget]) -> list[Note]:
    """Return the note about possible secrets in new messages, and one if not all of a large import were scanned."""
    if run.find_secrets is None:
        return []
    found = ({name for session in target.sessions for name in session.secrets} for target in targets)
    return [*import_note(run.repository, found), *([NOT_SCANNED] if run.find_secrets.is_incomplete else [])]


ChangedSources = Mapping[ConversationId, Sequence[str]]
NOTHING_CHANGED: ChangedSources = {}


def summarize(conversations: dict[ConversationId, ImportTarget], changed: ChangedSources) -> str:
    """Return what an import changes: not all that was read."""
    sources = len({path for paths in changed.values() for path in paths})
    count = sum(1 for name in conversations if name in changed)
    return f"import {sources} {plural(sources, 'source')} into {count} {plural(count, 'conversation')}"


def list_changed(
    run: ImportRun, conversations: dict[ConversationId, ImportTarget], changes: Sequence[RefChange]
) -> ChangedSources:
    """Return the conversations that change, with the paths of the sources that change them."""
    moved = {change.ref: change.old for change in changes if change.old != change.new}
    touched = {conversation_of(ref) for ref in moved}
    found: dict[ConversationId, list[str]] = {}
    for name, target in conversations.items():
        is_new = moved.get(meta_ref(name), "") is None
        keys = [session.key for session in target.sessions if is_new or SOURCES + session.key in moved]
        if keys or name in touched:
            keys = keys or target.keys
            found[name] = list(dict.fromkeys(run.paths[key] for key in keys if key in run.paths))
    return found


def build_result(
    run: ImportRun,
    conversations: dict[ConversationId, ImportTarget],
    skipped: Sequence[Skipped],
    operation: OperationId | None,
    *,
    dry_run: bool = False,
    changed: ChangedSources = NOTHING_CHANGED,
) -> Imported:
    """Return the Result of an import that wrote `operation`, or of one that wrote nothing."""
    joined = tuple(_list_joined(conversations))
    notes, details = group_notes(
        [
            *note_unparsed(run),
            *run.notes,
            *note_missing_parents(run),
            *map(note_joined, joined),
            *note_secrets(run, conversations.values()),
        ]
    )
    return Imported(
        sources=tuple(run.sources),
        conversations=tuple(
            _describe(run, conversation, target, changed.get(conversation, ()))
            for conversation, target in conversations.items()
        ),
        skipped=(*(replace(found, noted=True) for found in skipped), *run.copies),
        dry_run=dry_run,
        stopped=run.stopped,
        operation=operation,
        notes=notes,
        stay_deleted=len(list(run.targets)) - len(conversations),
        missing_parents=run.missing_parents,
        joined=joined,
        details=details,
    )


def _list_joined(conversations: dict[ConversationId, ImportTarget]) -> Iterator[SessionJoined]:
    for conversation, target in conversations.items():
        for join in (session.join for session in target.sessions if session.join is not None):
            yield SessionJoined(
                session=join.session,
                conversation=conversation,
                branch=join.branch,
                message=join.message,
                equal_messages=join.equal_messages,
            )


def _describe(
    run: ImportRun, conversation: ConversationId, target: ImportTarget, paths: Sequence[str]
) -> ConversationImported:
    unchanged = sum(len(run.targets.tracked.get(key, ())) for key in target.unchanged)
    return ConversationImported(
        id=conversation,
        uuid=target.document.uuid,
        title=read_metadata(run.repository, conversation).title,
        messages=target.messages,
        new_messages=target.new_messages,
        branches=unchanged + sum(len(session.tips) for session in target.sessions),
        source=next(iter(paths), None),
        keys=tuple(target.keys),
    )
