"""`export`: write a conversation out, in a form of its own, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from scopes.errors import Invalid, Refused
from scopes.exporters.json_export import write_json, write_json_lines
from scopes.exporters.markdown import write_markdown
from scopes.exporters.openai import write_openai
from scopes.exporters.original import choose_sources, list_sources, name_files, walk_bytes
from scopes.exporters.selection import Selection, select_messages
from scopes.history.revparse import resolve_revision
from scopes.ids import ConversationId
from scopes.result import Document
from scopes.store.repository import Repository

Writer: TypeAlias = Callable[[Repository, Selection], Iterator[bytes]]

ORIGINAL = "original"
OPENAI = "openai"
_WRITERS: dict[str, tuple[Writer, str]] = {
    "markdown": (write_markdown, ".md"),
    "json": (write_json, ".json"),
    "jsonl": (write_json_lines, ".jsonl"),
    OPENAI: (write_openai, ".json"),
}
FORMS = (*_WRITERS, ORIGINAL)


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """One file of an export, under a name that suits it, with the source it is a copy of; it can be read once."""

    name: str
    source: str | None
    pieces: Iterable[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported(Document):
    """A conversation written out; original bytes may be several files, and their messages are not counted."""

    conversation: ConversationId
    form: str
    messages: int | None
    files: tuple[ExportedFile, ...]

    @property
    def pieces(self) -> Iterable[bytes]:
        """The bytes of the one file.

        Raises:
            Refused: there are several.
        """
        if len(self.files) > 1:
            names = ", ".join(str(file.source) for file in self.files[:8])
            raise Refused(
                f"{self.conversation} was imported from {len(self.files)} files, and output is one",
                hint=f"write them into a directory with --output, or choose with --source: {names}",
            )
        return self.files[0].pieces


def export(
    repository: Repository, where: str, *, form: str, every_branch: bool = False, source: str | None = None
) -> Exported:
    """Write out the line of history that `where` names, or every branch; no body is read before its piece.

    `source` chooses one of several original files.

    Raises:
        NotFound, Ambiguous, Invalid: the place, the form or the source cannot be understood.
        Refused: there are no original bytes.
    """
    if form == ORIGINAL:
        return _export_original(repository, where, source)
    if form not in _WRITERS:
        raise Invalid(f"{form!a} is no form of an export", hint=f"forms: {', '.join(FORMS)}")
    if source is not None:
        raise Invalid("only original bytes have a source to choose", hint=f"add --format {ORIGINAL}")
    if form == OPENAI and every_branch:
        raise Invalid("a list of OpenAI messages holds one branch", hint="name the branch: CONV/BRANCH")
    extent = select_messages(repository, where, every_branch=every_branch)
    write, ending = _WRITERS[form]
    file = ExportedFile(extent.view.id + ending, None, write(repository, extent))
    return Exported(conversation=extent.view.id, form=form, messages=extent.size, files=(file,))


def _export_original(repository: Repository, where: str, name: str | None) -> Exported:
    place = resolve_revision(repository, where)
    sources = choose_sources(list_sources(repository, place), place.conversation, name)
    files = [ExportedFile(file, source.label, walk_bytes(repository, source)) for file, source in name_files(sources)]
    return Exported(conversation=place.conversation, form=ORIGINAL, messages=None, files=tuple(files))
