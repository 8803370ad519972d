"""Notes about records that a purge also removes: memory entries, facts, texts of merge requests, and titles.

They quote the purged content, or were made from it. A title that only has a short text of it is kept, with a note.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

from scopes.errors import Corrupt
from scopes.history.metadata import read_metadata
from scopes.history.revisions import conversation_ids
from scopes.history.source_paths import with_last_path
from scopes.history.sources import SOURCES, read_source_record
from scopes.ids import ConversationId, Oid
from scopes.model import encoding
from scopes.model.path_encoding import decode_component
from scopes.purge.purged_metadata import TAGS
from scopes.purge.rewrite_records import quotes_in_title
from scopes.purge.rewrite_store import RewrittenStore
from scopes.result import Note, plural
from scopes.secrets.allowed import name_of
from scopes.store import refs
from scopes.store.repository import Repository, read_commit_stub
from scopes.store.trees import read_blob, walk_blobs

_FEW: Final = 5
_NO_RECORDS: Final = (refs.HEADS, refs.REMOTES, refs.TRASH, SOURCES)
_ENTRY, _ADDED, _FACT, _REQUEST, _AGENT, _ALLOWED, _TAG, _FILE = range(8)
_WHY: Final = "made from it, or with its text"
_TEXTS: Final = {
    _ENTRY: (
        "memory entry goes",
        "memory entries go",
        f"{_WHY}; another can be made of the messages that are left: scopes memory update",
    ),
    _ADDED: (
        "memory entry added by hand goes",
        "memory entries added by hand go",
        f"{_WHY}; add another one without it: scopes memory add TEXT",
    ),
    _FACT: ("fact or proposed one goes", "facts or proposed ones go", f"{_WHY}; see what is left: scopes facts list"),
    _REQUEST: (
        "merge request loses a text that quotes it",
        "merge requests lose a text that quotes it",
        "see what is left: scopes merge-requests show CONV NUMBER",
    ),
    _AGENT: (
        "registered agent loses a text that quotes it",
        "registered agents lose a text that quotes it",
        "describe it again: scopes agents update AGENT --description TEXT",
    ),
    _ALLOWED: (
        "allowed secret loses its reason, which quotes it",
        "allowed secrets lose their reasons, which quote it",
        "give another one: scopes secrets allow SECRET --reason TEXT",
    ),
    _TAG: ("tag goes", "tags go", "it names a commit of what is purged; another one: scopes tag CONV NAME MESSAGE"),
    _FILE: ("other file goes", "other files go", _WHY),
}
_HAVE: Final = "a path, a name or a short text of it"
_MENTIONS: Final = {
    _ENTRY: (f"memory entry has {_HAVE}", f"memory entries have {_HAVE}", "see: scopes memory show {}"),
    _FACT: (f"fact or proposed one has {_HAVE}", f"facts or proposed ones have {_HAVE}", "see: scopes facts list"),
}


def note_what_else(repository: Repository, done: RewrittenStore) -> tuple[Note, ...]:
    """Return notes about other records that are removed or lose a text; call it before the refs move."""
    found: dict[int, list[str]] = {noun: [] for noun in _TEXTS}
    for change in done.changes if done.changed else ():
        if change.old is not None and change.new is not None and not change.ref.startswith(_NO_RECORDS):
            for path, blob in walk_blobs(repository, read_commit_stub(repository, Oid(change.old)).tree):
                if blob in done.changed:
                    noun, name = _describe(repository, change.ref, path, blob)
                    found[noun].append(name)
    notes = [_note(noun, sorted(set(names))) for noun, names in found.items() if names]
    more = (*_note_mentions(repository, done), *_note_titles(repository, done))
    return (*notes, *more, *_note_records(repository, done))


def _note_records(repository: Repository, done: RewrittenStore) -> Iterator[Note]:
    """Yield a note for each stored transcript that loses records which are not messages."""
    for change in done.changes:
        count = 0 if change.old is None or change.new is None else done.blanked.get(Oid(change.old), 0)
        if count and change.ref.startswith(SOURCES):
            path = with_last_path(repository, read_source_record(repository, Oid(change.old or ""))).path
            name = os.path.basename(path) if path else change.ref.removeprefix(SOURCES)
            text = (
                f"{count:,} other {plural(count, 'record')} of the transcript {name} {'has' if count == 1 else 'have'}"
            )
            verb = "goes" if count == 1 else "go"
            yield Note(f"{text} its text, and {verb}", "they are not messages: see the original in the agent's files")


def _note_mentions(repository: Repository, done: RewrittenStore) -> Iterator[Note]:
    """Yield notes about memory entries and facts that are kept although they have a path, a name or a short text."""
    found: dict[int, list[str]] = {}
    for ref in (refs.MEMORY, refs.FACTS, refs.PROPOSED_FACTS) if done.mentioning else ():
        tip = repository.raw_ref(ref)
        for path, blob in () if tip is None else walk_blobs(repository, read_commit_stub(repository, Oid(tip)).tree):
            if blob in done.mentioning:
                noun, name = _describe(repository, ref, path, blob)
                found.setdefault(_ENTRY if ref == refs.MEMORY else noun, []).append(name)
    for noun in found.keys() & _MENTIONS.keys():
        names, (one, many, hint) = sorted(set(found[noun])), _MENTIONS[noun]
        what = f"1 {one}, and stays" if len(names) == 1 else f"{len(names):,} {many}, and stay"
        yield Note(f"{what}: {_list_few(names)}", hint.format(names[0]))


def _describe(repository: Repository, ref: str, path: str, blob: Oid) -> tuple[int, str]:
    """Return the kind of a file, such as `_TAG`, and its name for people."""
    try:
        document = encoding.load(read_blob(repository, blob))
    except Corrupt:
        document = None
    conversation = refs.conversation_of(ref)
    if conversation is not None and path.startswith(TAGS):
        return _TAG, f"{decode_component(path.rpartition('/')[2])} of {conversation}"
    match document:
        case {"id": str(identity), **rest} if ref == refs.MEMORY:
            return _ENTRY if "uuid" in rest else _ADDED, identity[:8]
        case {"key": str(key), "id": str(identity)} if ref in {refs.FACTS, refs.PROPOSED_FACTS}:
            return _FACT, f"{key}/{identity}"
        case {"name": str(name)} | {"rule": str(name)} if ref in {refs.AGENTS, refs.SECRETS}:
            return (_AGENT, name) if ref == refs.AGENTS else (_ALLOWED, name_of(path))
        case {"number": int(number)} if conversation is not None:
            return _REQUEST, f"{number} of {conversation}"
    return _FILE, f"{ref}:{path}"


def _note(noun: int, names: Sequence[str]) -> Note:
    one, many, hint = _TEXTS[noun]
    what = f"1 {one}" if len(names) == 1 else f"{len(names):,} {many}"
    return Note(f"{what}: {_list_few(names)}", hint)


def _list_few(names: Sequence[str]) -> str:
    count = len(names)
    return ", ".join(names[:_FEW]) + (f" and {count - _FEW:,} more" if count > _FEW else "")


def _note_titles(repository: Repository, done: RewrittenStore) -> tuple[Note, ...]:
    """Return notes about the titles of conversations that are not purged: those removed, and those kept.

    Nearly every purge has a word of some title. A kept one is named only if it has a line with digits or signs.
    """
    gone: list[ConversationId] = []
    kept: list[ConversationId] = []
    quotes = done.histories.lost_quotes
    for conversation in conversation_ids(repository) if quotes else ():
        title = read_metadata(repository, conversation).title
        if title is not None and conversation not in done.conversations and quotes.are_in(title):
            if quotes_in_title(quotes, title, is_own=conversation in done.own):
                gone.append(conversation)
            elif quotes.have_unusual_line_in(title):
                kept.append(conversation)
    notes = []
    if gone:
        hint = f"give it another one: scopes rename {gone[0]} --title TEXT"
        notes.append(Note(_titles_of(gone, ("quotes it, and goes", "quote it, and go")), hint))
    if kept:
        hint = f"if the title quotes it: scopes rename {kept[0]} --title TEXT; its history keeps this one"
        text = _titles_of(kept, ("has a short text of it, and stays", "have a short text of it, and stay"))
        notes.append(Note(text, hint))
    return tuple(notes)


def _titles_of(conversations: Sequence[ConversationId], what: tuple[str, str]) -> str:
    count = len(conversations)
    return f"the {plural(count, 'title')} of {_list_few(conversations)} {what[count > 1]}"
