"""Check that original files from a remote are stored as scopes stores them, and belong to a conversation.

A set may have only its sources, and a source only its bytes, the segments that they became, and a description. The
description must not have a path, because exports make file names out of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

from scopes.errors import Corrupt, NotFound
from scopes.history.sources import (
    CHUNKS,
    DESCRIPTION_FILE,
    SEGMENTS,
    SET_FILE,
    Purged,
    SourceInSet,
    read_handover,
    read_source_record,
)
from scopes.ids import Oid, is_message_id, is_oid
from scopes.importers.purged_texts import Span, blank_records
from scopes.model import canonical_json
from scopes.model.message import PURGED_TEXT
from scopes.store.objects import (
    BLOB,
    COMMIT,
    DIRECTORY_MODE,
    FILE_MODE,
    TREE,
    Commit,
    Objects,
    TreeEntry,
    list_modes,
    parse_commit,
    parse_tree,
    read_data,
)
from scopes.sync.content_check import load_shallow
from scopes.sync.exact_commits import check_exact
from scopes.sync.outgoing_sources import describe_set, format_set, format_source

MAX_SOURCES: Final = 10_000  # of a conversation
_MAX_NAME: Final = 1000
_FOLDERS: Final = {CHUNKS.rstrip("/"), SEGMENTS.rstrip("/")}
_REQUIRED: Final[Mapping[str, type]] = {
    "v": int, "format": str, "native_id": str, "size": int, "sha256": str, "parser": int, "essence": str, "root": str,
}  # fmt: skip
_OPTIONAL: Final[Mapping[str, type]] = {
    "part": str, "base": str, "joined": str, "purged": bool, "sessions": list, "handover": dict,
}  # fmt: skip
_SEGMENT: Final[Mapping[str, type]] = {
    "offset": int, "length": int, "message": str, "state": str, "unparsed": str, "native": list,
}  # fmt: skip


class SourceCheck:
    """Checks one set of original files; `visited` has its objects afterwards."""

    def __init__(self, objects: Objects, purged: Purged, cure: str) -> None:
        self._objects = objects
        self._purged = purged
        self._cure = cure
        self.visited: set[Oid] = set()

    def check(self, oid: Oid, root: Oid, *, has_conversation: bool = True) -> list[SourceInSet]:
        """Return the sources of a set that belongs to the conversation with a root.

        has_conversation: whether the conversation was fetched, too, or is here

        Raises:
            Corrupt: it is not as scopes writes it.
        """
        if not has_conversation:
            raise Corrupt(f"the remote has original files of {root[:12]}, and no such conversation")
        try:
            return self._check(oid, root)
        except (Corrupt, NotFound) as error:
            raise Corrupt(f"the original files of {root[:12]} are not acceptable: {error.message}") from error

    def _check(self, oid: Oid, root: Oid) -> list[SourceInSet]:
        commit, data = self._read_commit(oid)
        check_exact(oid, data, format_set(commit.tree, commit.parents, commit.time))
        files = self._read_files(commit.tree)
        if files.keys() != {SET_FILE} or self._read_blob(files[SET_FILE]) != describe_set(root):
            raise Corrupt("they do not name the conversation")
        if not 0 < len(commit.parents) <= MAX_SOURCES:
            raise Corrupt(f"there are {len(commit.parents):,} of them; at most {MAX_SOURCES:,} are taken")
        sources = [self._check_source(parent, root) for parent in commit.parents]
        keys = [source.key for source in sources]
        if keys != sorted(set(keys)):
            raise Corrupt("they are not in order, or one is there twice")
        return sources

    def _check_source(self, oid: Oid, root: Oid) -> SourceInSet:
        commit, data = self._read_commit(oid)
        entries = self._read_tree(commit.tree, {FILE_MODE, DIRECTORY_MODE})
        folders = {name for name, entry in entries.items() if entry.is_tree}
        if entries.keys() - folders != {DESCRIPTION_FILE} or not folders <= _FOLDERS:
            raise Corrupt(f"source {oid} has other files")
        check_description(self._read_blob(entries[DESCRIPTION_FILE].oid))
        record = read_source_record(self._objects, oid)
        if root not in {record.root, *record.more_roots}:
            raise Corrupt(f"source {oid} belongs to another conversation")
        is_masked = commit.subject == PURGED_TEXT
        check_exact(oid, data, format_source(commit.tree, record, commit.time, PURGED_TEXT if is_masked else None))
        chunks = self._list_numbered(entries, CHUNKS, "{:06d}")
        pages = self._list_numbered(entries, SEGMENTS, "{:06d}.jsonl")
        purged = list(self._check_segments(pages, record.size))
        self._check_bytes(chunks, record.size, None if record.purged else record.digest, purged)
        return SourceInSet(oid, record)

    def _list_numbered(self, entries: Mapping[str, TreeEntry], folder: str, name: str) -> list[Oid]:
        """Return the files of a directory in their order; their names must be numbers without a gap."""
        entry = entries.get(folder.rstrip("/"))
        files = {} if entry is None else self._read_files(entry.oid)
        if [*files] != [name.format(number) for number in range(len(files))]:
            raise Corrupt(f"{folder} has other files")
        self.visited.update(files.values())
        return [*files.values()]

    def _check_segments(self, pages: list[Oid], size: int) -> Iterator[Span]:
        """Check the segments of each record, and yield the byte ranges of messages that were purged here."""
        for page in pages:
            data = read_data(self._objects, page, BLOB)
            if not data.endswith(b"\n"):
                raise Corrupt("a list of records is cut")
            for line in data.splitlines():
                document = load_shallow(line)
                _check_fields(document, {"offset": int, "length": int}, _SEGMENT)
                span, message = Span(document["offset"], document["length"]), document.get("message")
                if min(span) < 0 or sum(span) > size:
                    raise Corrupt("a record is not in the file")
                if message is not None and not is_message_id(message):
                    raise Corrupt("a record became no message")
                if not all(isinstance(each, str) for each in document.get("native", ())):
                    raise Corrupt("a record has names that are not text")
                if message is not None and self._purged.has_message(message):
                    yield span

    def _check_bytes(self, chunks: list[Oid], size: int, digest: str | None, purged: list[Span]) -> None:
        found, length = sha256(), 0
        pieces = (read_data(self._objects, chunk, BLOB) for chunk in chunks)
        for chunk in pieces:
            found.update(chunk)
            length += len(chunk)
        if length != size or (digest is not None and found.hexdigest() != digest):
            raise Corrupt("the bytes are not those that the description names")
        if purged:
            before = (read_data(self._objects, chunk, BLOB) for chunk in chunks)
            after = blank_records((read_data(self._objects, chunk, BLOB) for chunk in chunks), sorted(purged))
            if any(left != right for left, right in zip(before, after, strict=True)):
                raise Corrupt(f"they have a message that was purged here; {self._cure}")

    def _read_commit(self, oid: Oid) -> tuple[Commit, bytes]:
        kind, data = self._objects.read(oid)
        if kind != COMMIT:
            raise Corrupt(f"{oid} is not a commit")
        self.visited.add(oid)
        return parse_commit(oid, data), data

    def _read_files(self, oid: Oid) -> dict[str, Oid]:
        """Read a tree that has only files."""
        return {name: entry.oid for name, entry in self._read_tree(oid, {FILE_MODE}).items()}

    def _read_tree(self, oid: Oid, modes: Collection[bytes]) -> dict[str, TreeEntry]:
        """Read a tree whose entries all have one of some modes."""
        self.visited.add(oid)
        data = read_data(self._objects, oid, TREE)
        if not list_modes(data) <= {*modes}:
            raise Corrupt(f"the tree {oid} has an entry that is not allowed there")
        return parse_tree(data)

    def _read_blob(self, oid: Oid) -> bytes:
        self.visited.add(oid)
        return read_data(self._objects, oid, BLOB)


def check_description(data: bytes) -> None:
    """Check the description of a source: it has the fields that scopes writes, and no path.

    Raises:
        Corrupt: it is something else.
    """
    document = load_shallow(data)
    _check_fields(document, _REQUIRED, {**_REQUIRED, **_OPTIONAL})
    texts = [value for value in document.values() if isinstance(value, str)]
    if canonical_json.dump(document) != data or any(len(text) > _MAX_NAME for text in texts):
        raise Corrupt("the description of a source is not as scopes writes it")
    if document["size"] < 0 or not is_oid(document["root"]):
        raise Corrupt("the description of a source has no size or no conversation")
    if "handover" in document and read_handover(document["handover"]) is None:
        raise Corrupt("the description of a source does not name the session that it was written from")
    for session in document.get("sessions", ()):
        match session:
            case [str(), str(root)] if is_oid(root):
                continue
        raise Corrupt("the description of a source has an invalid session")


def _check_fields(document: Any, required: Mapping[str, type], allowed: Mapping[str, type]) -> None:
    if not isinstance(document, dict) or not required.keys() <= document.keys() <= allowed.keys():
        raise Corrupt("a description has other fields")
    if any(type(value) is not allowed[name] for name, value in document.items()):
        raise Corrupt("a description has a field of another type")
