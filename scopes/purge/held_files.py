"""Find the parts of messages that hold a file: the file itself, tool calls that name it, and their results.

A call names a file by its path, or by its path relative to the directory of the conversation or of the call. Other ways
to name it, such as `cd conf && cat *`, are not found.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Final

from scopes.errors import Corrupt, NotFound
from scopes.history.messages import MessageHeader, read_root_of, read_stored_body
from scopes.history.purged import Parts, name_of_record
from scopes.history.quotes import walk_texts
from scopes.history.revisions import conversation_ids, find_directory, find_root_commit
from scopes.history.sources import SOURCES, SourceRecord, read_source_record, read_spans, walk_chunks
from scopes.history.tool_calls import FoundCall, find_call
from scopes.ids import ConversationId, MessageId, Oid
from scopes.model.agent_tools import DIRECTORIES
from scopes.model.codec import decode
from scopes.model.encoding import load
from scopes.model.file_edits import touches_of_call
from scopes.model.message import Message, Part
from scopes.model.path_encoding import file_leaf
from scopes.model.tombstone import is_purged
from scopes.purge.rewrite_source import walk_records
from scopes.purge.stored_messages import walk_stored_headers
from scopes.store.repository import Repository, read_commit, read_commit_stub

_FILES: Final = frozenset({"file", "image", "file_ref"})
_TOOLS: Final = frozenset({"tool_call", "tool_result"})
_END: Final = r"(?![\w~/-])(?!\.\w)"  # no longer name, backup, or file below a directory of that name
_WRITING: Final = frozenset({"create", "edit"})


def list_held(repository: Repository, conversation: ConversationId | None, name: str) -> Mapping[str, Parts]:
    """Return the numbers of the parts that hold a file, by message, in one conversation or in all.

    name: the path of the file, or the end of it
    """
    directories = _Directories(repository)
    holders: dict[str | None, _Holder] = {}
    found: dict[MessageId, set[int]] = {}
    for root, head in walk_stored_headers(repository, conversation):
        message = decode(read_stored_body(repository, head))
        if is_purged(message):
            continue
        base = directories.find(root)
        holder = holders.setdefault(base, _Holder(repository, name, base))
        for each, number in holder.walk_held(head, message):
            found.setdefault(each, set()).add(number)
    return {each: frozenset(numbers) for each, numbers in found.items()}


def walk_other_records(repository: Repository, conversation: ConversationId | None, name: str) -> Iterator[str]:
    """Yield the purge keys of records that are not messages and name a file, in one conversation or in all.

    Agents store files that a user attached in such records. A record names a file if one of its texts is the path.
    """
    root = None if conversation is None else find_root_commit(repository, conversation)
    path = re.compile(rf"(?:.*/)?{re.escape(name)}", re.DOTALL)
    last = posixpath.basename(name).encode()
    for value in repository.list_refs(SOURCES).values():
        source = Oid(value)
        if root is not None and root not in _list_roots(read_source_record(repository, source)):
            continue
        records = walk_records(repository, read_commit_stub(repository, source).tree)
        spans = sorted({each.span for each in records if each.message is None and each.span.length})
        for data in read_spans(walk_chunks(repository, source), [(each.offset, each.length) for each in spans]):
            for record in data.splitlines() if last in data else ():
                with suppress(Corrupt):
                    if any(map(path.fullmatch, walk_texts(load(record)))):
                        yield name_of_record(record)


def _list_roots(source: SourceRecord) -> set[Oid]:
    return {source.root, *(root for _, root in source.sessions)}


class _Directories:
    """The directories in which conversations began, by their roots."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._named = {find_root_commit(repository, name): name for name in conversation_ids(repository)}
        self._found: dict[Oid, str | None] = {}

    def find(self, root: Oid | None) -> str | None:
        """Return the directory of a conversation; None if it is not known."""
        if root is None:
            return None
        if root not in self._found:
            self._found[root] = self._read(root)
        return self._found[root]

    def _read(self, root: Oid) -> str | None:
        try:
            cwd = read_root_of(self._repository, read_commit(self._repository, root), root).cwd
        except (Corrupt, NotFound):
            cwd = None
        return cwd or (find_directory(self._repository, self._named[root]) if root in self._named else None)


class _Holder:
    """Finds the parts of messages that hold a file, in a conversation that began in the directory `base`."""

    def __init__(self, repository: Repository, name: str, base: str | None) -> None:
        self._repository, self._name, self._base = repository, name, base
        self._pattern = re.compile(rf"(?<![\w.-]){re.escape(name)}{_END}")
        self._last = posixpath.basename(name)
        self._calls: set[str] = set()
        self._below = cache(self._find_below)

    def walk_held(self, head: MessageHeader, message: Message) -> Iterator[tuple[MessageId, int]]:
        """Yield the parts that hold the file, in this message or above it; parents have to come first."""
        is_held = False
        for number, part in enumerate(message.parts):
            for found in self._walk_parts(head, message, number, part):
                is_held = True
                yield found
        if not is_held and _TOOLS.isdisjoint(part.type for part in message.parts):
            yield from ((head.id, number) for number in self._walk_written(message))

    def _walk_parts(
        self, head: MessageHeader, message: Message, number: int, part: Part
    ) -> Iterator[tuple[MessageId, int]]:
        if part.fields.get("purged") is True:
            self._calls.add(str(part.fields.get("call_id")))  # a live session may bring its result later
            return
        if part.type in _FILES:
            path = part.fields.get("path")
            if isinstance(path, str) and (self._pattern.search(path) or self._is_file(path)):
                yield head.id, number
        elif part.type == "tool_call" and self._names_file(part):
            self._calls.add(str(part.fields.get("call_id")))
            yield head.id, number
        elif part.type == "tool_result" and self._may_hold(part):
            call = find_call(self._repository, head, message, number)
            if call is None:
                if part.fields.get("call_id") in self._calls:
                    yield head.id, number
            elif self._holds(call, part):
                yield head.id, number
                if call.part.fields.get("purged") is not True:
                    yield call.message, call.number

    def _may_hold(self, result: Part) -> bool:
        """Return True if a result may be about the file; a fast test before its call is looked up."""
        texts = walk_texts(result.fields.get("structured"))
        return result.fields.get("call_id") in self._calls or any(self._last in text for text in texts)

    def _holds(self, call: FoundCall, result: Part) -> bool:
        if call.part.fields.get("purged") is True:
            return True  # of this file, or of another one: nobody knows any more
        touched = (touch.path for touch in touches_of_call(call.part, result))
        return self._names_file(call.part) or any(map(self._is_file, touched))

    def _walk_written(self, message: Message) -> Iterator[int]:
        """Yield all parts of an answer whose text is equal to what was written into the file."""
        if any(touch.op in _WRITING and self._is_file(touch.path) for touch in message.files):
            yield from range(len(message.parts))

    def _is_file(self, path: str) -> bool:
        return f"/{path}".endswith(f"/{self._name}") or (
            self._name.startswith("/") and file_leaf(path, self._base) == file_leaf(self._name, self._base)
        )

    def _names_file(self, call: Part) -> bool:
        given = call.fields.get("input")
        patterns = [self._pattern, *self._below(self._base)]
        arguments = given if isinstance(given, dict) else {}
        for directory in map(arguments.get, DIRECTORIES):
            if isinstance(directory, str):
                patterns += self._below(posixpath.join(self._base or "", directory))
        texts = (*walk_texts(given), *walk_texts(call.fields.get("input_text")))
        return any(pattern.search(text) for text in texts for pattern in patterns)

    def _find_below(self, directory: str | None) -> tuple[re.Pattern[str], ...]:
        """Return patterns of the path relative to a directory; empty if the file is not below it."""
        if not directory:
            return ()
        names, above = self._name.split("/"), posixpath.normpath(directory)
        for count in range(len(names) - 1, 0, -1):
            top = "/".join(names[:count])
            if top and (above == top or (not self._name.startswith("/") and above.endswith(f"/{top}"))):
                rest = re.escape("/".join(names[count:]))
                return (re.compile(rf"(?<![\w./-])(?:\./)*{rest}{_END}"),)
        return ()
