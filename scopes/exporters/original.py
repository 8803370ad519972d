"""Export format `original`: the exact bytes of the sources that a conversation was imported from."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

from scopes.errors import Ambiguous, Corrupt, NotFound, Refused
from scopes.history.messages import is_root
from scopes.history.metadata import read_metadata
from scopes.history.names import MAIN, Revision
from scopes.history.sources import SourceRecord, list_stored_sources, read_source_record, walk_chunks, with_last_path
from scopes.ids import ConversationId, Oid
from scopes.store.graph import walk_newest_first
from scopes.store.objects import read_commit
from scopes.store.repository import Repository

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_ROWS = "#"  # before the id of a conversation whose bytes are the rows of a database
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,8}$")
_COMPRESSED = ".zst"  # compressed sources are stored decompressed
_MAX_NAME_LENGTH = 120
_IMPORTED_PATH = re.compile(
    r"(?:[^/\\]+[/\\]subagents[/\\](?:[^/\\]+[/\\]){0,4}agent-|(?<![^/\\])rollout-)[^/\\]+\Z"
)  # the end of a path from which an import reads the session or sub-agent of a file


@dataclass(frozen=True, slots=True)
class StoredSource:
    """An imported source: its record, and the commit that holds its bytes."""

    record: SourceRecord
    commit: Oid

    @property
    def label(self) -> str:
        """The native id, followed by the name of the part if the source is only a part of a session."""
        part = self.record.part
        return self.record.native_id if part is None else f"{self.record.native_id}/{part}"


def list_sources(repository: Repository, revision: Revision) -> list[StoredSource]:
    """Return the sources of a revision's conversation: whole sessions first, then parts, by label."""
    root = _find_root(repository, revision)
    sources = (StoredSource(read_source_record(repository, oid), oid) for oid in list_stored_sources(repository))
    matching = [
        replace(source, record=with_last_path(repository, source.record))
        for source in sources
        if root in {source.record.root, *source.record.more_roots}
    ]
    return sorted(matching, key=lambda source: (source.record.part is not None, source.label))


def _find_root(repository: Repository, revision: Revision) -> Oid | None:
    """Return the root commit of a conversation: from its metadata, or else by walking its history."""
    main = read_metadata(repository, revision.conversation).branches.get(MAIN)
    if main is not None and main.fork is not None and repository.has(main.fork):
        commit = read_commit(repository, main.fork)
        if is_root(commit):
            return commit.oid
    return next((commit.oid for commit in walk_newest_first(repository, [revision.oid]) if is_root(commit)), None)


def choose_sources(sources: list[StoredSource], conversation: ConversationId, name: str | None) -> list[StoredSource]:
    """Return all sources or, with `name`, the one whose label or part is or begins with it.

    Raises:
        Refused: the conversation was not imported.
        NotFound, Ambiguous: no source matches the name, or several do.
    """
    if not sources:
        hint = "its messages: --format jsonl, or everything: --format json"
        raise Refused(f"{conversation} has no original bytes: no source of it was imported", hint=hint)
    if name is None:
        return sources
    labels = ", ".join(source.label for source in sources[:8])
    exact = [source for source in sources if name in {source.label, source.record.part}]
    matching = exact or [s for s in sources if s.label.startswith(name) or (s.record.part or "").startswith(name)]
    if not matching:
        raise NotFound(f"{conversation} has no source {name!a}", hint=f"sources: {labels}")
    if len(matching) > 1:
        raise Ambiguous(f"{name!a} matches several sources of {conversation}", hint=f"sources: {labels}")
    return matching


def name_files(sources: list[StoredSource]) -> Iterator[tuple[str, StoredSource]]:
    """Yield each source with a unique file name that is valid on every file system; the extension is kept.

    If the import read the session or sub-agent of a file from its path, the name keeps those directories, so that the
    file can be imported again with the same result.
    """
    taken: set[str] = set()
    for source in sources:
        stem, extension = _file_name(source)
        count = 1
        while (name := stem + (f"-{count}" if count > 1 else "") + extension).casefold() in taken:
            count += 1
        taken.add(name.casefold())
        yield name, source


def _file_name(source: StoredSource) -> tuple[str, str]:
    """Return the name of a source's file without its extension, and the extension."""
    path = source.record.file_name.removesuffix(_COMPRESSED)
    imported_path = _IMPORTED_PATH.search(path)
    match = _EXTENSION.search(os.path.basename(path))
    extension = match[0] if match is not None else ".jsonl" if _ROWS in os.path.basename(path) else ""
    stem = source.label.replace("/", ".") if imported_path is None else imported_path[0].removesuffix(extension)
    parts = stem.replace("\\", "/").split("/")
    safe = [_UNSAFE.sub("-", part).strip("-.")[:_MAX_NAME_LENGTH] or "source" for part in parts]
    return "/".join(safe), extension


def walk_bytes(repository: Repository, source: StoredSource) -> Iterator[bytes]:
    """Yield the bytes of a source in chunks; compare them with its digest at the end.

    Raises:
        Corrupt: the digest differs, after all bytes were yielded.
        Refused: parts of it were purged.
    """
    if source.record.purged:
        raise Refused(f"parts of {source.label} were purged", hint="export the messages: --format jsonl")
    digest = sha256()
    for chunk in walk_chunks(repository, source.commit):
        digest.update(chunk)
        yield chunk
    if digest.hexdigest() != source.record.digest:
        raise Corrupt(f"the bytes of {source.label} are not those that were imported", hint="see: scopes verify")
