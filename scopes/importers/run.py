"""`import`: bring sources in, as one operation. The machine that every format plugs into.

Objects are written beside everybody else, into packs of bounded memory; only the moment in which the refs move has the
store alone. Sources are only ever read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scopes.conversation.metadata import read_metadata
from scopes.conversation.operating import perform
from scopes.errors import Busy, Invalid
from scopes.ids import ConversationId, OperationId
from scopes.importers.accounting import refuse_unparsed
from scopes.importers.beginning import Beginnings
from scopes.importers.bringing import Run, bring
from scopes.importers.families import number_families
from scopes.importers.format import Format, Source
from scopes.importers.home import Home, Homes
from scopes.importers.lineage import key_of
from scopes.importers.older_copy import go_on_from_stored
from scopes.importers.opening import Work, open_sources
from scopes.importers.placing import number_conversations, place_conversations
from scopes.importers.recency import leave_out_older
from scopes.importers.results import ConversationImported, Imported, Skipped
from scopes.result import Note
from scopes.store.bulk import BulkObjects, bulk_objects
from scopes.store.repository import Repository
from scopes.store.shadow import shadow_of
from scopes.store.transaction import writing, writing_beside

Advance = Callable[[int], None]
_TURNS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
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


EVERYTHING = Wishes()


def import_sources(
    repository: Repository,
    sources: Sequence[Source],
    formats: Sequence[Format],
    wishes: Wishes = EVERYTHING,
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
        works = leave_out_older(works, wishes.since, said)
    said += [Note(missed.trouble.message, missed.trouble.hint) for missed in passed_over if missed.trouble is not None]
    if wishes.dry_run:
        with shadow_of(repository) as shadow, bulk_objects(shadow, keep=False) as objects:
            run = _bring_all(shadow, objects, works, wishes, notes=said, advance=advance)
            return _result(run, number_conversations(run), passed_over, None, wishes)
    for _ in range(_TURNS):
        with writing_beside(repository), bulk_objects(repository) as objects:
            run = _bring_all(repository, objects, works, wishes, notes=said, advance=advance)
        with writing(repository):
            if not run.is_overtaken():
                return _place(run, passed_over, wishes)
        advance = _nowhere
    raise Busy("other imports keep bringing in the same sources", hint="try again in a moment")


def _nowhere(_: int) -> None:
    """Tell nobody how far a further turn is."""


def _bring_all(
    repository: Repository,
    objects: BulkObjects,
    works: list[Work],
    wishes: Wishes,
    *,
    notes: Sequence[Note],
    advance: Advance,
) -> Run:
    """Weave all sources, each family's memory being let go when its last one is in."""
    homes = Homes(repository, objects, [key_of(work.session) for work in works])
    sizes = [work.source.size for work in works]
    works = [go_on_from_stored(objects, homes, work) for work in works]
    run = Run(repository, objects, homes, Beginnings(objects, homes), wishes.again, notes=list(notes))
    families = number_families([work.session for work in works], homes)
    last = {family: place for place, family in enumerate(families)}
    for place, (work, family, size) in enumerate(zip(works, families, sizes, strict=True)):
        bring(run, work, family)
        if last[family] == place:
            run.let_go(family)
        advance(size)
    if wishes.strict:
        refuse_unparsed(run.sources)
    if wishes.title is not None and (count := len(list(homes))) > 1:
        hint = "name one transcript, or give each a title with: scopes conv rename CONV --title TEXT"
        raise Invalid(f"one title for {count} conversations", hint=hint)
    return run


def _place(run: Run, skipped: Sequence[Skipped], wishes: Wishes) -> Imported:
    """Move the refs; the store is ours alone."""
    with bulk_objects(run.repository) as objects:
        conversations, changes = place_conversations(run, objects, wishes.title)
    operation = None
    if changes:
        summary = f"bring in {len(run.sources)} sources into {len(conversations)} conversations"
        operation = perform(run.repository, "import", summary, changes).id
    return _result(run, conversations, skipped, operation, wishes)


def _result(
    run: Run,
    conversations: dict[ConversationId, Home],
    skipped: Sequence[Skipped],
    operation: OperationId | None,
    wishes: Wishes,
) -> Imported:
    return Imported(
        sources=tuple(run.sources),
        conversations=tuple(_describe(run, conversation, home) for conversation, home in conversations.items()),
        skipped=(*skipped, *run.copies),
        dry_run=wishes.dry_run,
        report=wishes.report,
        operation=operation,
        notes=tuple(dict.fromkeys(run.notes)),
    )


def _describe(run: Run, conversation: ConversationId, home: Home) -> ConversationImported:
    kept = sum(len(run.homes.tracked.get(key, ())) for key in home.kept)
    return ConversationImported(
        id=conversation,
        uuid=home.document.uuid,
        title=read_metadata(run.repository, conversation).title,
        messages=home.messages,
        new_messages=home.new_messages,
        branches=kept + sum(len(woven.leaves) for woven in home.woven),
    )
