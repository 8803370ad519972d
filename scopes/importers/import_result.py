"""What an import changed, in words and as its Result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from scopes.history.metadata import read_metadata
from scopes.history.sources import SOURCES
from scopes.ids import ConversationId, OperationId
from scopes.importers.import_notes import note_joined, note_missing_parents, note_secrets, note_unparsed
from scopes.importers.results import ConversationImported, Imported, SessionJoined, Skipped, group_notes
from scopes.importers.run_state import ImportRun
from scopes.importers.targets import ImportTarget
from scopes.model.operation import RefChange
from scopes.result import plural
from scopes.store.refs import conversation_of, meta_ref

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
