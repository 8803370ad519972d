"""Results of an import."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from scopes.errors import Inaccessible, ScopesError
from scopes.ids import BranchName, ConversationId, MessageId, OperationId
from scopes.result import Note, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceImported:
    """One source and what its bytes became. The three byte counts add up to its size."""

    path: str
    format: str
    records: int
    messages: int
    unparsed: int
    new: bool
    size: int
    message_bytes: int
    state_bytes: int
    unparsed_bytes: int
    problems: tuple[str, ...] = ()

    @property
    def accounted_bytes(self) -> int:
        """Return the sum of the three byte counts."""
        return self.message_bytes + self.state_bytes + self.unparsed_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file that was not imported.

    error: set if the user asked for the file; it is raised by a strict import
    named: the user gave this path, and not a folder that contains it
    noted: a note of the result gives the reason already
    account: for a copy, what its bytes became in the longer source
    """

    path: str
    reason: str
    error: ScopesError | None = None
    named: bool = False
    noted: bool = False
    account: SourceImported | None = None


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
    are those of its sources of this import if the store has all of them as they are; else empty.
    """

    id: ConversationId
    uuid: str
    title: str | None
    messages: int
    new_messages: int
    branches: int
    first_prompt: str | None = None
    source: str | None = None
    keys: tuple[str, ...] = field(default=(), compare=False)


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
    details: the texts of the notes of which `notes` have only the number.
    """

    sources: tuple[SourceImported, ...]
    conversations: tuple[ConversationImported, ...]
    skipped: tuple[Skipped, ...] = ()
    dry_run: bool = False
    operation: OperationId | None = None
    unchanged: int = 0
    other_sessions: int = 0
    older_sources: int = 0
    stay_deleted: int = 0
    missing_parents: Mapping[str, str] = field(default_factory=dict)
    joined: tuple[SessionJoined, ...] = ()
    details: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return True if nothing was found that could be imported: only what `scopes acp` left was taken."""
        left_out = self.other_sessions or self.older_sources or self.stay_deleted
        return not (self.sources or self.conversations or self.skipped or left_out)

    @property
    def exit_code(self) -> int:
        """Return 1 if a file that the user named could not be imported, else 0."""
        return 1 if any(skipped.named and skipped.error is not None for skipped in self.skipped) else 0
