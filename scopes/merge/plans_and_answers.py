"""Compare the to-do lists of both sides of a merge, and the user's answers to the agents' questions.

Both are read from tool calls. Two answers to one question are a conflict, whose resolution becomes a claim below
`answers/`. A step of both plans with two statuses is one that never stops a merge, and has no claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from scopes.merge.conflict_keys import folded
from scopes.merge.detection import Disagreement
from scopes.merge.side_calls import SideCall
from scopes.model.agent_tools import QUESTION_LISTS, STEP_LISTS, STEP_TEXTS
from scopes.model.claims import ANSWERS, PLANS
from scopes.model.conflicts import PLAN_DIVERGENCE, Conflict, Position, conflict_id
from scopes.model.path_encoding import encode_component

MAX_STEPS = 500  # of a plan
ANSWER_MARKS = tuple(f'"{name}"'.encode() for name in QUESTION_LISTS)
"""What the stored bytes of a message with an answer contain."""
MARKS = (*(f'"{name}"'.encode() for name in STEP_LISTS), *ANSWER_MARKS)
"""What the stored bytes of a message with a plan or an answer contain."""
_TYPE = "contradictory-answer"
FROM_CALLS = frozenset({_TYPE, PLAN_DIVERGENCE})
"""The types of conflicts that are found in tool calls, not in claims."""
_MAX_QUESTION = 200  # characters of a question in its key
_USER = "user"


class PlanStep(NamedTuple):
    """A step that both sides gave another status; `base` is its status at the merge base, None if it was not there."""

    text: str
    target: str
    source: str
    base: str | None = None


class PlanDivergence(NamedTuple):
    """A step that both sides gave another status, with the calls that did; the values are the statuses."""

    text: str
    target: Position
    source: Position
    base: Position | None = None

    @property
    def step(self) -> PlanStep:
        """The step and its statuses."""
        return PlanStep(self.text, self.target.value, self.source.value, None if self.base is None else self.base.value)

    @property
    def key(self) -> str:
        """The key of the conflict about the step."""
        return f"{PLANS}/{encode_component(_shortened(folded(self.text)))}"

    @property
    def disagreement(self) -> Disagreement:
        """The conflict as detection finds one, without a claim."""
        return Disagreement(self.key, PLAN_DIVERGENCE, {}, {})

    @property
    def conflict(self) -> Conflict:
        """The conflict about the step."""
        base = () if self.base is None else (self.base,)
        values = [[position.value for position in side] for side in (base, (self.source,), (self.target,))]
        return Conflict(
            id=conflict_id(PLAN_DIVERGENCE, self.key, *values),
            type=PLAN_DIVERGENCE,
            key=self.key,
            base=base,
            source=(self.source,),
            target=(self.target,),
        )


def compare_plans(
    target: Iterable[SideCall], source: Iterable[SideCall], before: Iterable[SideCall]
) -> tuple[PlanDivergence, ...]:
    """Return the steps of the last plans of both sides whose status differs, and was changed by both."""
    base, own, other = (_last_plan(calls) for calls in (before, target, source))
    found = []
    for key, (text, status) in own.items():
        old, new = base.get(key), other.get(key, (text, status))[1]
        if new.value != status.value and (old is None or old[1].value not in {status.value, new.value}):
            found.append(PlanDivergence(text, status, new, None if old is None else old[1]))
    return tuple(found)


def has_plan(calls: Iterable[SideCall]) -> bool:
    """Return True if a call sets a to-do list."""
    return bool(_last_plan(calls))


def deciding_calls(calls: Sequence[SideCall]) -> list[SideCall]:
    """Return the calls that decide: the last one that sets a to-do list, and those with an answer; in order."""
    last = next((call for call in reversed(calls) if _plan_of(call) is not None), None)
    return [call for call in calls if call is last or any(_walk_answers([call]))]


def find_answer_conflicts(
    target: Iterable[SideCall], source: Iterable[SideCall]
) -> list[tuple[Disagreement, Conflict]]:
    """Return a conflict for each question that the user answered differently on the two sides."""
    own, other = dict(_walk_answers(target)), dict(_walk_answers(source))
    found = []
    for question in sorted(own.keys() & other.keys()):
        if folded(own[question].value) != folded(other[question].value):
            key = f"{ANSWERS}/{encode_component(question)}"
            sides = (other[question],), (own[question],)
            identity = conflict_id(_TYPE, key, [], [sides[0][0].value], [sides[1][0].value])
            conflict = Conflict(id=identity, type=_TYPE, key=key, base=(), source=sides[0], target=sides[1])
            found.append((Disagreement(key, _TYPE, {}, {}), conflict))
    return found


def _last_plan(calls: Iterable[SideCall]) -> dict[str, tuple[str, Position]]:
    """Return text and status of the steps of the last plan, by folded text."""
    steps: Sequence[Any] = ()
    last: SideCall | None = None
    for call in calls:
        plan = _plan_of(call)
        if plan is not None:
            steps, last = plan, call
    found: dict[str, tuple[str, Position]] = {}
    for step in steps[:MAX_STEPS]:
        fields = step if isinstance(step, Mapping) else {}
        text = next((value for name in STEP_TEXTS if isinstance(value := fields.get(name), str)), None)
        status = fields.get("status")
        if text is not None and isinstance(status, str) and last is not None:
            found[folded(text)] = text, Position(status, last.message, last.agent)
    return found


def _plan_of(call: SideCall) -> Sequence[Any] | None:
    """Return the to-do list that a call sets; None if it sets none."""
    given = None if call.call is None or call.failed else call.call.fields.get("input")
    lists = (given.get(name) for name in STEP_LISTS) if isinstance(given, Mapping) else ()
    return next((each for each in lists if isinstance(each, list)), None)


def _walk_answers(calls: Iterable[SideCall]) -> Iterator[tuple[str, Position]]:
    """Yield questions and answers, the newest last; a long question is shortened and gets a hash."""
    for call in calls:
        lists = () if call.failed else (call.structured.get(name) for name in QUESTION_LISTS)
        for answers in lists:
            for question, answer in answers.items() if isinstance(answers, dict) else ():
                if isinstance(answer, str) and answer.strip():
                    yield _shortened(" ".join(folded(question).split())), Position(answer, call.message, _USER)


def _shortened(question: str) -> str:
    if len(question) <= _MAX_QUESTION:
        return question
    return f"{question[:_MAX_QUESTION]}… {sha256(question.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
