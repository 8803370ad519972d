"""`original`: the bytes of the sources that a conversation was imported from, exactly."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from scopes.errors import Ambiguous, Corrupt, NotFound, Refused
from scopes.history.messages import is_root
from scopes.history.metadata import read_metadata
from scopes.history.revparse import MAIN, Revision
from scopes.history.sources import SOURCES, SourceRecord, read_source_record, walk_chunks
from scopes.ids import ConversationId, Oid
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Repository, read_commit

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_ENDING = re.compile(r"\.[A-Za-z0-9]{1,8}$")
_COMPRESSED = ".zst"  # such sources are kept unpacked
_LONGEST_NAME = 120
_TELLING = re.compile(
    r"(?:[^/\\]+[/\\]subagents[/\\](?:[^/\\]+[/\\]){0,4}agent-|(?<![^/\\])rollout-)[^/\\]+\Z"
)  # the end of a path from which an import learns whose history a file is


@dataclass(frozen=True, slots=True)
class StoredSource:
    """An imported source: its description and where its bytes are."""

    record: SourceRecord
    commit: Oid

    @property
    def label(self) -> str:
        """What it is called by: its native id and, where it is only a part of a session, the part's name."""
        part = self.record.part
        return self.record.native_id if part is None else f"{self.record.native_id}/{part}"


def list_sources(repository: Repository, place: Revision) -> list[StoredSource]:
    """Return the sources that went into the conversation of a place: whole sessions first, by name."""
    root = _find_root(repository, place)
    stored = (Oid(commit) for commit in repository.list_refs(SOURCES).values())
    sources = (StoredSource(read_source_record(repository, oid), oid) for oid in stored)
    found = [source for source in sources if root in {source.record.root, *source.record.more_roots}]
    return sorted(found, key=lambda source: (source.record.part is not None, source.label))


def _find_root(repository: Repository, place: Revision) -> Oid | None:
    """Find where a conversation begins: its metadata says so, or else the walk ends there."""
    main = read_metadata(repository, place.conversation).branches.get(MAIN)
    if main is not None and main.fork is not None and repository.has(main.fork):
        commit = read_commit(repository, main.fork)
        if is_root(commit):
            return commit.oid
    return next((commit.oid for commit in walk_newest_first(repository, [place.oid]) if is_root(commit)), None)


def choose_sources(sources: list[StoredSource], conversation: ConversationId, name: str | None) -> list[StoredSource]:
    """Return the sources that are meant: all of them, or the one whose label or part begins with `name`.

    Raises:
        Refused: the conversation was not imported.
        NotFound, Ambiguous: no source has that name, or several do.
    """
    if not sources:
        hint = "its messages: --format jsonl, or everything: --format json"
        raise Refused(f"{conversation} has no original bytes: no source of it was imported", hint=hint)
    if name is None:
        return sources
    labels = ", ".join(source.label for source in sources[:8])
    exact = [source for source in sources if name in {source.label, source.record.part}]
    found = exact or [s for s in sources if s.label.startswith(name) or (s.record.part or "").startswith(name)]
    if not found:
        raise NotFound(f"{conversation} has no source {name!a}", hint=f"sources: {labels}")
    if len(found) > 1:
        raise Ambiguous(f"{name!a} fits several sources of {conversation}", hint=f"sources: {labels}")
    return found


def name_files(sources: list[StoredSource]) -> Iterator[tuple[str, StoredSource]]:
    """Yield each source with a name that every file system takes and no other has, with the ending it had.

    Where a file lay among others says more than its records, it lies there again, so that it can be imported as it was.
    """
    taken: set[str] = set()
    for source in sources:
        stem, tail = _name_of(source)
        count = 1
        while (name := stem + (f"-{count}" if count > 1 else "") + tail).casefold() in taken:
            count += 1
        taken.add(name.casefold())
        yield name, source


def _name_of(source: StoredSource) -> tuple[str, str]:
    """Return the name of a source's file, and its ending."""
    path = source.record.path.removesuffix(_COMPRESSED)
    found = _TELLING.search(path)
    ending = _ENDING.search(os.path.basename(path))
    tail = ending[0] if ending is not None else ""
    wanted = source.label.replace("/", ".") if found is None else found[0].removesuffix(tail)
    parts = wanted.replace("\\", "/").split("/")
    safe = [_UNSAFE.sub("-", part).strip("-.")[:_LONGEST_NAME] or "source" for part in parts]
    return "/".join(safe), tail


def walk_bytes(repository: Repository, source: StoredSource) -> Iterator[bytes]:
    """Yield the bytes of a source, and compare them with its digest at the end.

    Raises:
        Corrupt: they are not what was imported.
    """
    digest = sha256()
    for chunk in walk_chunks(repository, source.commit):
        digest.update(chunk)
        yield chunk
    if digest.hexdigest() != source.record.digest:
        raise Corrupt(f"the bytes of {source.label} are not those that were imported", hint="see: scopes verify")
