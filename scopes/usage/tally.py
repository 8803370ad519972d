"""Add up answers so that each counts once, however many branches and conversations have it."""

from __future__ import annotations

import marshal
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from scopes.ids import ConversationId
from scopes.usage.amounts import Amounts, Group, plus
from scopes.usage.answers import COPIED_ANSWER, UNMEASURED, Answer, Answers

_MARSHAL_VERSION = 2  # every Python reads it, and its bytes depend on the values alone
Cells: TypeAlias = Mapping[Group, Amounts]


class Summary(NamedTuple):
    """What one conversation has used.

    directory: where it began; None if unknown
    cells: amounts by group, each answer once
    keys: those of its answers
    unmeasured: answers without recorded tokens, if no answer has any
    copied: answers of a session that is not here
    """

    directory: str | None
    cells: Cells
    keys: array[int]
    unmeasured: int
    copied: int


class Cell(NamedTuple):
    """What one conversation has used in one group."""

    conversation: ConversationId
    directory: str | None
    group: Group
    amounts: Amounts


def summarize(answers: Answers, directory: str | None) -> Summary:
    """Add up the answers of one conversation.

    One without a time is left out if the same message is there with one: a stream that was joined with its session.
    """
    found = distinct(answers)
    cells: dict[Group, Amounts] = {}
    for answer in found:
        cells[answer.group] = plus(cells.get(answer.group), answer.amounts)
    others = Counter(value for value in answers.values() if isinstance(value, int))
    unmeasured = 0 if found else others[UNMEASURED]
    return Summary(directory, cells, array("Q", [answer.key for answer in found]), unmeasured, others[COPIED_ANSWER])


def distinct(answers: Answers) -> list[Answer]:
    """Return the answers of one conversation, each once."""
    every = [answer for answer in answers.values() if isinstance(answer, Answer)]
    timed = {answer.message for answer in every if answer.timed}
    kept = (answer for answer in every if answer.timed or answer.message not in timed)
    return list({answer.key: answer for answer in kept}.values())


class Tally:
    """The cells of several conversations; an answer counts for the first of them that has it."""

    def __init__(self) -> None:
        self.cells: list[Cell] = []
        self.unmeasured: dict[ConversationId, int] = {}
        self.copied: dict[ConversationId, int] = {}
        self._seen: set[int] = set()

    def has_any(self, summary: Summary) -> bool:
        """Return True if some of the answers were counted already, so that `add_answers` has to be called."""
        return not self._seen.isdisjoint(summary.keys)

    def add(self, conversation: ConversationId, summary: Summary) -> None:
        """Add a conversation of whose answers none was counted."""
        if summary.unmeasured:
            self.unmeasured[conversation] = summary.unmeasured
        if summary.copied:
            self.copied[conversation] = summary.copied
        self._seen.update(summary.keys)
        for group, amounts in summary.cells.items():
            self.cells.append(Cell(conversation, summary.directory, group, amounts))

    def add_answers(self, conversation: ConversationId, directory: str | None, answers: Answers) -> None:
        """Add those answers of a conversation that were not counted."""
        copied = sum(value == COPIED_ANSWER for value in answers.values())
        if copied:
            self.copied[conversation] = copied
        new = [answer for answer in distinct(answers) if answer.key not in self._seen]
        self._seen.update(answer.key for answer in new)
        cells: dict[Group, Amounts] = {}
        for answer in new:
            cells[answer.group] = plus(cells.get(answer.group), answer.amounts)
        self.cells += [Cell(conversation, directory, group, amounts) for group, amounts in cells.items()]


def pack_answers(answers: Answers) -> bytes:
    """Return answers as bytes."""
    rows = [
        (
            oid,
            value if isinstance(value, int) else (value.key, value.message, value.timed, *value.group, *value.amounts),
        )
        for oid, value in answers.items()
    ]
    return marshal.dumps(rows, _MARSHAL_VERSION)


def unpack_answers(data: bytes) -> Answers:
    """Return the answers in bytes that `pack_answers` made; those have to be checked by a checksum before."""
    rows: Iterable[tuple[bytes, Any]] = marshal.loads(data)  # noqa: S302 - the file is ours, and its checksum is right
    return {oid: value if isinstance(value, int) else _unpack_answer(*value) for oid, value in rows}


def _unpack_answer(key: int, message: int, timed: bool, *values: Any) -> Answer:  # noqa: FBT001 - a field
    end = len(Group._fields)
    return Answer(key, message, timed, Group._make(values[:end]), Amounts._make(values[end:]))


def pack_summary(summary: Summary) -> bytes:
    """Return a summary as bytes."""
    cells = [(*group, *amounts) for group, amounts in summary.cells.items()]
    return marshal.dumps((summary.directory, cells, summary.keys.tobytes(), *summary[3:]), _MARSHAL_VERSION)


def unpack_summary(data: bytes) -> Summary:
    """Return the summary in bytes that `pack_summary` made; those have to be checked by a checksum before."""
    directory, cells, keys, *counts = marshal.loads(data)  # noqa: S302 - as above
    end = len(Group._fields)
    make_group, make_amounts = Group._make, Amounts._make
    return Summary(
        directory, {make_group(cell[:end]): make_amounts(cell[end:]) for cell in cells}, array("Q", keys), *counts
    )
