"""The result of `why`: for lines of a file their commit, how sure the answer is, and what was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from scopes.code_links.line_match import ANSWERED, LineMatch, WhyLevel
from scopes.code_links.link import CodeLink, CommitId
from scopes.ids import BranchName, ConversationId, MessageId
from scopes.model.canonical_json import without_none
from scopes.result import HIDDEN, OMIT_EMPTY, Result, Stream, spread, written_by


class WhyCommit(NamedTuple):
    """The commit that a line is from, with the path and the line number that it has there."""

    id: CommitId
    subject: str
    author: str
    time: str
    path: str
    line: int

    @property
    def origin(self) -> dict[str, object]:
        """The place of the line in its commit."""
        return {"path": self.path, "line": self.line}


@dataclass(slots=True)
class FoundLines:
    """What was found for adjacent lines with the same commit and the same turn."""

    line: int
    last_line: int
    match: LineMatch
    commit: WhyCommit | None = None
    author_time: float = 0.0
    links: tuple[CodeLink, ...] = ()


class WhyAnswer(NamedTuple):
    """A turn in which lines were written, or may have been.

    message: the message with the edit or the command
    turn: the number of the prompt that it answers, from 1; 0 before the first one
    how: the evidence in a few words
    share: the part of the neighbours that the edit has; without an edit, that of the commit which is the conversation's
    seconds_before: how long before the commit; None if it is not committed, or was not written by an edit
    command: the command that may have written the file, if no edit has the line
    made: the conversation made the commit
    branch: that of the message, main if that has it: turns of two branches may have one number; None if it is unknown
    """

    conversation: ConversationId
    message: MessageId | None
    turn: int
    prompt: str | None
    agreed_to: str | None
    longer_prompt: str | None
    how: str
    share: float | None
    call_id: str | None
    seconds_before: float | None = None
    command: str | None = None
    made: bool = False
    branch: BranchName | None = None

    def document(self) -> dict[str, object]:
        """Return the answer as a JSON object."""
        values = self._asdict()
        del values["branch"], values["made"]
        return without_none(**values, branch=self.branch, made_commit=self.made)


def _candidate_documents(candidates: Sequence[WhyAnswer]) -> list[dict[str, object]]:
    return [{**each.document(), "level": "candidate"} for each in candidates]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyLines(Result):
    """Adjacent lines with one answer.

    Attributes:
        file: The path of the file in its repository.
        line, last_line: The first and the last of the lines.
        commit: The commit that they are from; None if they are not committed.
        level: How sure the answers are.
        answers: The turn; several candidates if it is unsure.
        also: The numbers of other turns of that conversation that wrote the same lines.
        candidates: Further turns, if they were asked for.
    """

    kind = "why"

    file: str
    line: int
    last_line: int
    commit: WhyCommit | None = field(
        metadata=spread(commit="id", subject="subject", author="author", time="time", origin="origin")
    )
    level: WhyLevel
    answers: tuple[WhyAnswer, ...] = ()
    also: tuple[int, ...] = ()
    candidates: tuple[WhyAnswer, ...] = field(default=(), metadata=written_by(_candidate_documents) | OMIT_EMPTY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Why(Stream):
    """The answers for the lines of a file, in order."""

    kind = "why-file"
    rows_in = "lines"

    items: tuple[WhyLines, ...]
    file: str
    whole: bool = field(default=False, metadata=HIDDEN)

    @property
    def exit_code(self) -> int:
        """0 if a turn is known for at least one line, else 1."""
        return 0 if any(each.level in ANSWERED for each in self.items) else 1
