"""Find the parts of messages that hold a file: the file itself, tool calls that name it, and their results.

A call names a file by its path, as `file_names` finds it. Other ways to name it, such as `cat conf/*` or a variable of
a script, are not found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from scopes.errors import Corrupt, NotFound
from scopes.history.activity import FoundCall, find_call
from scopes.history.messages import MessageHeader, read_root_of, read_stored_body
from scopes.history.names import conversation_ids, find_directory, find_root_commit
from scopes.history.sources import (
    SOURCES,
    Parts,
    SourceRecord,
    name_of_record,
    read_source_record,
    read_spans,
    walk_chunks,
)
from scopes.ids import ConversationId, MessageId, Oid
from scopes.importers.purged_texts import walk_named_texts, walk_texts
from scopes.model.canonical_json import load
from scopes.model.message import Message, Part, decode, is_purged
from scopes.model.tools import (
    FILE_PATHS,
    READ_FILE,
    command_of,
    directories_of_command,
    edits_of_call,
    touches_of_call,
)
from scopes.purge.file_names import FileName
from scopes.purge.rewrite_source import walk_records
from scopes.purge.stored_messages import walk_stored_headers
from scopes.store.objects import read_commit
from scopes.store.repository import Repository

_FILES: Final = frozenset({"file", "image", "file_ref"})
_TOOLS: Final = frozenset({"tool_call", "tool_result"})
_WRITING: Final = frozenset({"create", "edit"})


def list_held(repository: Repository, conversation: ConversationId | None, name: str) -> Mapping[str, Parts]:
    """Return the numbers of the parts that hold a file, by message, in one conversation or in all.

    name: the path of the file, or the end of it
    """
    file, directories = FileName(name), _Directories(repository)
    holders: dict[Oid | None, _Holder] = {}
    found: dict[MessageId, set[int]] = {}
    for root, head in walk_stored_headers(repository, conversation):
        message = decode(read_stored_body(repository, head))
        if is_purged(message):
            continue
        if root not in holders:
            holders[root] = _Holder(repository, file, directories.find(root))
        for each, number in holders[root].walk_held(head, message):
            found.setdefault(each, set()).add(number)
    return {each: frozenset(numbers) for each, numbers in found.items()}


def walk_other_records(repository: Repository, conversation: ConversationId | None, name: str) -> Iterator[str]:
    """Yield the purge keys of records that are not messages and name a file, in one conversation or in all.

    Agents store files that a user attached in such records. A record names a file if one of its values is the path.
    """
    root = None if conversation is None else find_root_commit(repository, conversation)
    file, directories = FileName(name), _Directories(repository)
    for value in repository.list_refs(SOURCES).values():
        source = Oid(value)
        own = read_source_record(repository, source)
        if root is not None and root not in _list_roots(own):
            continue
        find_base = partial(directories.find, own.root)
        records = walk_records(repository, read_commit(repository, source).tree)
        spans = sorted({each.span for each in records if each.message is None and each.span.length})
        for data in read_spans(walk_chunks(repository, source), [(each.offset, each.length) for each in spans]):
            for record in data.splitlines() if file.may_be_in_bytes(data) else ():
                with suppress(Corrupt):
                    if _is_record_of(file, load(record), find_base):
                        yield name_of_record(record)


def _is_record_of(file: FileName, record: Any, find_directory: Callable[[], str | None]) -> bool:
    """Return True if a value in a record is the path of a file; relative paths begin in its directory."""
    named = [(name, text) for name, text in walk_named_texts(record) if file.may_be_in(text)]
    if not named:
        return False
    own = record.get("cwd") if isinstance(record, dict) else None
    directory = own if isinstance(own, str) and own else find_directory()
    return any(file.is_value(name, text, directory) for name, text in named)


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

    def __init__(self, repository: Repository, file: FileName, base: str | None) -> None:
        self._repository, self._file, self._base = repository, file, base
        self._held: set[tuple[MessageId, int]] = set()
        self._call_ids: set[object] = set()

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
        directory = self._directory_of(message)
        if part.fields.get("purged") is True:
            if part.type == "tool_call":  # a live session may bring its result later
                self._call_ids.add(part.fields.get("call_id"))
        elif part.type in _FILES:
            path = part.fields.get("path")
            if isinstance(path, str) and self._file.is_path(path, directory):
                yield head.id, number
        elif part.type == "tool_call" and self._is_named_by(part, directory):
            self._call_ids.add(part.fields.get("call_id"))
            self._held.add((head.id, number))
            yield head.id, number
        elif part.type == "tool_result" and self._may_hold(part):
            call = find_call(self._repository, head, message, number)
            if self._holds(call, part, directory):
                yield head.id, number
                if call is not None and call.part.fields.get("purged") is not True:
                    yield call.message, call.number

    def _directory_of(self, message: Message) -> str | None:
        """Return the directory in which a message was written."""
        directory = message.extra.get("cwd")
        return directory if isinstance(directory, str) and directory else self._base

    def _may_hold(self, result: Part) -> bool:
        """Return True if a result may be about the file; a fast test before its call is looked up."""
        texts = walk_texts(result.fields.get("structured"))
        return result.fields.get("call_id") in self._call_ids or any(map(self._file.may_be_in, texts))

    def _holds(self, call: FoundCall | None, result: Part, directory: str | None) -> bool:
        """Return True if a result holds the file.

        The call of a result may be purged, or too far above. The result then holds the file that it names itself. If it
        names none, it counts as the result of a call that holds or held the file: it would have been purged with the
        call if it had been there. It is not known which file that was. If the call had another result, which was purged
        with it, this one belongs to another call with the same id.
        """
        if call is not None and (call.message, call.number) in self._held:
            return True
        named = list(_walk_paths(result))
        if call is not None:
            named += [touch.path for touch in touches_of_call(call.part, result)]
        if any(self._file.is_path(path, directory) for path in named):
            return True
        if call is None:
            return not named and result.fields.get("call_id") in self._call_ids
        return call.part.fields.get("purged") is True and not named and not call.has_purged_result

    def _walk_written(self, message: Message) -> Iterator[int]:
        """Yield all parts of an answer whose text is equal to what was written into the file."""
        directory = self._directory_of(message)
        if any(touch.op in _WRITING and self._file.is_path(touch.path, directory) for touch in message.files):
            yield from range(len(message.parts))

    def _is_named_by(self, call: Part, directory: str | None) -> bool:
        given = call.fields.get("input")
        texts = [*walk_named_texts(given), *walk_named_texts(call.fields.get("input_text"))]
        if not any(self._file.may_be_in(text) for _, text in texts):
            return False
        here = next((self._file.resolve(each, directory) for each in directories_of_command(call)), directory)
        command = command_of(call)
        return (
            any(self._file.is_in(text, here) or self._file.is_value(name, text, here) for name, text in texts)
            or (command is not None and self._file.is_in(command, here, is_command=True))
            or any(self._file.is_path(edit.path, here) for edit in edits_of_call(call, {}))
        )


def _walk_paths(result: Part) -> Iterator[str]:
    """Yield the paths of files in the fields of a structured result that say which file it is about."""
    structured = result.fields.get("structured")
    if isinstance(structured, Mapping):
        for document in (structured, structured.get(READ_FILE)):
            if isinstance(document, Mapping):
                yield from (path for name in FILE_PATHS if isinstance(path := document.get(name), str) and path)
