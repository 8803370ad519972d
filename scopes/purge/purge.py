"""`purge`: remove messages, the content of a file, or conversations permanently, from a store and its derived data.

The steps, under the exclusive lock: rewrite every commit that has purged content in its history; record what is purged
(`unfinished`); move the refs in one operation; clean reflogs, objects, indexes, caches and logs; search everything to
prove that nothing is left. If it is killed before the operation, nothing has changed; after that, `continue_purge` does
the rest. A purge cannot be undone.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from shlex import quote
from typing import Final, NamedTuple

from scopes.errors import NotFound, Refused, ScopesError
from scopes.history.activity import with_summary
from scopes.history.messages import MessageHeader
from scopes.history.sources import (
    NOTHING,
    SOURCES,
    Purged,
    read_purged,
    read_source_record,
    with_last_path,
    write_purged,
)
from scopes.ids import ConversationId, MessageId, Oid, OperationId
from scopes.importers.purged_texts import Quotes
from scopes.index.sqlite_files import list_abandoned
from scopes.model.operation import RefChange
from scopes.purge.also_goes import note_what_else
from scopes.purge.derived import Derived
from scopes.purge.leftovers import clear_logs, delete_caches, delete_in_store
from scopes.purge.lost_files import note_lost_files
from scopes.purge.lost_messages import with_lost_messages
from scopes.purge.names_that_stay import note_names
from scopes.purge.on_remotes import RemoteCopy, add_values, list_copies, still_there_of
from scopes.purge.proof import CopiedIn, Proof, find_copies, prove
from scopes.purge.purged_sessions import with_sessions
from scopes.purge.records_that_stay import note_records
from scopes.purge.rewrite_reflogs import ReflogRewriter
from scopes.purge.rewrite_store import RewrittenStore, rewrite_store
from scopes.purge.selection import Chosen, PurgeRequest, choose, pin
from scopes.purge.still_there import explain_left, has_left, with_earlier
from scopes.purge.stored_messages import walk_named_messages, walk_stored_headers
from scopes.purge.unfinished import CONTINUE, begin, end, find_unfinished, refuse_unfinished
from scopes.result import Column, Note, Result, counted, plural
from scopes.store import refs
from scopes.store.git_program import find_git, run_git
from scopes.store.maintenance import PURGE, apply_final, final_record, remove_leftovers, sync_packs
from scopes.store.objects import translated
from scopes.store.packs import bulk_objects
from scopes.store.repository import Repository, note_prune
from scopes.store.transactions import exclusive_write, shared_write, write_operation

_FEW: Final = 5
_SHORT: Final = 8  # characters of an id
_ROOT: Final = 12
_MAX_FILES: Final = 5  # that a note names
Progress = Callable[[int], None]


class Places(NamedTuple):
    """Directories with copies outside of the store: the index, other caches, and logs."""

    index_directory: str
    caches: tuple[str, ...] = ()
    state: str | None = None

    @property
    def derived(self) -> tuple[str, ...]:
        """The directories of derived data, which a purge empties."""
        return (self.index_directory, *self.caches)


class PurgedMessage(NamedTuple):
    """A message that is purged; `parts` is the number of purged parts, None for all of it."""

    conversation: ConversationId
    message: MessageId
    subject: str
    parts: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgePlanned(Result):
    """What a purge would remove; nothing was changed.

    commits: how many commits would be rewritten
    operations: how many operations of the log would be rewritten
    copies: other messages with the same text
    alike: other messages that only share lines with it that many messages have
    records: how many records of stored transcripts would be removed that are not messages
    files_kept: files outside of the store that may have it; scopes does not delete them
    """

    rows_in = "removed"
    is_one_row = True
    columns = (
        Column("conversation", form="branch"),
        Column("message", form="id"),
        Column("parts"),
        Column("subject"),
    )

    messages: tuple[PurgedMessage, ...]
    conversations: tuple[ConversationId, ...]
    commits: int
    operations: int
    remotes: tuple[RemoteCopy, ...]
    copies: tuple[CopiedIn, ...] = ()
    alike: tuple[CopiedIn, ...] = ()
    records: int = 0
    files_kept: tuple[str, ...] = ()

    @property
    def removed(self) -> list[dict[str, object]]:
        """A row for each message, and for each whole conversation."""
        rows = [{**each._asdict(), "parts": "all" if each.parts is None else each.parts} for each in self.messages]
        return rows + [{"conversation": name, "parts": "all"} for name in self.conversations]

    @property
    def sentence(self) -> str:
        """How much would be written again."""
        operations = counted(self.operations, "operation")
        return f"{counted(self.commits, 'commit')} and {operations} would be written again."


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeDone(Result):
    """What was purged, and the proof.

    messages, conversations: how many were purged
    operation: None if no ref had to be moved, because only copies were left
    objects, files: how many were searched for purged content
    left: objects and files that still have purged content
    copies: other messages with the same text
    alike: other messages that only share lines with it that many messages have
    remotes: remotes that still have it
    files_kept: files outside of the store that have it, or may have it; scopes does not delete them
    records: how many records of stored transcripts were removed that are not messages
    """

    columns = (Column("messages"), Column("conversations"), Column("left_count", "Left"))
    can_undo = False

    messages: int
    conversations: int
    operation: OperationId | None
    objects: int
    files: int
    left: tuple[str, ...]
    copies: tuple[CopiedIn, ...]
    remotes: tuple[RemoteCopy, ...]
    files_kept: tuple[str, ...]
    alike: tuple[CopiedIn, ...] = ()
    records: int = 0

    @property
    def left_count(self) -> int:
        """The number of places that still have it."""
        return len(self.left)

    @property
    def sentence(self) -> list[str]:
        """What was purged and searched, and what is left."""
        left = "it is still in:" if self.left else "nothing is left."
        return [f"Purged {self._purged} for good.", f"{self._searched}: {left}", *self.left]

    @property
    def remark(self) -> str:
        """The same for a pipe."""
        left = f"it is still in {', '.join(self.left)}" if self.left else "nothing is left"
        return f"purged {self._purged} for good; {self._searched}: {left}"

    @property
    def next_step(self) -> str:
        """How to go on if something is left."""
        delete = "delete these files; what the objects are of is below; then: scopes purge --continue"
        return delete if self.left else ""

    @property
    def _purged(self) -> str:
        whole = ((self.messages, "message"), (self.conversations, "conversation"), (self.records, "other record"))
        return " and ".join(counted(count, noun) for count, noun in whole if count) or "nothing new"

    @property
    def _searched(self) -> str:
        return f"{counted(self.objects, 'object')} and {counted(self.files, 'file')} were searched"

    @property
    def exit_code(self) -> int:
        """7 if purged content is left, otherwise 0."""
        return 7 if self.left else 0


def plan_purge(repository: Repository, request: PurgeRequest, places: Places) -> PurgePlanned:
    """Return what a purge would remove, and change nothing.

    Raises:
        NotFound, Ambiguous, Invalid: a name cannot be resolved, or nothing is found.
    """
    chosen = choose(repository, request, index_directory=places.index_directory)
    named = _describe(repository, chosen)
    plan = plan_removal(repository, chosen.purged, named, (*chosen.conversations.values(),))
    return replace(plan, notes=(*plan.notes, *_note_left(repository, chosen)))


def plan_removal(
    repository: Repository,
    purged: Purged,
    messages: tuple[PurgedMessage, ...],
    conversations: tuple[ConversationId, ...],
) -> PurgePlanned:
    """Return what a purge of the entries of a list would remove, and change nothing."""
    _require_possible(repository)
    with shared_write(repository), bulk_objects(repository, keep=False) as objects:
        done = rewrite_store(repository, objects, read_purged(repository).join(purged))
        others = _note_others(repository, done)
        copies, alike = find_copies(repository, done.histories.quotes, done.histories.messages, done.conversations)
    still_there = still_there_of(repository)
    names = {tuple(each.ref.split("/")[-2:]) for each in done.changes if still_there(each.ref)}
    files = _source_files(repository, done)
    remotes = Counter(remote for remote, _ in names)
    on_remotes = list_copies(repository.path, also=remotes)
    return PurgePlanned(
        messages=messages,
        conversations=conversations,
        commits=sum(new is not None for new in done.histories.commits.values()) - done.operations.rewritten,
        operations=done.operations.rewritten,
        remotes=on_remotes,
        copies=copies,
        alike=alike,
        records=sum(done.blanked.values()),
        files_kept=tuple(files),
        notes=(
            *_note_copies(copies, "the same text", "then purge it too"),
            *_note_unsearched(done.histories.quotes),
            *others,
            *map(_note_remote, on_remotes),
            *_file_notes(files),
        ),
    )


def purge(
    repository: Repository, request: PurgeRequest, places: Places, *, on_progress: Progress = lambda _: None
) -> PurgeDone:
    """Remove what a request names, for good.

    Raises:
        NotFound, Ambiguous, Invalid: a name cannot be resolved, or nothing is found; nothing has changed.
        Refused: an earlier purge was interrupted, or the store borrows objects.
        Inaccessible, Corrupt, Busy: it stopped; if anything has changed, `continue_purge` does the rest.
    """
    pinned = pin(repository, request)
    return purge_chosen(repository, lambda: pinned, places, on_progress=on_progress)


def purge_chosen(
    repository: Repository,
    make_request: Callable[[], PurgeRequest],
    places: Places,
    *,
    on_progress: Progress = lambda _: None,
) -> PurgeDone:
    """Remove what a request names, where the request depends on the store; raises as `purge` and as `make_request`.

    The request is made and resolved again under the lock if another process has written meanwhile: a message may have
    been amended, and an old conversation may have a new message.
    """
    refuse_unfinished(repository)
    selection = _Selection(repository, make_request, places)
    done = remove(repository, selection.chosen.purged, places, on_progress=on_progress, choose_again=selection.renew)
    return replace(done, notes=(*done.notes, *_note_left(repository, selection.chosen)))


class _Selection:
    """The list of what to purge, with the state of the store for which it was resolved."""

    def __init__(self, repository: Repository, make_request: Callable[[], PurgeRequest], places: Places) -> None:
        self._repository, self._make_request, self._places = repository, make_request, places
        self._seen = repository.raw_ref(refs.OPERATIONS), repository.list_refs()
        self.chosen = self._choose()

    def _choose(self) -> Chosen:
        return choose(self._repository, self._make_request(), index_directory=self._places.index_directory)

    def renew(self) -> Purged:
        """Return the list, resolved again if the store has changed since; call it under the exclusive lock."""
        if self._seen != (self._repository.raw_ref(refs.OPERATIONS), self._repository.list_refs()):
            self.chosen = self._choose()
        return self.chosen.purged


def continue_purge(repository: Repository, places: Places, *, on_progress: Progress = lambda _: None) -> PurgeDone:
    """Finish a purge that was interrupted or has left content; raises as `purge`, and NotFound if there is none."""
    unfinished = find_unfinished(repository.path)
    if unfinished is None and has_left(repository.path):
        return remove(repository, NOTHING, places, on_progress=on_progress)
    if unfinished is None:
        raise NotFound("no purge was interrupted", hint="see: scopes help purge")
    known = read_purged(repository).join(unfinished)
    made = Derived(repository).add_to(known).without(known)  # what a killed `pull --purged` has taken may have more
    return remove(repository, unfinished.join(made), places, on_progress=on_progress, is_continued=True)


def remove(
    repository: Repository,
    purged: Purged,
    places: Places,
    *,
    on_progress: Progress = lambda _: None,
    choose_again: Callable[[], Purged] | None = None,
    is_continued: bool = False,
) -> PurgeDone:
    """Purge the entries of a list and add them to the list of the store; raises as `purge`.

    choose_again: returns the list again, under the lock, if it depends on the store
    """
    _require_possible(repository)
    with exclusive_write(repository):
        purged = purged if choose_again is None else choose_again()
        purged, known = with_sessions(repository, purged), read_purged(repository)
        with bulk_objects(repository) as objects:
            done = rewrite_store(repository, objects, known.join(purged), on_progress)
            purged = with_lost_messages(repository, purged, done.histories)
            listed = write_purged(repository, known.join(purged), repository.caller.sign)  # may fail: before the rest
        sources = _source_files(repository, done)
        others = _note_others(repository, done)
        begin(repository, purged)  # nothing has changed if anything before this failed
        operation = _move_refs(repository, done, listed)
        kept = {*done.kept, listed, Oid(repository.raw_ref(refs.OPERATIONS) or listed)}
        reflogs = ReflogRewriter(
            done.histories.commits, kept, done.operations.summaries, done.operations.with_new_prefixes
        )
        with _naming_the_rest():
            reflogs.rewrite_all(repository)
            drop_unreachable(repository)
            delete_in_store(repository)
        errors = delete_caches((*places.derived, *list_abandoned(os.path.dirname(places.index_directory))))
        logs = _clear_logs(places, done, every_log=is_continued and not done.histories.commits)
        removed = {*done.histories.commits, *done.histories.blobs}
        proof = prove(repository, removed, done.histories.quotes, places.derived, done.histories.messages)
        left = dict.fromkeys((*proof.left, *(path for path in errors if not os.path.isdir(path))))
        proof = proof._replace(left=with_earlier(repository, purged, [*left]))
        end(repository)
    others = (*others, *explain_left(repository, proof.left))
    found = _Found(operation, proof, tuple(errors.values()), (*sources, *logs), others)
    return _result(repository, done, found)


@contextmanager
def _naming_the_rest() -> Iterator[None]:
    """Add to the hint of an error how to finish the purge: the refs have moved, the content is still on the disk."""
    try:
        yield
    except ScopesError as error:
        error.hint = f"{error.hint}; then {CONTINUE}" if error.hint else CONTINUE
        raise


def _clear_logs(places: Places, done: RewrittenStore, *, every_log: bool) -> list[str]:
    if places.state is None:
        return []
    return clear_logs(places.state, done.histories.quotes, every_log=every_log)


def _require_possible(repository: Repository) -> None:
    repository.require_writable()
    if find_git() is None:
        raise Refused("the git program is not installed", hint="install git; purge deletes objects with it")
    if os.path.lexists(os.path.join(repository.path, "objects", "info", "alternates")):
        hint = "copy the store with all its objects: git clone --mirror, and purge there"
        raise Refused("the store borrows objects from another repository, which would keep them", hint=hint)


def _move_refs(repository: Repository, done: RewrittenStore, listed: Oid) -> OperationId | None:
    """Move all refs in one operation; return None if an interrupted purge had already moved them."""
    add_values(repository, done.changes, done.histories.commits)
    before = repository.raw_ref(refs.PURGED)
    changes = [each for each in done.changes if each.ref not in {refs.OPERATIONS, refs.PURGED}]
    if before != listed:
        changes.append(RefChange(refs.PURGED, before, listed))
    if not changes:
        return None
    counts = _counts(done)
    record = final_record(repository, PURGE, f"purge {' and '.join(counts) or 'nothing'}", "scopes purge")
    old = repository.raw_ref(refs.OPERATIONS)
    tip = None if old is None else done.histories.commits.get(Oid(old)) or Oid(old)
    log = write_operation(repository, record, tip)
    apply_final(repository, record, [*changes, RefChange(refs.OPERATIONS, old, log)])
    return record.id


def _counts(done: RewrittenStore) -> list[str]:
    whole = sum(parts is None for parts in done.histories.messages.values())
    parts, roots = len(done.histories.messages) - whole, len(done.histories.roots)
    named = ((whole, "message"), (parts, "message in part"), (roots, "conversation"))
    return [f"{count} {plural(count, noun)}" for count, noun in named if count]


def _source_files(repository: Repository, done: RewrittenStore) -> list[str]:
    """Return the paths of the agents' transcripts, outside of the store, from which changed sources were imported."""
    found = []
    for change in done.changes:
        if change.ref.startswith(SOURCES) and change.old is not None:
            path = with_last_path(repository, read_source_record(repository, Oid(change.old))).path
            if path and os.path.exists(path):
                found.append(path)
    return found


def _describe(repository: Repository, chosen: Chosen) -> tuple[PurgedMessage, ...]:
    """Return a row for each message and each conversation that has it; a deleted one is named by its root."""
    found: dict[tuple[ConversationId, MessageId], PurgedMessage] = {}
    for conversation, head in _walk_described(repository) if chosen.messages else ():
        if head.id in chosen.messages and (conversation, head.id) not in found:
            parts = chosen.messages[head.id]
            count = None if parts is None else len(parts)
            subject = with_summary(repository, head).subject
            found[conversation, head.id] = PurgedMessage(conversation, head.id, subject, count)
    return tuple(found.values())


def _walk_described(repository: Repository) -> Iterator[tuple[ConversationId, MessageHeader]]:
    for name, each in walk_named_messages(repository):
        yield name, each.head
    for root, head in walk_stored_headers(repository, branches=False):
        if root is not None:
            yield ConversationId(root[:_ROOT]), head


def _note_others(repository: Repository, done: RewrittenStore) -> tuple[Note, ...]:
    return tuple(note for find in (note_what_else, note_names, note_lost_files) for note in find(repository, done))


def _note_remote(copy: RemoteCopy) -> Note:
    """Return a note about what a remote still has; notes are also shown when the result is printed for a script."""
    text = f"the remote {copy.remote} ({copy.address}) has {copy.conversations} "
    return Note(f"{text}{plural(copy.conversations, 'conversation')} with it", f"{copy.push}; {copy.server}")


def _file_notes(files: Sequence[str]) -> tuple[Note, ...]:
    if not files:
        return ()
    text = f"{len(files)} {plural(len(files), 'file')} outside of the store may still have it: "
    text += ", ".join(files[:_MAX_FILES])
    hint = "delete them yourself, or change them: only files of the store are changed"
    if len(files) > _MAX_FILES:
        text += f" and {len(files) - _MAX_FILES} more"
        hint += "; see all of them: the same command with --json"
    return (Note(text, hint),)


def _note_left(repository: Repository, chosen: Chosen) -> tuple[Note, ...]:
    """Return a note about messages that are kept although one of their copies names a purged message as its source."""
    if not chosen.left:
        return ()
    count, first = len(chosen.left), chosen.left[0]
    text = f"{count} other {plural(count, 'message')} {'names' if count == 1 else 'name'} it as a source"
    where = next((name for name, each in walk_named_messages(repository) if each.head.id == first), None)
    see = f"see: scopes cat {quote(where or 'CONV')} {first[:_SHORT]}; purge it too if it has"
    return (Note(f"{text}, and may have nothing of it", see),)


def _note_copies(found: Sequence[CopiedIn], what: str, then: str) -> tuple[Note, ...]:
    if not found:
        return ()
    count, first = len(found), found[0]
    text = f"{count} other {plural(count, 'message')} {'has' if count == 1 else 'have'} {what}"
    others = "".join(f", {quote(each.conversation)} {each.message[:_SHORT]}" for each in found[1:_FEW])
    more = ", ..." if count > _FEW else ""
    return (Note(text, f"see: scopes cat {quote(first.conversation)} {first.message[:_SHORT]}{others}{more}; {then}"),)


def note_alike(found: Sequence[CopiedIn]) -> tuple[Note, ...]:
    """Return a note about messages that only share lines that many messages have, shown on request."""
    what, then = "only lines of it that many messages have", "purge it too if that is not of a program"
    return _note_copies(found, what, then)


def _note_unsearched(quotes: Quotes) -> tuple[Note, ...]:
    if not quotes.unsearched:
        return ()
    count = len(quotes.lines())
    text = f"only the {count} longest of {count + quotes.unsearched} lines were looked for in what stays"
    return (Note(text, "look for another one with: scopes search TEXT"),)


class _Found(NamedTuple):
    """Further results of a removal, in addition to the rewritten store."""

    operation: OperationId | None
    proof: Proof
    errors: tuple[str, ...]
    files: tuple[str, ...]
    others: tuple[Note, ...]


def _result(repository: Repository, done: RewrittenStore, found: _Found) -> PurgeDone:
    proof = found.proof
    notes = [Note(f"a cache may still hold it: {why}", "remove it yourself") for why in found.errors]
    notes += (*_note_copies(proof.copies, "the same text", "then purge it too"),
              *note_records(proof.records), *_note_unsearched(done.histories.quotes))  # fmt: skip
    notes += found.others
    remotes = list_copies(repository.path)
    return PurgeDone(
        messages=len(done.histories.messages),
        conversations=len(done.histories.roots),
        operation=found.operation,
        objects=proof.objects,
        files=proof.files,
        left=proof.left,
        copies=proof.copies,
        alike=proof.alike,
        records=sum(done.blanked.values()),
        remotes=remotes,
        files_kept=found.files,
        notes=(*notes, *map(_note_remote, remotes), *_file_notes(found.files)),
    )


def drop_unreachable(repository: Repository) -> None:
    """Write one pack of all that refs and reflogs reach, and delete every other object at once.

    Call it under the exclusive lock. Repeating it is harmless; until it has returned, objects may still be there.
    """
    remove_leftovers(repository)
    lock = repository.lock.descriptor
    with translated("delete derived files", repository.path):
        for top, _, files in os.walk(os.path.join(repository.path, "objects")):
            for name in files:
                if name.endswith((".keep", ".bitmap", ".mtimes")) or name.startswith(
                    ("multi-pack-index", "commit-graph")
                ):
                    os.unlink(os.path.join(top, name))
    repository.close()
    note_prune(repository.path)
    run_git(repository.path, "repack", "-a", "-d", "-q", "--no-write-bitmap-index", lock=lock)
    run_git(repository.path, "prune", "--expire=now", lock=lock)
    repository.close()
    sync_packs(repository)
