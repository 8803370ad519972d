"""What a merge returns: its outcome, with the messages that were merged and the conflicts (S4-9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypedDict

from scopes.ids import BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.merge.files import FileComparison
from scopes.merge.in_progress import NO_OTHERS, OthersInProgress
from scopes.model.conflicts import Conflict
from scopes.result import Note, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult(Result):
    """The fields that the outcomes of a merge have in common (S4-9).

    Attributes:
        branch: The branch that holds the result; after a stop the conflict-resolution branch.
        messages: The messages that are new in the target, oldest first.
        conflicts: The open conflicts in the order of their numbers, then the automatically resolved ones.
        files: What both sides did to the files that both changed, sorted by path.
        spellings: The keys of an open conflict on both sides, by its key, if they spell the topic differently.
        dry_run: True if nothing was written.
        active_branch: The target, if the merge made it the active branch because the active one was merged into it.
    """

    conversation: ConversationId
    source: str
    target: BranchName
    branch: BranchName
    tip: Oid | None
    messages: tuple[MessageId, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    files: tuple[FileComparison, ...] = ()
    spellings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dry_run: bool = False
    operation: OperationId | None = None
    active_branch: BranchName | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpToDate(MergeResult):
    """The target already has all messages of the source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FastForwarded(MergeResult):
    """The target had no messages of its own and moved to the tip of the source (S4-10)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged(MergeResult):
    """The target moved to a merge commit; `message` is its id.

    `tip_message` is the id of the message at the new tip of the target, if that is another one: the last message of
    the conflict-resolution branch.

    `source_messages` is the number of messages that came from the source, if `messages` has others too: those of the
    conflict-resolution branch.
    """

    message: MessageId | None = None
    tip_message: MessageId | None = None
    source_messages: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeConflicted(MergeResult):
    """The merge stopped on conflicts (S4-16, S4-17); the target did not move.

    `others` is what else is in progress: commands then have to name the branch, and conflicts by number.
    """

    others: OthersInProgress = NO_OTHERS

    @property
    def exit_code(self) -> int:
        """Three: stopped on conflicts."""
        return 3


MergeOutcome: TypeAlias = UpToDate | FastForwarded | Merged | MergeConflicted


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeAborted(Result):
    """A merge was aborted; `branch` was its conflict-resolution branch, which `undo` restores."""

    conversation: ConversationId
    branch: BranchName
    active_branch: BranchName
    operation: OperationId


class MergeFields(TypedDict):
    """The values of the fields of `MergeResult` that depend on the plan of a merge alone."""

    conversation: ConversationId
    source: str
    target: BranchName
    messages: tuple[MessageId, ...]
    conflicts: tuple[Conflict, ...]
    files: tuple[FileComparison, ...]
    notes: tuple[Note, ...]
