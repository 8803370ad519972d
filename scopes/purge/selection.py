"""Resolve what to purge: messages and those made from them, parts that hold a file, hits of a search, conversations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from shlex import quote
from typing import NamedTuple

from scopes.errors import Invalid, NotFound
from scopes.history.handles import StoreHandle
from scopes.history.messages import is_root, message_id_of
from scopes.history.names import find_root_commit, match_prefix, resolve_conversation
from scopes.history.sources import RECORD, SOURCES, Parts, Purged, purged_of, read_source_record, with_last_path
from scopes.ids import ConversationId, MessageId, Oid
from scopes.model.message import decode, is_purged
from scopes.purge.all_commits import walk_all_commits
from scopes.purge.derived import Derived
from scopes.purge.held_files import list_held, walk_other_records
from scopes.purge.records_that_stay import walk_record_keys
from scopes.purge.rewrite_source import walk_records
from scopes.purge.stored_messages import walk_stored_messages
from scopes.search.query import text_matcher
from scopes.search.run import search
from scopes.store import refs
from scopes.store.objects import read_commit
from scopes.store.operations import MIN_PREFIX_LENGTH
from scopes.store.repository import Repository

_MAX_HITS = 100_000
_HEX = re.compile(r"[0-9a-f]{8,40}")
_HASH = re.compile(r"[0-9a-f]{8,64}")
_SHORT_ROOT = 12


class PurgeRequest(NamedTuple):
    """What the user wants to purge.

    conversations: purge all of these
    conversation: where to look for `messages`, `file` and `query`; None: everywhere
    messages: revisions in `conversation`
    file: a path, or the end of one
    query: purge the hits of this search
    source: the path of a transcript, or the end of one: purge all messages that were imported from it
    records: the beginnings of hashes of records of transcripts that are no messages
    only: purge only these messages and those made from them, whatever else is found; None: all that is found
    """

    conversations: tuple[str, ...] = ()
    conversation: str | None = None
    messages: tuple[str, ...] = ()
    file: str | None = None
    query: str | None = None
    source: str | None = None
    records: tuple[str, ...] = ()
    only: frozenset[MessageId] | None = None


class Chosen(NamedTuple):
    """A resolved request: messages with the purged parts, and conversations with their roots.

    left: messages that are kept although one of their copies names one of these as its source
    records: the purge keys of records of transcripts that are not messages: those named, or those that hold the file
    """

    messages: dict[str, Parts]
    conversations: dict[Oid, ConversationId]
    left: tuple[MessageId, ...] = ()
    records: tuple[str, ...] = ()

    @property
    def purged(self) -> Purged:
        """The entries of the list."""
        return purged_of(self.messages, [*self.conversations, *self.records])


def pin(repository: Repository, request: PurgeRequest) -> PurgeRequest:
    """Replace revisions in a request by message ids: `main` may be another message when it is resolved again.

    Raises:
        NotFound, Ambiguous, Invalid: a name cannot be resolved.
    """
    return request._replace(messages=tuple(_walk_named(repository, request))) if request.messages else request


def choose(repository: Repository, request: PurgeRequest, *, index_directory: str) -> Chosen:
    """Resolve a request.

    Raises:
        NotFound, Ambiguous, Invalid: a name cannot be resolved, or nothing is found.
    """
    if request.conversations:
        return Chosen({}, dict(_find_conversation(repository, name) for name in request.conversations))
    if request.records:
        return Chosen({}, {}, records=_find_records(repository, request.records))
    messages: dict[str, Parts] = {}
    records: tuple[str, ...] = ()
    if request.messages:
        messages = dict.fromkeys(_walk_named(repository, request))
    elif request.query is not None:
        messages = dict.fromkeys(_walk_hits(repository, request, index_directory))
    elif request.source is not None:
        messages = dict.fromkeys(_walk_imported(repository, request.source))
        if not messages:
            raise NotFound(
                f"no message was imported from {request.source!a}", hint="use the path from which it was imported"
            )
    elif request.file is not None:
        name = _check_file(request.file)
        where = None if request.conversation is None else resolve_conversation(repository, request.conversation)
        messages |= list_held(repository, where, name)
        records = tuple(walk_other_records(repository, where, name))
        if not messages and not records:
            raise NotFound(f"no message holds the file {request.file!a}", hint="see: scopes show CONV --files")
    if request.only is not None:
        messages = {name: parts for name, parts in messages.items() if name in request.only}
    whole = {name for name, parts in messages.items() if parts is None}
    derived = Derived(repository)
    in_part = {name: parts for name, parts in messages.items() if parts is not None}
    messages |= dict.fromkeys(derived.list_versions(whole.__contains__, in_part))
    gone = {name for name, parts in messages.items() if parts is None}
    return Chosen(messages, {}, tuple(derived.list_left(gone.__contains__)), records)


def _find_conversation(repository: Repository, name: str) -> tuple[Oid, ConversationId]:
    """Return the root and the id of a conversation; one that only undo, the trash or a remote has is found by its root.

    Raises:
        NotFound, Ambiguous: there is none, or several have this prefix.
    """
    try:
        found = resolve_conversation(repository, name)
    except NotFound as error:
        if not _HEX.fullmatch(name):
            raise
        tips = [Oid(value) for value in repository.list_refs().values() if not value.startswith(refs.SYMBOLIC)]
        roots = {commit.oid for commit, _ in walk_all_commits(repository, tips) if is_root(commit)}
        root = Oid(match_prefix(name, roots, "conversation", error.hint))
        return root, ConversationId(root[:_SHORT_ROOT])
    return _root_of(repository, found), found


def _root_of(repository: Repository, conversation: ConversationId) -> Oid:
    root = find_root_commit(repository, conversation)
    if root is None:
        raise NotFound(f"the history of {conversation} has no root", hint="see: scopes verify")
    return root


def _walk_named(repository: Repository, request: PurgeRequest) -> Iterator[MessageId]:
    if request.conversation is None:  # of a secret: whole ids
        yield from map(MessageId, request.messages)
        return
    conversation = StoreHandle(repository).conversation(request.conversation)
    for name in request.messages:
        try:
            oid = conversation.revision(name).oid
        except NotFound as error:
            yield _find_anywhere(repository, name, error)
            continue
        commit = read_commit(repository, oid)
        if is_root(commit):
            hint = f"purge all of it: scopes purge {quote(conversation.id)} --whole"
            raise Invalid(f"{name} is where {conversation.id} begins, and no message", hint=hint)
        yield message_id_of(commit)


def _find_anywhere(repository: Repository, prefix: str, error: NotFound) -> MessageId:
    """Return a message that is on no branch: it is in the trash, or was undone, rewound or rebased away.

    Raises:
        NotFound, Ambiguous: there is none, or several have this prefix.
    """
    if len(prefix) < MIN_PREFIX_LENGTH:
        raise error
    tips = [Oid(value) for value in repository.list_refs().values() if not value.startswith(refs.SYMBOLIC)]
    found = {commit.message_id for commit, _ in walk_all_commits(repository, tips) if commit.message_id is not None}
    if not any(name.startswith(prefix) for name in found):
        raise error
    return MessageId(match_prefix(prefix, found, "message", error.hint))


def _find_records(repository: Repository, prefixes: Sequence[str]) -> tuple[str, ...]:
    """Return the purge keys of records, each found by the beginning of its hash.

    Raises:
        Invalid, NotFound, Ambiguous: one is no hash, or there is no record, or several.
    """
    if wrong := next((each for each in prefixes if not _HASH.fullmatch(each)), None):
        hint = "a purge that leaves a record names it by the beginning of its hash, at least 8 hexadecimal digits"
        raise Invalid(f"{wrong!a} is not the name of a record", hint=hint)
    keys = {key.removeprefix(RECORD) for key in walk_record_keys(repository)}
    hint = "it may be purged, or it is the record of a message: scopes purge CONV MESSAGE"
    return tuple(RECORD + match_prefix(each, keys, "record", hint) for each in dict.fromkeys(prefixes))


def _walk_imported(repository: Repository, path: str) -> Iterator[MessageId]:
    """Yield the messages of all transcripts with a path; their records are removed from the stored copy, too."""
    name = path.removeprefix("./").rstrip("/")
    for value in repository.list_refs(SOURCES).values():
        record = with_last_path(repository, read_source_record(repository, Oid(value)))
        if name and record.path and f"/{record.path}".endswith(f"/{name}"):
            for each in walk_records(repository, read_commit(repository, Oid(value)).tree):
                if each.message is not None:
                    yield MessageId(each.message)


def _walk_hits(repository: Repository, request: PurgeRequest, index_directory: str) -> Iterator[MessageId]:
    found = search(
        repository,
        request.query or "",
        index_directory=index_directory,
        conversation=request.conversation,
        limit=_MAX_HITS,
        newest_first=True,
    )
    matches = text_matcher(request.query or "")
    kept = [
        each.head.id
        for each in walk_stored_messages(repository, request.conversation, branches=False)
        if matches(message := decode(each.data)) and not is_purged(message)
    ]
    if not found.hits and not kept:
        raise NotFound("the search finds no message", hint="try it: scopes search QUERY")
    yield from (hit.head.id for hit in found.hits)
    yield from kept


def _check_file(path: str) -> str:
    """Normalize the path of a file, or the end of one.

    Raises:
        Invalid: it is empty, or a directory such as `..`.
    """
    name = path.removeprefix("./").rstrip("/")
    if not name.strip("./"):
        raise Invalid(f"{path!a} is not a file", hint="name it by its path or the end of it: --file src/app.py")
    return name
