"""What the transcripts to read (`markdown` and `html`) know about the whole export before they write a message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scopes.conversation.show import BranchRow
from scopes.exporters.selection import ExportSelection
from scopes.history.messages import Amendment, find_amendments
from scopes.ids import BranchName, MessageId, Oid
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True)
class Transcript:
    """Data about the whole transcript that each section needs.

    `shown` are the messages with a section to link to, `forks` the branches by fork point, `branch_numbers` the
    positions of the branches in the transcript.
    """

    shown: frozenset[MessageId]
    amendments: Mapping[MessageId, Amendment]
    forks: Mapping[Oid, list[BranchRow]]
    branch_numbers: Mapping[BranchName, int]


def read_transcript(repository: Repository, selection: ExportSelection) -> Transcript:
    """Read it from the commits, and from the messages that amend others."""
    amendments: dict[MessageId, Amendment] = {}
    for branch_slice in selection.slices:
        amendments |= find_amendments(repository, branch_slice.tip, branch_slice.heads)
    numbers = {s.branch.name: number for number, s in enumerate(selection.slices) if s.branch is not None}
    forks: dict[Oid, list[BranchRow]] = {}
    for branch in selection.view.branches:
        if branch.fork is not None and numbers.get(branch.name) != 0:
            forks.setdefault(branch.fork, []).append(branch)
    return Transcript(frozenset(selection.ids.values()), amendments, forks, numbers)
