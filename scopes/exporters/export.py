"""`export`: write a conversation in one of the export formats, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias, get_args

from scopes.errors import Invalid, Refused
from scopes.exporters.a2a import write_a2a
from scopes.exporters.atif import write_atif
from scopes.exporters.cleared_pieces import clear_names, clear_pieces, clear_source, inspect_selection, inspect_source
from scopes.exporters.json_export import write_json, write_json_lines
from scopes.exporters.markdown import write_markdown
from scopes.exporters.openai import write_openai
from scopes.exporters.original import choose_sources, list_sources, name_files, walk_bytes
from scopes.exporters.otel import write_otel
from scopes.exporters.selection import ExportSelection, add_sub_agents, select_messages
from scopes.history.names import resolve_revision
from scopes.ids import ConversationId, Oid
from scopes.merge.in_progress import resolution_branch_notes
from scopes.result import RawDocument
from scopes.secret_scan.clearance import Cleared, Gate, Mode
from scopes.secrets.gates import gate_of
from scopes.store.repository import Prunes, Repository
from scopes.store.transactions import unless_pruned

Writer: TypeAlias = Callable[[Repository, ExportSelection], Iterator[bytes]]

ExportFormat: TypeAlias = Literal[
    "markdown", "json", "jsonl", "html", "openai", "atif", "otel", "a2a", "parquet", "original"
]
FORMATS: tuple[str, ...] = get_args(ExportFormat)
ORIGINAL = "original"
HTML = "html"
PARQUET = "parquet"
OPENAI = "openai"
ATIF = "atif"
ONE_BRANCH = {OPENAI: "a list of OpenAI messages holds one branch", ATIF: "a trajectory holds one branch"}


def _write_html(repository: Repository, selection: ExportSelection) -> Iterator[bytes]:
    """Write a page; the parser of Markdown is only imported for it."""
    from scopes.exporters.html.page import write_html

    writer: Writer = write_html
    return writer(repository, selection)


FindVersions: TypeAlias = Callable[[Repository, Container[Oid]], dict[Oid, str]]
_WRITERS: dict[str, tuple[Writer, str]] = {  # with the extension of the file
    "markdown": (write_markdown, ".md"),
    HTML: (_write_html, ".html"),
    "json": (write_json, ".json"),
    "jsonl": (write_json_lines, ".jsonl"),
    OPENAI: (write_openai, ".json"),
    ATIF: (write_atif, ".atif.json"),
    "a2a": (write_a2a, ".a2a.jsonl"),
    "otel": (write_otel, ".otlp.jsonl"),
}


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
    if format_name not in _WRITERS and format_name != PARQUET:
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
    file = _write(repository, selection, format_name, gate)
    revision = resolve_revision(repository, where)
    return Exported(
        conversation=selection.view.id,
        format=format_name,
        messages=selection.size,
        files=(file,),
        gate=gate,
        unless_purged=unless_purged,
        notes=() if all_branches else resolution_branch_notes(repository, revision, where, "export"),
    )


def _write(repository: Repository, selection: ExportSelection, format_name: str, gate: Gate) -> ExportedFile:
    if format_name == PARQUET:
        from scopes.exporters.parquet import require_pyarrow

        require_pyarrow()
        from scopes.exporters.parquet import write_parquet

        rows: Iterator[Cleared] = write_parquet(repository, selection, gate)
        return ExportedFile(f"{selection.view.id}.parquet", None, rows)
    write, extension = _WRITERS[format_name]
    pieces = clear_pieces(repository, gate, write(repository, selection), f"the text about {selection.view.id}")
    return ExportedFile(selection.view.id + extension, None, pieces)


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
