"""`context --diff`: what a model would read differently at two revisions, turn by turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import NamedTuple

from scopes.context.context import context
from scopes.context.request import Request
from scopes.context.result import Context, ContextMessage
from scopes.conversation.diff import DiffSide, diff_lines, resolve_sides
from scopes.ids import BranchName, ConversationId
from scopes.result import HIDDEN, Note, Result, shown
from scopes.secret_scan.clearance import Gate
from scopes.secrets.gates import gate_of
from scopes.store.repository import Repository
from scopes.tokens.count import TokenizerChoice


class ContextSide(NamedTuple):
    """One of the two contexts: the revision, its tokens and its turns."""

    side: DiffSide
    tokens_used: int
    turns: int

    def document(self) -> dict[str, object]:
        """Return the side as a JSON object."""
        return {**self.side.document(), "tokens_used": self.tokens_used, "turns": self.turns}


class ContextChange(NamedTuple):
    """A part of the contexts that differs: the summary, the decisions in effect, a turn, or the files.

    part: `summary`, `decisions`, `turn` or `files`.
    left, right: the turns; None where it is missing, and for the other parts.
    lines: those of a unified diff without its first two lines.
    """

    part: str
    left: ContextMessage | None
    right: ContextMessage | None
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextDifference(Result):
    """The differences of two contexts, in the order of the contexts: summary, decisions, turns, files."""

    kind = "context-diff"

    left: ContextSide
    right: ContextSide
    max_tokens: int
    method: str
    changes: tuple[ContextChange, ...] = field(metadata=HIDDEN)

    @property
    @shown
    def equal(self) -> bool:
        """A model reads the same."""
        return not self.changes

    @property
    @shown
    def removed(self) -> list[dict[str, object]]:
        """The turns that only the left context has."""
        return [each.left.document() for each in self.changes if each.left is not None and each.right is None]

    @property
    @shown
    def added(self) -> list[dict[str, object]]:
        """The turns that only the right context has."""
        return [each.right.document() for each in self.changes if each.right is not None and each.left is None]

    @property
    @shown
    def changed(self) -> list[dict[str, object]]:
        """The turns that both have, with another text."""
        return [{"left": each.left.document(), "right": each.right.document(), "diff": each.lines}
                for each in self.changes if each.left is not None and each.right is not None]  # fmt: skip

    @property
    @shown
    def other_parts(self) -> list[dict[str, object]]:
        """What differs beside turns."""
        return [{"part": each.part, "diff": each.lines} for each in self.changes if each.part != "turn"]

    @property
    def exit_code(self) -> int:
        """1 if the contexts differ, otherwise 0, as for `diff`."""
        return 1 if self.changes else 0


def diff_contexts(
    repository: Repository,
    request: Request,
    choice: TokenizerChoice,
    cache_directory: str,
    names: tuple[str, str | None],
) -> ContextDifference:
    """Build the contexts of two revisions with the same options, and compare them; `names` are those of `diff`.

    Raises:
        NotFound, Ambiguous, Invalid: as `diff` and `context` do.
    """
    sides = resolve_sides(repository, *names)
    one, two = (_build(repository, request, choice, cache_directory, side) for side in sides)
    notes = dict.fromkeys(Note(note.text, note.hint) for built in (one, two) for note in built.notes)
    sides = _clear_names(sides, gate_of(repository, request.secrets))
    return ContextDifference(
        left=ContextSide(sides[0], one.tokens_used, one.turns_included),
        right=ContextSide(sides[1], two.tokens_used, two.turns_included),
        max_tokens=one.max_tokens,
        method=one.method,
        changes=tuple(_walk_changes(one, two)),
        notes=tuple(notes),
    )


def _clear_names(sides: tuple[DiffSide, DiffSide], gate: Gate) -> tuple[DiffSide, DiffSide]:
    """Return the sides with the names of branches and conversations as they may leave, if the gate redacts.

    One that refuses has refused the contexts, which name both.
    """
    if gate.mode != "redact":
        return sides

    def clear(side: DiffSide) -> DiffSide:
        place = side.revision
        branch = None if place.branch is None else BranchName(gate.clear_text(place.branch, "the context"))
        conversation = ConversationId(gate.clear_text(place.conversation, "the context"))
        revision = place._replace(conversation=conversation, branch=branch)
        return replace(side, name=gate.clear_text(side.name, "the context"), revision=revision)

    left, right = sides
    return clear(left), clear(right)


def _build(
    repository: Repository, request: Request, choice: TokenizerChoice, cache_directory: str, side: DiffSide
) -> Context:
    """Build the context of one side; files have their recorded content on both sides."""
    request = request.as_of(side.revision.conversation, side.revision.oid)
    return context(repository, request, choice, cache_directory)


def _walk_changes(one: Context, two: Context) -> Iterator[ContextChange]:
    if one.summary != two.summary:
        yield ContextChange("summary", None, None, _diff_texts(one.summary or "", two.summary or ""))
    if one.decisions_text != two.decisions_text:
        yield ContextChange("decisions", None, None, _diff_texts(one.decisions_text, two.decisions_text))
    yield from _changed_turns(one.messages, two.messages)
    if one.files_text != two.files_text:
        yield ContextChange("files", None, None, _diff_texts(one.files_text, two.files_text))


def _changed_turns(one: Sequence[ContextMessage], two: Sequence[ContextMessage]) -> Iterator[ContextChange]:
    """Yield the turns of one context, and those with the same message and another text, in the order of both."""
    for tag, start, end, other_start, other_end in _compare([turn.id for turn in one], [turn.id for turn in two]):
        if tag == "equal":
            for left, right in zip(one[start:end], two[other_start:other_end], strict=True):
                if left.text != right.text:
                    yield ContextChange("turn", left, right, _diff_texts(left.text, right.text))
        else:
            for left in one[start:end]:
                yield ContextChange("turn", left, None, _diff_texts(left.text, ""))
            for right in two[other_start:other_end]:
                yield ContextChange("turn", None, right, _diff_texts("", right.text))


def _compare(one: list[str], two: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """Return the opcodes of a SequenceMatcher, which are mirrored if the sides are exchanged.

    Those of the standard library are not: of two turns that changed places it keeps one, which depends on the side.
    """
    if one <= two:
        return SequenceMatcher(None, one, two, autojunk=False).get_opcodes()
    mirrored = SequenceMatcher(None, two, one, autojunk=False).get_opcodes()
    return [(tag, start, end, other_start, other_end) for tag, other_start, other_end, start, end in mirrored]


def _diff_texts(one: str, two: str) -> tuple[str, ...]:
    """Return the lines of a unified diff: only the changed ones if one of the texts is empty."""
    left, right = one.splitlines(), two.splitlines()
    if not left or not right:
        return (*(f"-{line}" for line in left), *(f"+{line}" for line in right))
    return diff_lines(left, right)
