"""Write the decisions in effect as a section of a context, and mark turns whose decision is no longer in effect.

The section has a fixed share of the budget, and the newest decisions come first: a larger budget never loses one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from scopes.context.truncate import Count
from scopes.ids import Oid
from scopes.model.canonical_json import without_none
from scopes.sanitize import clip, line_for_prompt

if TYPE_CHECKING:
    from scopes.conversation.decisions import StatedDecision

DECISIONS_HEADING = "## Decisions in effect\n\n"
DECISIONS_LABEL = "Decisions in effect:\n"
DECISION_SHARE = 20  # hundredths of the budget
_MAX_TOPIC, _MAX_DECISION, _MAX_REASON, _MAX_NAME = 80, 300, 200, 60  # characters
_MAX_NAMED = 20  # topics in a warning


class ContextDecision(NamedTuple):
    """A decision in effect at the revision of a context; `kept` is False if the section had no room for it.

    `number` is that of the newest message that states it; of a decision that a resolution took, that of the decision.
    `resolved_by` and `reason` are set if a conflict about it was resolved. It is `disputed` while a merge in progress
    has an open conflict about its topic.
    """

    topic: str
    decision: str
    author: str
    conversation: str
    number: int
    resolved_by: str | None = None
    reason: str | None = None
    kept: bool = False
    disputed: bool = False

    def document(self) -> dict[str, object]:
        """Return the decision as a JSON object; the key of its conversation is `session`."""
        values = self._asdict()
        values["session"] = values.pop("conversation")
        return without_none(**values)

    def line(self, *, named: bool) -> str:
        """Return the decision as one line of a list, safe for a prompt."""
        resolved = ""
        if self.resolved_by is not None:
            because = f": {clip(self.reason, _MAX_REASON)}" if self.reason else ""
            resolved = f"; resolved by {clip(self.resolved_by, _MAX_NAME)}{because}"
        open_conflict = "; undecided: a merge is in progress, and its other side differs" if self.disputed else ""
        place = f"{self.conversation} {self.number}" if named else f"{self.number}"
        text = f"{clip(self.topic, _MAX_TOPIC)}: {clip(self.decision, _MAX_DECISION)}"
        origin = f"message {place}, by {clip(self.author, _MAX_NAME)}{resolved}{open_conflict}"
        return f"- {line_for_prompt(f'{text} ({origin})')}\n"


class FittedDecisions(NamedTuple):
    """The section with the decisions that fit, and all decisions in effect; `text` is empty if none fits."""

    text: str
    tokens: int
    decisions: tuple[ContextDecision, ...]

    @property
    def warning(self) -> str | None:
        """Return a warning that names the decisions without room; None if all fit."""
        topics = [line_for_prompt(clip(each.topic, _MAX_TOPIC)) for each in self.decisions if not each.kept]
        more = f" and {len(topics) - _MAX_NAMED} more" if len(topics) > _MAX_NAMED else ""
        names = ", ".join(topics[:_MAX_NAMED]) + more
        return f"decisions in effect without room: {names} (raise --max-tokens)" if topics else None


def in_effect(conversation: str, stated: Sequence[StatedDecision]) -> list[ContextDecision]:
    """Return the decisions in effect, each once, the newest first, in the spelling of the topic that was used last."""
    found: dict[tuple[str, str], ContextDecision] = {}
    for each in reversed(stated):
        if each.row.state != "in-effect":
            continue
        key = each.row.key, each.row.decision
        author, before = each.row.head.author, found.get(key)
        if before is None:
            found[key] = ContextDecision(
                each.row.topic, each.row.decision, author, conversation, each.number, each.resolved_by, each.reason,
                disputed=each.disputed,
            )  # fmt: skip
        elif each.resolved_by is None and before.resolved_by is not None and before.author == before.resolved_by:
            found[key] = before._replace(author=author, number=each.number)  # the decision that it took
    return list(found.values())


def outdated_marks(stated: Sequence[StatedDecision]) -> Mapping[Oid, str]:
    """Return a mark for each message with a decision that is no longer in effect, by commit."""
    marks = {}
    for each in stated:
        state = each.row.state
        if state == "superseded" and each.disputed:
            marks[each.row.head.oid] = "[undecided: a merge is in progress, and its other side differs]"
        elif state != "in-effect":
            by = "" if each.replaced_by is None else f" by {clip(' '.join(each.replaced_by.split()), _MAX_DECISION)}"
            marks[each.row.head.oid] = f"[{state}{by}]"
    return marks


def fit_decisions(decisions: Sequence[ContextDecision], heading: str, room: int, count: Count) -> FittedDecisions:
    """Return the section with the first decisions, as many as fit into the room."""
    named = len({each.conversation for each in decisions}) > 1
    lines = [each.line(named=named) for each in decisions]

    def section(number: int) -> str:
        return f"{heading}{''.join(lines[:number])}\n"

    kept = bisect_right(range(1, len(lines) + 1), room, key=lambda number: count(section(number)))
    text = section(kept) if kept else ""
    marked = tuple(each._replace(kept=number < kept) for number, each in enumerate(decisions))
    return FittedDecisions(text, count(text) if text else 0, marked)
