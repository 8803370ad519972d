"""What an import returns."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.errors import Inaccessible, ScopesError
from scopes.ids import ConversationId, OperationId
from scopes.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceImported:
    """One source: how its bytes were accounted for. The three byte counts add up to its size."""

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
        """What the three byte counts add up to."""
        return self.message_bytes + self.state_bytes + self.unparsed_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file that was passed over, and why; a copy is accounted for by what its bytes are in the longer one.

    `trouble` is there where somebody would miss it: a note, or what to raise where nothing may be missing. `told` is
    what a note says already.
    """

    path: str
    reason: str
    trouble: ScopesError | None = None
    told: bool = False
    account: SourceImported | None = None


def skip_unreadable(path: str, error: OSError) -> Skipped:
    """Say of a path below a folder why it cannot be read."""
    reason = f"cannot be read: {error.strerror}"
    trouble = Inaccessible(f"{path} {reason}", hint="check who owns it, or name what else is to come in")
    return Skipped(path=path, reason=reason, trouble=trouble, told=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationImported:
    """One conversation that sources went into; `new_messages` were not in it before."""

    id: ConversationId
    uuid: str
    title: str | None
    messages: int
    new_messages: int
    branches: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported(Result):
    """What was brought in; `operation` is None when nothing was new, or nothing was to be written."""

    sources: tuple[SourceImported, ...]
    conversations: tuple[ConversationImported, ...]
    skipped: tuple[Skipped, ...] = ()
    dry_run: bool = False
    operation: OperationId | None = None
