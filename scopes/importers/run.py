"""`import`: bring sources in, as one operation. The machine that every format plugs into.

Objects are written beside everybody else, into packs of bounded memory; only the moment in which the refs move has the
store alone. Sources are only ever read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scopes.conversation.new import next_conversation_id
from scopes.errors import Busy, Invalid
from scopes.history.metadata import read_metadata
from scopes.history.transaction import record_operation
from scopes.ids import ConversationId, OperationId
from scopes.importers.branch_updates import BranchUpdates, begin_updates, finish, update_branches
from scopes.importers.fork_points import ForkPoints, number_families
from scopes.importers.formats.base import Format, Source
from scopes.importers.identity import source_key_of
from scopes.importers.import_source import ImportRun, import_source, refuse_unparsed
from scopes.importers.results import ConversationImported, Imported, Skipped
from scopes.importers.stale_copy import use_stored_source
from scopes.importers.targets import ImportTarget, ImportTargets
from scopes.importers.work_queue import QueuedSource, drop_older, open_sources
from scopes.model.operation import RefChange
from scopes.result import Note
from scopes.store.overlay import overlay_of
from scopes.store.packs.bulk import BulkObjects, bulk_objects
from scopes.store.repository import Objects, Repository
from scopes.store.transaction import exclusive_write, shared_write

Advance = Callable[[int], None]
_TURNS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What is asked of an import.

    `strict` refuses everything when one record cannot be read, or something would be missed. `again` brings a deleted
    conversation back. `since`, in nanoseconds since 1970, leaves out sessions whose last message is older.
    """

    dry_run: bool = False
    strict: bool = False
    again: bool = False
    title: str | None = None
    report: bool = False
    since: int | None = None


DEFAULT_OPTIONS = ImportOptions()


def import_sources(
    repository: Repository,
    sources: Sequence[Source],
    formats: Sequence[Format],
    wishes: ImportOptions = DEFAULT_OPTIONS,
    *,
    advance: Advance = lambda _: None,
    skipped: Sequence[Skipped] = (),
    notes: Sequence[Note] = (),
) -> Imported:
    """Bring sources in; what the store has already is not written again, and a run that changes nothing writes nothing.

    `advance` is told the bytes of each source when it is done; `skipped` and `notes` are what is known before, and come
    first. When another import was faster with a source, everything is looked at again.

    Raises:
        CannotImport, Inaccessible: nothing came in, or a strict import found something.
        Invalid: a title for several conversations.
        Busy, Inaccessible: nothing was brought in.
    """
    passed_over, said = list(skipped), list(notes)
    works = open_sources(sources, formats, passed_over, strict=wishes.strict)
    if wishes.since is not None:
        works = drop_older(works, wishes.since, said)
    said += [Note(missed.trouble.message, missed.trouble.hint) for missed in passed_over if missed.trouble is not None]
    if wishes.dry_run:
        with overlay_of(repository) as shadow, bulk_objects(shadow, keep=False) as objects:
            run = _bring_all(shadow, objects, works, wishes, notes=said, advance=advance)
            return _result(run, number_conversations(run), passed_over, None, wishes)
    for _ in range(_TURNS):
        with shared_write(repository), bulk_objects(repository) as objects:
            run = _bring_all(repository, objects, works, wishes, notes=said, advance=advance)
        with exclusive_write(repository):
            if not run.is_overtaken():
                return _place(run, passed_over, wishes)
        advance = _nowhere
    raise Busy("other imports keep bringing in the same sources", hint="try again in a moment")


def _nowhere(_: int) -> None:
    """Tell nobody how far a further turn is."""


def _bring_all(
    repository: Repository,
    objects: BulkObjects,
    works: list[QueuedSource],
    wishes: ImportOptions,
    *,
    notes: Sequence[Note],
    advance: Advance,
) -> ImportRun:
    """Weave all sources, each family's memory being let go when its last one is in."""
    homes = ImportTargets(repository, objects, [source_key_of(work.session) for work in works])
    sizes = [work.source.size for work in works]
    works = [use_stored_source(objects, homes, work) for work in works]
    run = ImportRun(repository, objects, homes, ForkPoints(objects, homes), wishes.again, notes=list(notes))
    families = number_families([work.session for work in works], homes)
    last = {family: place for place, family in enumerate(families)}
    for place, (work, family, size) in enumerate(zip(works, families, sizes, strict=True)):
        import_source(run, work, family)
        if last[family] == place:
            run.let_go(family)
        advance(size)
    if wishes.strict:
        refuse_unparsed(run.sources)
    if wishes.title is not None and (count := len(list(homes))) > 1:
        hint = "name one transcript, or give each a title with: scopes conv rename CONV --title TEXT"
        raise Invalid(f"one title for {count} conversations", hint=hint)
    return run


def _place(run: ImportRun, skipped: Sequence[Skipped], wishes: ImportOptions) -> Imported:
    """Move the refs; the store is ours alone."""
    with bulk_objects(run.repository) as objects:
        conversations, changes = place_conversations(run, objects, wishes.title)
    operation = None
    if changes:
        sources, homes = len(run.sources), len(conversations)
        summary = f"bring in {sources} source{'s' * (sources != 1)} into {homes} conversation{'s' * (homes != 1)}"
        operation = record_operation(run.repository, "import", summary, changes).id
    return _result(run, conversations, skipped, operation, wishes)


def _result(
    run: ImportRun,
    conversations: dict[ConversationId, ImportTarget],
    skipped: Sequence[Skipped],
    operation: OperationId | None,
    wishes: ImportOptions,
) -> Imported:
    return Imported(
        sources=tuple(run.sources),
        conversations=tuple(_describe(run, conversation, home) for conversation, home in conversations.items()),
        skipped=(*skipped, *run.copies),
        dry_run=wishes.dry_run,
        operation=operation,
        notes=tuple(dict.fromkeys([*_unparsed(run), *run.notes])),
    )


def _unparsed(run: ImportRun) -> list[Note]:
    """Say how many records were not understood, and where the first of them is."""
    count = sum(source.unparsed for source in run.sources)
    if not count:
        return []
    first = next(source for source in run.sources if source.problems)
    text = f"{count} record{'s' if count > 1 else ''} could not be read and {'are' if count > 1 else 'is'} kept"
    return [Note(f"{text}: {first.path}, {first.problems[0]}", "every byte of every source: --report")]


def _describe(run: ImportRun, conversation: ConversationId, home: ImportTarget) -> ConversationImported:
    kept = sum(len(run.homes.tracked.get(key, ())) for key in home.kept)
    return ConversationImported(
        id=conversation,
        uuid=home.document.uuid,
        title=read_metadata(run.repository, conversation).title,
        messages=home.messages,
        new_messages=home.new_messages,
        branches=kept + sum(len(woven.leaves) for woven in home.woven),
    )


def number_conversations(run: ImportRun) -> dict[ConversationId, ImportTarget]:
    """Give every conversation of the run its id; new ones get the next numbers, in the order of the sources."""
    found: dict[ConversationId, ImportTarget] = {}
    number = int(next_conversation_id(run.repository).removeprefix("conv-"))
    for home in run.homes:
        if home.conversation is None:
            home.conversation = ConversationId(f"conv-{number:03d}")
            number += 1
        found[home.conversation] = home
    return found


def place_conversations(
    run: ImportRun, objects: Objects, title: str | None
) -> tuple[dict[ConversationId, ImportTarget], list[RefChange]]:
    """Collect the ref changes of all conversations; what was deleted stays so unless it is wanted again."""
    changes: list[RefChange] = []
    placed: dict[ConversationId, ImportTarget] = {}
    unnumbered = {home.root for home in run.homes if home.conversation is None}
    for conversation, home in number_conversations(run).items():
        fresh = home.root in unnumbered
        if fresh and not run.again and _was_here(run, home):
            hint = "bring it back with --again, or with: scopes undo"
            run.notes.append(Note(f"session {home.document.native_id} was deleted here and stays so", hint))
            continue
        landing = _land(run, conversation, home, fresh=fresh)
        known = read_metadata(run.repository, conversation).title
        if title is not None and known not in (None, title):
            hint = f"give it another title with: scopes conv rename {conversation} --title TEXT"
            run.notes.append(Note(f"{conversation} has a title already: {known}", hint))
        landing.title = title or next((woven.title for woven in home.woven if woven.title), None)
        changes += finish(run.repository, objects, landing)
        run.notes += landing.notes
        placed[conversation] = home
    return placed, [*changes, *run.records.list_changes()] if placed else []


def _was_here(run: ImportRun, home: ImportTarget) -> bool:
    """Tell whether sources of a conversation that is not there have been brought into it before."""
    tracked = any(run.homes.tracked.get(woven.key) and not woven.moved for woven in home.woven)
    return tracked or bool(home.kept)


def _land(run: ImportRun, conversation: ConversationId, home: ImportTarget, *, fresh: bool) -> BranchUpdates:
    landing = begin_updates(run.repository, home, conversation, fresh=fresh)
    for woven in home.woven:
        update_branches(run.repository, landing, woven.key, woven.leaves, complete=woven.complete, moved=woven.moved)
    return landing
