"""Export all conversations as a site: a page for each, and an index that is searched by title, agent, project and date.

A new site is written into a temporary directory next to the final one, and renamed when it is complete. In an existing
directory each page is replaced when it is complete, and the index comes last; pages of deleted conversations stay.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from typing import Final, NamedTuple

from scopes.errors import Corrupt, Inaccessible, NotFound, Refused
from scopes.exporters.atomic_save import SiteSaved, check_target, write_file
from scopes.exporters.export import clear_names, clear_pieces, inspect_selection
from scopes.exporters.html.page import Overview, page_frame, project_of, write_page
from scopes.exporters.html.template import Template, join
from scopes.exporters.html.usage_chart import UsageCounter
from scopes.exporters.json_export import utf8
from scopes.exporters.selection import select_messages
from scopes.history.names import conversation_ids
from scopes.ids import ConversationId
from scopes.part_files import part_of
from scopes.result import Note, few, plural
from scopes.secret_scan.clearance import Cleared, Gate, Mode
from scopes.secrets.gates import gate_of, redacted_notes
from scopes.store.repository import Prunes, Repository, again_after_prunes
from scopes.store.transactions import unless_pruned
from scopes.usage.prices import configured_prices

INDEX: Final = "index.html"
_NOT_IN_ADDRESS: Final = re.compile(r"[^A-Za-z0-9._-]+")
_DAY, _MONTH = 10, 7  # characters of a time


class _Row(NamedTuple):
    """A conversation in the index; `last` sorts it."""

    last: str
    id: ConversationId
    title: str
    participants: tuple[str, ...]
    project: str
    messages: int
    branches: int


def export_site(
    repository: Repository,
    directory: str,
    *,
    force: bool = False,
    secrets: Mode = "refuse",
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> SiteSaved:
    """Write all conversations with all their branches into a directory; damaged ones are left out, with a note.

    Raises:
        Refused: the directory exists and is not empty, and `force` is not given.
        NotFound, Inaccessible: it cannot be created, or the disk is full.
        SecretsFound: a conversation has possible secrets, and they are refused; nothing is left then.
        Busy: something was purged each time that the site was made.
    """

    def write() -> SiteSaved:
        repository.forget_pruned()
        return _write_site(repository, directory, force=force, secrets=secrets, on_progress=on_progress)

    return again_after_prunes(repository.path, write)


def _write_site(
    repository: Repository, directory: str, *, force: bool, secrets: Mode, on_progress: Callable[[int, int], None]
) -> SiteSaved:
    """Write the site; a directory that is there may have pages of before a purge when Busy is raised."""
    is_new = _is_new(directory, force=force)
    work = part_of(directory.rstrip(os.sep)) if is_new else directory
    gate, writer = gate_of(repository, secrets), _SiteWriter(repository, work, force=force)
    with ExitStack() as cleanup:
        if is_new:
            _make_directory(work, directory)
            cleanup.callback(writer.remove)
        names = conversation_ids(repository)
        for done, name in enumerate(names):
            on_progress(done, len(names))
            writer.write(name, gate)
        on_progress(len(names), len(names))
        writer.write_index(gate)
        if is_new:
            with unless_pruned(repository, writer.prunes):
                _rename(work, directory)
        cleanup.pop_all()
    notes = [Note(few("damaged conversations were left out", writer.damaged), "see: scopes verify")]
    return SiteSaved(
        path=directory,
        conversations=len(writer.rows),
        messages=sum(row.messages for row in writer.rows),
        size_bytes=writer.size,
        notes=(*(notes if writer.damaged else ()), *redacted_notes(gate.redacted)),
    )


class _SiteWriter:
    """Writes pages, and remembers a row of the index for each."""

    def __init__(self, repository: Repository, directory: str, *, force: bool) -> None:
        self.rows: list[_Row] = []
        self.damaged: list[ConversationId] = []
        self.size = 0
        self.prunes = Prunes(repository.path)
        self._repository = repository
        self._directory = directory
        self._force = force
        self._files: list[str] = []
        self._prices = configured_prices(repository.config)

    def write(self, name: ConversationId, gate: Gate) -> None:
        """Write the page of a conversation; a damaged one has none."""
        try:
            selection = select_messages(self._repository, name, all_branches=True)
            inspect_selection(self._repository, selection, gate)
            clear_names(selection, gate)
            overview = Overview(UsageCounter(self._prices))
            page = write_page(self._repository, selection, overview, home=True)
            pieces = clear_pieces(self._repository, gate, page, f"the text about {name}")
            self._save(_file_of(name), pieces)
        except (Corrupt, NotFound):
            self.prunes.require_none()
            self.damaged.append(name)
            return
        view = selection.view
        row = _Row(
            view.last_activity or view.created_at or "", name, overview.title, tuple(view.participants),
            project_of(view), selection.size, len(view.branches),
        )  # fmt: skip
        self.rows.append(row)

    def write_index(self, gate: Gate) -> None:
        """Write the index, the newest conversations first."""
        self._save(INDEX, (gate.clear(piece, "the index") for piece in _index(self.rows)))

    def remove(self) -> None:
        """Remove the files that were written, and their directory."""
        for path in self._files:
            with suppress(OSError):
                os.unlink(path)
        with suppress(OSError):
            os.rmdir(self._directory)

    def _save(self, name: str, pieces: Iterable[Cleared]) -> None:
        path = os.path.join(self._directory, name)
        check_target(path, force=self._force)
        self.size += write_file(path, pieces, force=self._force, allowed=unless_pruned(self._repository, self.prunes))
        self._files.append(path)


def _index(rows: list[_Row]) -> Iterator[bytes]:
    """Yield the index in pieces."""
    template = Template("index.html")
    ordered = sorted(rows, key=lambda row: row.last, reverse=True)
    messages = sum(row.messages for row in rows)
    facts = {"Conversations": f"{len(rows):,}", "Messages": f"{messages:,}"}
    before, after = template.split(
        "index",
        "rows",
        **page_frame("Conversations", "page.css", "index.js"),
        facts=join([template.fill("fact", name=name, value=value) for name, value in facts.items()]),
    )
    yield utf8(before)
    month = None
    for row in ordered:
        if row.last[:_MONTH] != month:
            month = row.last[:_MONTH]
            yield utf8(template.fill("month", month=month or "without a date") + "\n")
        branches = f"{row.branches} {plural(row.branches, 'branch')}" if row.branches > 1 else ""
        size = f"{row.messages:,} {plural(row.messages, 'message')}"
        texts = (row.last[:_DAY], row.project, ", ".join(row.participants), size, branches, row.id)
        line = join([template.fill("row_fact", text=text) for text in texts if text], " ")
        yield utf8(template.fill("row", file=_address_of(_file_of(row.id)), title=row.title, facts=line) + "\n")
    yield utf8(f"{after}\n")


def _file_of(name: ConversationId) -> str:
    """Return the file of a page; names have no spaces, so no conversation has the name of another's file."""
    return f"{name} page.html" if name.casefold() == "index" else f"{name}.html"


def _address_of(file: str) -> str:
    """Return a file name as a relative address."""
    return _NOT_IN_ADDRESS.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), file)


def _is_new(directory: str, *, force: bool) -> bool:
    """Return True if the directory is to be created; one that is empty is used as it is."""
    if not os.path.lexists(directory):
        return True
    try:
        is_empty = not os.listdir(directory)
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise Inaccessible(f"cannot write into {directory!a}: {reason}", hint="name a new directory") from error
    if not is_empty and not force:
        hint = "replace the pages in it with --force, or name a new one"
        raise Refused(f"directory {directory!a} is not empty", hint=hint)
    return False


def _make_directory(work: str, directory: str) -> None:
    try:
        os.mkdir(work)
    except FileNotFoundError as error:
        raise NotFound(f"the directory of {directory!a} was not found", hint="create it first") from error
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise Inaccessible(f"cannot create {directory!a}: {reason}", hint="choose another directory") from error


def _rename(work: str, directory: str) -> None:
    try:
        os.rename(work, directory)
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise Inaccessible(f"cannot create {directory!a}: {reason}", hint="choose another directory") from error
