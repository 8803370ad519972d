"""`export`: write a conversation in one of the export formats, in bounded memory.

What is written passes a gate for secrets: stored messages, original lines, and at the end every piece of the text.
Messages are redacted as they are read, before they are formatted: in Markdown a key may have backslashes in it. Every
piece passes the gate again, for titles, names and everything else that is not a message. The format `original`, the
exact bytes of the sources that a conversation was imported from, is written here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Final, Literal, TypeAlias, get_args

from scopes.errors import Ambiguous, Corrupt, Invalid, NotFound, Refused
from scopes.exporters.atif import write_atif
from scopes.exporters.json_export import write_json, write_json_lines
from scopes.exporters.markdown import write_markdown
from scopes.exporters.openai import write_openai
from scopes.exporters.otel import write_otel
from scopes.exporters.selection import ExportSelection, add_sub_agents, select_messages
from scopes.history.messages import is_root, read_stored_body
from scopes.history.metadata import read_metadata
from scopes.history.names import MAIN, Revision, resolve_revision
from scopes.history.sources import SourceRecord, list_stored_sources, read_source_record, walk_chunks, with_last_path
from scopes.ids import ConversationId, Oid
from scopes.merge.in_progress import resolution_branch_notes
from scopes.model import canonical_json
from scopes.result import RawDocument
from scopes.secret_scan.clearance import Cleared, Gate, Mode
from scopes.secrets.gates import gate_of, redacting
from scopes.store.graph import walk_newest_first
from scopes.store.objects import read_commit
from scopes.store.repository import Prunes, Repository
from scopes.store.transactions import unless_pruned

Writer: TypeAlias = Callable[[Repository, ExportSelection], Iterator[bytes]]
ExportFormat: TypeAlias = Literal["markdown", "json", "jsonl", "html", "openai", "atif", "otel", "original"]
FORMATS: tuple[str, ...] = get_args(ExportFormat)
ORIGINAL: Final = "original"
OPENAI: Final = "openai"
ATIF: Final = "atif"
ONE_BRANCH: Final = {OPENAI: "a list of OpenAI messages holds one branch", ATIF: "a trajectory holds one branch"}
FindVersions: TypeAlias = Callable[[Repository, Container[Oid]], dict[Oid, str]]


def _write_html(repository: Repository, selection: ExportSelection) -> Iterator[bytes]:
    """Write a page; the parser of Markdown is only imported for it."""
    from scopes.exporters.html.page import write_html

    return write_html(repository, selection)


_WRITERS: Final[dict[str, tuple[Writer, str]]] = {  # with the extension of the file
    "markdown": (write_markdown, ".md"),
    "html": (_write_html, ".html"),
    "json": (write_json, ".json"),
    "jsonl": (write_json_lines, ".jsonl"),
    OPENAI: (write_openai, ".json"),
    ATIF: (write_atif, ".atif.json"),
    "otel": (write_otel, ".otlp.jsonl"),
}
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_ROWS: Final = "#"  # before the id of a conversation whose bytes are the rows of a database
_EXTENSION: Final = re.compile(r"\.[A-Za-z0-9]{1,8}$")
_COMPRESSED: Final = ".zst"  # compressed sources are stored decompressed
_MAX_NAME_LENGTH: Final = 120
_IMPORTED_PATH: Final = re.compile(
    r"(?:[^/\\]+[/\\]subagents[/\\](?:[^/\\]+[/\\]){0,4}agent-|(?<![^/\\])rollout-)[^/\\]+\Z"
)  # the end of a path from which an import reads the session or sub-agent of a file


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """One file of an export: its suggested name, its content, and the label of the source it is a copy of.

    `pieces` can be iterated only once.
    """

    name: str
    source: str | None
    pieces: Iterable[Cleared]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported(RawDocument):
    """An exported conversation; `messages` is their number, None for original bytes, which may be several files.

    `gate` counts what it replaces while the content is iterated. `unless_purged` holds off a purge while a file with
    the content gets its name, and raises Busy if one has run since the messages were chosen.
    """

    conversation: ConversationId
    format: str
    messages: int | None
    files: tuple[ExportedFile, ...]
    gate: Gate | None = None
    unless_purged: Callable[[], AbstractContextManager[None]] = nullcontext

    @property
    def pieces(self) -> Iterable[bytes]:
        """The content of the only file.

        Raises:
            Refused: there are several files.
        """
        if len(self.files) > 1:
            names = ", ".join(str(file.source) for file in self.files[:8])
            raise Refused(
                f"{self.conversation} was imported from {len(self.files)} files, and output is one",
                hint=f"write them into a directory with --output, or choose with --source: {names}",
            )
        return (piece.data for piece in self.files[0].pieces)


def export(
    repository: Repository,
    where: str,
    *,
    format_name: str,
    all_branches: bool = False,
    source: str | None = None,
    secrets: Mode = "refuse",
    find_versions: FindVersions | None = None,
) -> Exported:
    """Export the history of the revision `where`, or every branch; message bodies are read as the content is iterated.

    `source` chooses one of several original files. `find_versions` finds the versions of agents, which ATIF has, by the
    last commits of their sessions. `secrets` says what becomes of an export that has some.

    Raises:
        NotFound, Ambiguous, Invalid: the revision, the format or the source cannot be resolved.
        Refused: there are no original bytes, or the format needs a package that is not installed.
        SecretsFound: there are possible secrets, and they are refused.
    """
    gate, prunes = gate_of(repository, secrets), Prunes(repository.path)
    unless_purged = partial(unless_pruned, repository, prunes)
    if format_name == ORIGINAL:
        return replace(_export_original(repository, where, source, gate), unless_purged=unless_purged)
    if format_name not in _WRITERS:
        raise Invalid(f"{format_name!a} is not a valid export format", hint=f"formats: {', '.join(FORMATS)}")
    if source is not None:
        raise Invalid("only original bytes have a source to choose", hint=f"add --format {ORIGINAL}")
    if format_name in ONE_BRANCH and all_branches:
        raise Invalid(ONE_BRANCH[format_name], hint="name the branch: CONV/BRANCH")
    selection = select_messages(repository, where, all_branches=all_branches)
    if format_name == ATIF:
        add_sub_agents(repository, selection)
        selection.versions = {} if find_versions is None else find_versions(repository, selection.ids)
    inspect_selection(repository, selection, gate)
    clear_names(selection, gate)
    write, extension = _WRITERS[format_name]
    pieces = clear_pieces(repository, gate, write(repository, selection), f"the text about {selection.view.id}")
    return Exported(
        conversation=selection.view.id,
        format=format_name,
        messages=selection.size,
        files=(ExportedFile(selection.view.id + extension, None, pieces),),
        gate=gate,
        unless_purged=unless_purged,
        notes=()
        if all_branches
        else resolution_branch_notes(repository, resolve_revision(repository, where), where, "export"),
    )


def inspect_selection(repository: Repository, selection: ExportSelection, gate: Gate) -> None:
    """Refuse an export with secrets before anything of it is written.

    Raises:
        SecretsFound: a message, the title or a name has one.
    """
    if gate.mode != "refuse":
        return
    view = selection.view
    names: list[canonical_json.Json] = [view.title, *map(str, view.participants)]
    names += [str(field) for row in view.branches for field in (row.name, row.purpose, row.agent)]
    gate.inspect(canonical_json.dump(names), f"the title or a name of {view.id}")
    for head in selection.heads:
        gate.inspect(read_stored_body(repository, head), f"message {head.id[:8]}")
    gate.refuse_leaks()


def clear_names(selection: ExportSelection, gate: Gate) -> None:
    """Replace secrets in the title and in what branches are called; a limit may have cut them, as it cuts subjects.

    Raises:
        SecretsFound: one is there, and it is refused.
    """
    view, where = selection.view, f"the title or a name of {selection.view.id}"

    def clear(text: str | None) -> str | None:
        return None if text is None else gate.clear_name(text, where)

    branches = tuple(replace(row, purpose=clear(row.purpose)) for row in view.branches)
    selection.versions = {oid: gate.clear_name(text, where) for oid, text in selection.versions.items()}
    selection.view = replace(view, title=clear(view.title), branches=branches)


def clear_pieces(repository: Repository, gate: Gate, pieces: Iterable[bytes], place: str) -> Iterator[Cleared]:
    """Yield the pieces of a text that is written from stored messages.

    Raises:
        SecretsFound: one has a secret, and it is refused.
    """
    with redacting(repository, gate):
        for piece in pieces:
            yield gate.clear(piece, place)


def inspect_source(chunks: Iterable[bytes], label: str, gate: Gate) -> None:
    """Remember the secrets in an original file; `refuse_leaks` of the gate names them."""
    for number, line in enumerate(_lines(chunks), 1):
        gate.inspect(line, f"line {number} of {label}")


def clear_source(chunks: Iterable[bytes], label: str, gate: Gate) -> Iterator[Cleared]:
    """Yield the lines of an original file; a line of JSON is parsed to be redacted, and written again.

    Raises:
        SecretsFound: one has a secret, and it is refused.
        Refused: it is to be redacted, but is not text.
    """
    for number, line in enumerate(_lines(chunks), 1):
        cleared = gate.clear_line(line, f"line {number} of {label}")
        if cleared is not line and b"\0" in line:
            raise Refused(f"{label} is not text, so nothing in it can be replaced", hint="leave it out, with --source")
        yield gate.clear(cleared, f"line {number} of {label}")


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines with their ends."""
    pieces: list[bytes] = []
    for chunk in chunks:
        *ended, last = chunk.split(b"\n")
        for line in ended:
            yield b"".join((*pieces, line, b"\n"))
            pieces = []
        pieces.append(last)
    rest = b"".join(pieces)
    if rest:
        yield rest


def _export_original(repository: Repository, where: str, source_name: str | None, gate: Gate) -> Exported:
    revision = resolve_revision(repository, where)
    sources = choose_sources(list_sources(repository, revision), revision.conversation, source_name)
    for source in sources if gate.mode == "refuse" else ():
        inspect_source(walk_bytes(repository, source), source.label, gate)
    gate.refuse_leaks()
    files = (
        ExportedFile(name, source.label, clear_source(walk_bytes(repository, source), source.label, gate))
        for name, source in name_files(sources)
    )
    return Exported(conversation=revision.conversation, format=ORIGINAL, messages=None, files=tuple(files), gate=gate)


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
