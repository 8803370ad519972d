"""Results of an import."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple

from scopes.errors import Inaccessible, ScopesError
from scopes.ids import BranchName, ConversationId, MessageId, OperationId
from scopes.result import HIDDEN, OMIT_EMPTY, Column, Note, Result, Rows, counted, format_size, named, shown
from scopes.sanitize import SUBJECT_LENGTH, mark_cut


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceImported:
    """One source and what its bytes became. The three byte counts add up to its size."""

    path: str
    format: str
    records: int
    messages: int
    unparsed: int
    new: bool
    problems: tuple[str, ...] = field(default=(), metadata=OMIT_EMPTY)
    size: int = field(metadata=HIDDEN)
    message_bytes: int = field(metadata=HIDDEN)
    state_bytes: int = field(metadata=HIDDEN)
    unparsed_bytes: int = field(metadata=HIDDEN)
    is_reported: bool = field(default=False, metadata=HIDDEN)

    @property
    def accounted_bytes(self) -> int:
        """Return the sum of the three byte counts."""
        return self.message_bytes + self.state_bytes + self.unparsed_bytes

    @property
    @shown
    def size_bytes(self) -> int | None:
        """The size in a report."""
        return self.size if self.is_reported else None

    @property
    @shown
    def account_bytes(self) -> dict[str, int] | None:
        """The byte counts and their sum in a report."""
        if not self.is_reported:
            return None
        counts = {"message": self.message_bytes, "state": self.state_bytes, "unparsed": self.unparsed_bytes}
        return counts | {"sum": self.accounted_bytes}

    @property
    @shown
    def whole(self) -> bool | None:
        """Whether every byte is accounted for, in a report."""
        return self.accounted_bytes == self.size if self.is_reported else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file that was not imported.

    error: set if the user asked for the file; it is raised by a strict import
    named: the user gave this path, and not a folder that contains it
    noted: a note of the result gives the reason already
    became: for a copy, what its bytes became in the longer source
    """

    path: str
    reason: str
    error: ScopesError | None = field(default=None, metadata=HIDDEN)
    named: bool = field(default=False, metadata=HIDDEN)
    noted: bool = field(default=False, metadata=HIDDEN)
    became: SourceImported | None = field(default=None, metadata=HIDDEN)

    @property
    @shown
    def account(self) -> SourceImported | None:
        """What its bytes became, in a report."""
        return self.became if self.became is not None and self.became.is_reported else None


def skip_unreadable(path: str, error: OSError, *, named: bool = False) -> Skipped:
    """Return the entry of a file or folder that cannot be read."""
    reason = f"cannot be read: {error.strerror or error}"
    refusal = Inaccessible(f"{path} {reason}", hint="check its permissions, or name other files to import")
    return Skipped(path=path, reason=reason, error=refusal, named=named, noted=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationImported:
    """A conversation that sources were imported into; `new_messages` were not in it before.

    `first_prompt` is its first prompt on one line, cut if it is very long, if there is no title and the result is shown
    as text. `source` is the path of the source that changed it, the first one of several; None if nothing did. `keys`
    are those of its sessions in this import.
    """

    id: ConversationId
    uuid: str
    title: str | None
    messages: int
    new_messages: int
    branches: int
    first_prompt: str | None = field(default=None, metadata=HIDDEN)
    source: str | None = field(default=None, metadata=HIDDEN)
    keys: tuple[str, ...] = field(default=(), compare=False, metadata=HIDDEN)

    @property
    def heading(self) -> str:
        """The title, or else the first prompt."""
        return self.title or self.first_prompt or ""

    @property
    def short_heading(self) -> str:
        """The title, or else as much of the first prompt as a list has."""
        prompt = self.first_prompt or ""
        return self.title or mark_cut(prompt[:SUBJECT_LENGTH].rstrip(), prompt)


def _columns(heading: str, on: Literal["pipe", "terminal"]) -> tuple[Column, ...]:
    return (
        Column("id", "ID", on=on),
        Column(heading, "Title", on=on),
        Column("messages", form="count", on=on),
        Column("new_messages", "New", "count", on),
        Column("branches", form="count", on=on),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionJoined:
    """A session that joined the conversation of another one, because its first `equal_messages` are equal.

    branch: the branch that the session is on
    message: the last equal message
    """

    session: str
    conversation: ConversationId
    branch: BranchName
    message: MessageId
    equal_messages: int


REPEAT_WITH: Final = "repeat the command with"  # in hints; another command that imports says what to run


class GroupedNote(NamedTuple):
    """A note, and the beginning of the one that replaces several of its kind, in which `{}` is their number."""

    text: str
    several: str
    hint: str | None = None


def group_notes(notes: Iterable[Note | GroupedNote]) -> tuple[tuple[Note, ...], tuple[str, ...]]:
    """Return one note for each kind, and the texts of all notes of the kinds that have several."""
    kinds: dict[str, dict[str, Note]] = {}
    for note in notes:
        kind = note.several if isinstance(note, GroupedNote) else note.text
        kinds.setdefault(kind, {})[note.text] = Note(note.text, note.hint)
    shown: list[Note] = []
    details: list[str] = []
    for kind, same in kinds.items():
        first = next(iter(same.values()))
        if len(same) > 1:
            details += same
            list_them = f"to list them, {REPEAT_WITH} --report or -v"
            hint = list_them if first.hint is None else f"{first.hint}; {list_them}"
            first = Note(f"{kind.format(f'{len(same):,}')}; the first: {first.text}", hint)
        shown.append(first)
    return tuple(shown), tuple(details)


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported(Result):
    """What an import did; `operation` is None if nothing was new, or in a dry run.

    unchanged: in a dry run, the number of conversations that would stay as they are; they are not in `conversations`.
    other_sessions: the number of sessions that were left out because they belong to other projects.
    older_sources: the number of transcripts that were left out because all their messages are older.
    stay_deleted: the number of conversations that were deleted here, and that the import has left so.
    missing_parents: sessions that continue one which is not imported, and that one.
    joined: new sessions that begin with the messages of another one, and belong to its conversation.
    stopped: the number of sources that were left out because of Ctrl-C.
    details: the texts of the notes of which `notes` have only the number; `with_details`: they are shown.
    """

    kind = "import"
    rows_in = "accounts"
    is_one_row = True
    columns = (
        Column("path", "Source", "path"),
        Column("format"),
        Column("message_bytes", "Messages", "count"),
        Column("state_bytes", "State", "count"),
        Column("unparsed_bytes", "Unparsed", "count"),
        Column("accounted_bytes", "Sum", "count"),
        Column("size", "File", "count"),
    )
    further = (
        Rows("conversations", _columns("short_heading", "pipe")),
        Rows("changed", _columns("heading", "terminal")),
    )

    sources: tuple[SourceImported, ...]
    conversations: tuple[ConversationImported, ...]
    skipped: tuple[Skipped, ...] = field(default=(), metadata=OMIT_EMPTY)
    dry_run: bool = field(default=False, metadata=OMIT_EMPTY)
    operation: OperationId | None = None
    unchanged: int = field(default=0, metadata=OMIT_EMPTY)
    other_sessions: int = field(default=0, metadata=named("sessions_of_other_projects") | OMIT_EMPTY)
    older_sources: int = field(default=0, metadata=HIDDEN)
    stay_deleted: int = field(default=0, metadata=HIDDEN)
    missing_parents: Mapping[str, str] = field(default_factory=dict, metadata=OMIT_EMPTY)
    joined: tuple[SessionJoined, ...] = field(default=(), metadata=OMIT_EMPTY)
    stopped: int = field(default=0, metadata=OMIT_EMPTY)
    details: tuple[str, ...] = field(default=(), metadata=OMIT_EMPTY)
    with_details: bool = field(default=False, metadata=HIDDEN)

    def reported(self) -> Imported:
        """Return the result with what every byte of every source became."""
        copies = (
            replace(found, became=None if found.became is None else replace(found.became, is_reported=True))
            for found in self.skipped
        )
        sources = (replace(source, is_reported=True) for source in self.sources)
        return replace(self, sources=tuple(sources), skipped=tuple(copies), with_details=True)

    @property
    @shown
    def warnings(self) -> list[str]:
        """The texts of the notes."""
        return [note.text for note in self.notes]

    @property
    def accounts(self) -> list[SourceImported]:
        """The sources of a report, with copies."""
        copies = (found.account for found in self.skipped)
        return [source for source in (*self.sources, *filter(None, copies)) if source.is_reported]

    @property
    def changed(self) -> tuple[ConversationImported, ...]:
        """The conversations, if the import did something, or would."""
        return () if self.is_empty or self._instead else self.conversations

    @property
    def sentence(self) -> list[str]:
        """What the bytes of a report became, how much was read, and what was skipped."""
        accounts = self.accounts
        short = [source for source in accounts if source.accounted_bytes != source.size]
        lines = [f"{each.path}: {each.size - each.accounted_bytes} bytes are not accounted for" for each in short]
        if accounts and not short:
            lines.append("every byte of every file is accounted for")
        lines += self._details
        if self._instead or self.is_empty:
            return [*lines, self._instead]
        size = format_size(sum(source.size for source in self.sources))
        new = counted(sum(row.new_messages for row in self.conversations), "new message")
        would = "would be imported: " if self.dry_run else ""
        where = counted(len(self.conversations), "conversation")
        lines.append(f"{would}{counted(len(self.sources), 'source')}, {size}: {new} in {where}")
        lines += [f"{source.path}: {problem}" for source in self.sources for problem in source.problems[:3]]
        lines += [f"skipped {found.path}: {found.reason}" for found in self.skipped if not found.noted]
        return [*lines, self._unchanged, self._stopped]

    @property
    def remark(self) -> list[str]:
        """What else is to know for scripts."""
        return [*self._details, self._unchanged, self._stopped]

    @property
    def _details(self) -> list[str]:
        parents = (f"session {new} continues {old}, which is not imported" for new, old in self.missing_parents.items())
        return [*parents, *self.details] if self.with_details else []

    @property
    def _unchanged(self) -> str:
        return f"{counted(self.unchanged, 'conversation')} unchanged" if self.unchanged else ""

    @property
    def _stopped(self) -> str:
        count = len(self.sources)
        return (
            f"stopped after {count} of {count + self.stopped} sessions; they are stored. Go on: scopes import"
            if self.stopped
            else ""
        )

    @property
    def _instead(self) -> str:
        """The one line for a person if nothing was imported; empty if something was."""
        if self.operation is None and not self.dry_run and not self.accounts and self.sources:
            extent = f"{counted(len(self.sources), 'source')}, {counted(len(self.conversations), 'conversation')}"
            return f"Nothing new in {extent}."
        is_other = self.other_sessions and not self.sources
        return "There are no sessions of this project to import." if is_other else ""

    @property
    def is_empty(self) -> bool:
        """Return True if nothing was found that could be imported: only what `scopes acp` left was taken."""
        left_out = self.other_sessions or self.older_sources or self.stay_deleted
        return not (self.sources or self.conversations or self.skipped or left_out)

    @property
    def exit_code(self) -> int:
        """Return 130 after Ctrl-C, 1 if a file that the user named could not be imported, else 0."""
        if self.stopped:
            return 130
        return 1 if any(skipped.named and skipped.error is not None for skipped in self.skipped) else 0
