"""`import`: bring sources in, as one operation. The machine that every format plugs into.

Objects are written beside everybody else, into packs of bounded memory; only the moment in which the refs move has the
store alone. Sources are only ever read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scopes.conversation.metadata import read_metadata
from scopes.conversation.operating import perform
from scopes.ids import ConversationId, OperationId
from scopes.importers.accounting import refuse_unparsed
from scopes.importers.beginning import Beginnings
from scopes.importers.bringing import Run, bring
from scopes.importers.families import number_families
from scopes.importers.format import Format, Source
from scopes.importers.home import Home, Homes
from scopes.importers.lineage import key_of
from scopes.importers.older_copy import go_on_from_stored
from scopes.importers.opening import open_sources
from scopes.importers.placing import number_conversations, place_conversations
from scopes.importers.results import ConversationImported, Imported, Skipped
from scopes.result import Note
from scopes.store.bulk import bulk_objects
from scopes.store.repository import Repository
from scopes.store.transaction import writing, writing_beside

Advance = Callable[[int], None]


def import_sources(
    repository: Repository,
    sources: Sequence[Source],
    formats: Sequence[Format],
    *,
    dry_run: bool = False,
    strict: bool = False,
    again: bool = False,
    title: str | None = None,
    report: bool = False,
    advance: Advance = lambda _: None,
    notes: Sequence[Note] = (),
) -> Imported:
    """Bring sources in; what the store has already is not written again, and a run that changes nothing writes nothing.

    `strict` refuses everything when one record cannot be read. `again` brings a deleted conversation back. `advance` is
    told the bytes of each source when it is done; `notes` are what is known before, and come first.

    Raises:
        CannotImport: a single source is in no known format, or `strict` found something.
        Busy, Inaccessible: nothing was brought in.
    """
    skipped: list[Skipped] = []
    works = open_sources(sources, formats, skipped)
    with writing_beside(repository), bulk_objects(repository, keep=not dry_run) as objects:
        homes = Homes(repository, objects, [key_of(work.session) for work in works])
        sizes = [work.source.size for work in works]
        works = [go_on_from_stored(objects, homes, work) for work in works]
        run = Run(repository, objects, homes, Beginnings(objects, homes), again, notes=list(notes))
        families = number_families([work.session for work in works], homes)
        last = {family: place for place, family in enumerate(families)}
        for place, (work, family) in enumerate(zip(works, families, strict=True)):
            bring(run, work, family)
            if last[family] == place:
                run.let_go(family)
            advance(sizes[place])
        if strict:
            refuse_unparsed(run.sources)
        if dry_run:
            return _result(run, number_conversations(run), skipped, None, report=report, dry_run=True)
    with writing(repository):
        with bulk_objects(repository) as objects:
            conversations, changes = place_conversations(run, objects, title)
        operation = None
        if changes:
            summary = f"bring in {len(run.sources)} sources into {len(conversations)} conversations"
            operation = perform(repository, "import", summary, changes).id
    return _result(run, conversations, skipped, operation, report=report)


def _result(
    run: Run,
    conversations: dict[ConversationId, Home],
    skipped: list[Skipped],
    operation: OperationId | None,
    *,
    report: bool,
    dry_run: bool = False,
) -> Imported:
    return Imported(
        sources=tuple(run.sources),
        conversations=tuple(_describe(run, conversation, home) for conversation, home in conversations.items()),
        skipped=(*skipped, *run.copies),
        dry_run=dry_run,
        report=report,
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
