"""The state of one import run, shared by all its sources."""

from __future__ import annotations

from dataclasses import dataclass, field

from scopes.history.sources import NOTHING, Purged
from scopes.history.transaction import RefTransaction
from scopes.importers.fork_points import ParentSession
from scopes.importers.purged_texts import Quotes
from scopes.importers.results import GroupedNote, Skipped, SourceImported
from scopes.importers.session_commits import ImportedSession
from scopes.importers.targets import ImportTargets
from scopes.result import Note
from scopes.secrets.count import SecretFinder
from scopes.store.packs import BulkObjects
from scopes.store.repository import Prunes, Repository


@dataclass(slots=True)
class ImportRun:
    """State of one import run, changed by `import_sources` and `import_source`.

    `targets` and `session_commits` change the import targets and the sessions in it.

    again: import conversations that were deleted here
    parents: sessions of this run that others may continue, by source key
    versions: version of each source's record, by source key
    sources, copies, notes: for the result
    missing_parents: sessions that continue one which is not imported, and that one
    records: ref changes of the sources' records
    paths: path of each source, by source key
    purged: what does not come back
    grown: what of it was purged before it was complete
    quotes: the texts of it that were met
    find_secrets: counts the secrets in new messages; None: they are not counted
    rereads: read sources as if nothing of them was stored
    broken: sources that could not be read to their end; nothing of them is in the run
    stopped: how many sources were left out because of Ctrl-C
    """

    repository: Repository
    objects: BulkObjects
    targets: ImportTargets
    again: bool = False
    find_secrets: SecretFinder | None = None
    parents: dict[str, ParentSession] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    sources: list[SourceImported] = field(default_factory=list)
    copies: list[Skipped] = field(default_factory=list)
    notes: list[Note | GroupedNote] = field(default_factory=list)
    missing_parents: dict[str, str] = field(default_factory=dict)
    broken: list[Skipped] = field(default_factory=list)
    stopped: int = 0
    rereads: bool = False
    purged: Purged = NOTHING
    grown: Purged = NOTHING
    quotes: Quotes = field(default_factory=Quotes)
    paths: dict[str, str] = field(default_factory=dict)
    records: RefTransaction = field(init=False)
    prunes: Prunes = field(init=False)

    def __post_init__(self) -> None:
        self.records = RefTransaction(self.repository)
        self.prunes = Prunes(self.repository.path)  # the lock is held, under which the objects are written

    def start_source(self) -> None:
        """Start new lists of results and changes, without those of the sources before."""
        self.sources, self.copies, self.notes, self.missing_parents, self.paths = [], [], [], {}, {}
        self.records, self.grown = RefTransaction(self.repository), NOTHING

    def take_back_source(self) -> None:
        """Forget what the source that was started last has added: it cannot be read to its end."""
        for target in self.targets:
            target.sessions = [session for session in target.sessions if session.key not in self.paths]
        self.start_source()

    def use_objects(self, objects: BulkObjects) -> None:
        """Write to another pack from now on."""
        self.objects = self.targets.objects = objects

    def is_overtaken(self) -> bool:
        """Return True if another process has imported a source or deleted a conversation since this run read it.

        Also if one has purged something: what this run has written is gone, as no ref has it yet.
        """
        changes = self.records.list_changes()
        return (
            self.prunes.have_run()
            or self.targets.is_any_deleted()
            or any(self.repository.find_ref(change.ref) != change.old for change in changes)
        )

    def release(self, group: int) -> None:
        """Free the memory that only the sources of a group needed."""
        for target in self.targets.take_group(group):
            imported: dict[str, ImportedSession] = {}
            for session in target.sessions:
                parent = self.parents[session.key]
                if parent.imported is not None:
                    imported[session.key], parent.imported = parent.imported, None
            self.targets.finish(target, imported)
