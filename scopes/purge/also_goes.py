"""Notes about records that a purge also removes: memory entries, facts, texts of merge requests, and titles.

They quote the purged content, or were made from it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Final

from scopes.errors import Corrupt
from scopes.history.metadata import read_metadata
from scopes.history.names import conversation_ids
from scopes.history.sources import SOURCES, read_source_record, with_last_path
from scopes.ids import Oid
from scopes.model import canonical_json
from scopes.model.canonical_json import decode_component
from scopes.purge.purged_metadata import TAGS
from scopes.purge.rewrite_records import quotes_in_title
from scopes.purge.rewrite_store import RewrittenStore
from scopes.result import Note, plural
from scopes.secrets.allowed import name_of
from scopes.store import refs
from scopes.store.objects import read_blob, read_commit, walk_blobs
from scopes.store.repository import Repository

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
        "see what is left: scopes mr show CONV NUMBER",
    ),
    _AGENT: (
        "registered agent loses a text that quotes it",
        "registered agents lose a text that quotes it",
        "describe it again: scopes agents register AGENT --description TEXT",
    ),
    _ALLOWED: (
        "allowed secret loses its reason, which quotes it",
        "allowed secrets lose their reasons, which quote it",
        "give another one: scopes secrets allow SECRET --reason TEXT",
    ),
    _TAG: ("tag goes", "tags go", "it names a commit of what is purged; another one: scopes tag CONV NAME MESSAGE"),
    _FILE: ("other file goes", "other files go", _WHY),
}


def note_what_else(repository: Repository, done: RewrittenStore) -> tuple[Note, ...]:
    """Return notes about other records that are removed or lose a text; call it before the refs move."""
    found: dict[int, list[str]] = {noun: [] for noun in _TEXTS}
    for change in done.changes if done.changed else ():
        if change.old is not None and change.new is not None and not change.ref.startswith(_NO_RECORDS):
            for path, blob in walk_blobs(repository, read_commit(repository, Oid(change.old)).tree):
                if blob in done.changed:
                    noun, name = _describe(repository, change.ref, path, blob)
                    found[noun].append(name)
    notes = [_note(noun, sorted(set(names))) for noun, names in found.items() if names]
    return (*notes, *_note_titles(repository, done), *_note_records(repository, done))


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


def _describe(repository: Repository, ref: str, path: str, blob: Oid) -> tuple[int, str]:
    """Return the kind of a file, such as `_TAG`, and its name for people."""
    try:
        document = canonical_json.load(read_blob(repository, blob))
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
    """Return a note about the titles of conversations that stay, where the title goes."""
    quotes = done.histories.lost_quotes
    left = [each for each in conversation_ids(repository) if each not in done.conversations] if quotes else []
    titles = {each: read_metadata(repository, each).title for each in left}
    gone = [each for each, title in titles.items() if title and quotes_in_title(quotes, title, is_own=each in done.own)]
    if not gone:
        return ()
    what = "quotes it, and goes" if len(gone) == 1 else "quote it, and go"
    text = f"the {plural(len(gone), 'title')} of {_list_few(gone)} {what}"
    return (Note(text, f"give it another one: scopes rename {quote(gone[0])} --title TEXT"),)
