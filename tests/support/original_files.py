"""Sessions in files with several kinds of records, which are imported and pushed with their original bytes."""

from __future__ import annotations

import json
from pathlib import Path

from scopes.conversation.show import read_original
from scopes.exporters.export import list_sources, walk_bytes
from scopes.history.messages import read_message, walk_headers_oldest_first
from scopes.history.names import Revision, list_branch_tips
from scopes.history.sources import walk_set
from scopes.ids import Oid
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import import_demo
from tests.support.store import git

CREATED = "2023-01-01T00:00:00Z"
PROMPT = "You are a shop assistant"  # a record that is no message


def write_session(path: Path, words: str, *, session: str = "s1", more: tuple[dict, ...] = (), **fields: object):
    """Write a session with these words, and a record that is no message; return its source."""
    records = session_records(session, words, created=CREATED, **fields)
    records = [records[0], {"system": PROMPT}, *({**each, "time": CREATED} for each in records[1:]), *more]
    return write_transcript(path, *records)


def import_session(store, path: Path, words: str, **options: object):
    """Import such a session."""
    return import_demo(store, write_session(path, words, **options))


def exported(store, conversation: str = "conv-001") -> dict[str, bytes]:
    """Return the bytes of the original files of a conversation, as an export writes them, by their names."""
    tip = list_branch_tips(store, conversation)["main"]
    revision = Revision(conversation, "main", tip)
    return {each.label: b"".join(walk_bytes(store, each)) for each in list_sources(store, revision)}


def record_of(store, conversation: str = "conv-001/main") -> dict:
    """Return the record of the newest message, as `cat --original` writes it."""
    return json.loads(b"".join(read_original(store, conversation).records))


def files_there(bare: str) -> list[str]:
    """Return the refs of a remote with original files."""
    return git(bare, "for-each-ref", "--format=%(refname)", "refs/scopes/v1/s").split()


def keys_of(store, ref: str) -> list[str]:
    """Return the native ids of the sources in a set of a store."""
    return sorted(each.record.native_id for each in walk_set(store, Oid(store.find_ref(ref))))


def find_message(store, text: str, conversation: str = "conv-001") -> str:
    """Return the id of the message with a text, on the main branch."""
    heads = walk_headers_oldest_first(store, [list_branch_tips(store, conversation)["main"]])
    return next(head.id for head in heads if read_message(store, head.oid).text == text)
