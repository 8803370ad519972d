"""`bisect`: find the first message at which a test fails, by binary search along the line of first parents.

Nothing is checked out and nothing is stored: the caller's judge gets each message that is tested.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, log2
from shlex import quote
from typing import Literal, NamedTuple, TypeAlias

from scopes.errors import Refused
from scopes.history.activity import with_summary
from scopes.history.messages import MessageHeader, header_of, is_root
from scopes.history.names import Revision, resolve_revision
from scopes.ids import ConversationId, Oid
from scopes.result import Result
from scopes.store.objects import Commit, read_commit
from scopes.store.repository import Repository

GOOD, BAD, SKIP = 0, 1, 125
ABORT_FROM = 128
Verdict: TypeAlias = Literal["good", "bad", "skip"]


class BisectPoint(NamedTuple):
    """A commit of the searched line; `head` is None at the root, before the first message."""

    conversation: ConversationId
    oid: Oid
    head: MessageHeader | None


class BisectStep(NamedTuple):
    """One run of the test; `role` is `good` or `bad` if it only checked that end of the line."""

    point: BisectPoint
    verdict: Verdict
    code: int
    role: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisection(Result):
    """What the search found; `first_bad` is None if skipped messages hide it: then it is one of `candidates`.

    good, bad: the ends of the search. candidates: oldest first. steps: every run of the test, in order.
    """

    conversation: ConversationId
    good: BisectPoint
    bad: BisectPoint
    first_bad: MessageHeader | None
    candidates: tuple[MessageHeader, ...]
    skipped: tuple[MessageHeader, ...]
    steps: tuple[BisectStep, ...]

    @property
    def exit_code(self) -> int:
        """0 if the first bad message was found, otherwise 1."""
        return 0 if self.first_bad is not None else 1


Judge: TypeAlias = Callable[[BisectPoint], int]
OnStep: TypeAlias = Callable[[BisectPoint, int], object]


def bisect(
    repository: Repository,
    conversation: str,
    judge: Judge,
    *,
    good: str | None = None,
    bad: str | None = None,
    verify: bool = True,
    on_step: OnStep = lambda _point, _left: None,
) -> Bisection:
    """Find the first bad message after `good` (default: the root) up to `bad` (default: the tip of the branch).

    judge: returns an exit code for a commit: 0 is good, 125 cannot be tested, 128 and above stop the search, all others
        are bad, as in `git bisect run`.
    verify: first check that the judge calls `good` good and `bad` bad.
    on_step: called before each run with the commit and the number of messages that may still be the first bad one.

    Raises:
        NotFound, Ambiguous: a revision cannot be resolved.
        Refused: `good` is not on the line of first parents below `bad`, the ends are not as said, or the judge stopped.
    """
    line = _read_line(repository, conversation, good, bad)

    def report(point: BisectPoint, left: int) -> None:
        head = None if point.head is None else with_summary(repository, point.head)
        on_step(point._replace(head=head), left)

    search = _Search(judge, report, len(line) - 1)
    if verify:
        search.verify(line[0], GOOD)
        search.verify(line[-1], BAD)
    low, high, skipped = search.run(line)
    heads = [with_summary(repository, point.head) for point in line[low + 1 : high + 1] if point.head is not None]
    return Bisection(
        conversation=line[-1].conversation,
        good=line[0],
        bad=line[-1],
        first_bad=heads[0] if len(heads) == 1 else None,
        candidates=tuple(heads) if len(heads) > 1 else (),
        skipped=tuple(with_summary(repository, head) for point in skipped if (head := point.head) is not None),
        steps=tuple(search.steps),
    )


def count_steps(messages: int) -> int:
    """Return about how many runs are left if `messages` messages may be the first bad one."""
    return ceil(log2(messages)) if messages > 1 else 0


def exit_code_of(verdict: object) -> int:
    """Return the exit code of a verdict: True is good, False is bad, None cannot be tested.

    Raises:
        TypeError: it is something else, such as an exit code, of which 0 would be good.
    """
    if verdict is None:
        return SKIP
    if not isinstance(verdict, bool):
        raise TypeError(f"a judge returns True (good), False (bad) or None (cannot be tested), not {verdict!r}")
    return GOOD if verdict else BAD


def _read_line(repository: Repository, conversation: str, good: str | None, bad: str | None) -> list[BisectPoint]:
    """Return the commits from the good to the bad one along first parents, oldest first."""
    revision = resolve_revision(repository, conversation)
    if bad is not None:
        revision = resolve_revision(repository, bad, revision.conversation)
    start = None if good is None else resolve_revision(repository, good, revision.conversation)
    commit = read_commit(repository, revision.oid)
    points = [_point(revision, commit)]
    while not is_root(commit) and commit.parents and (start is None or commit.oid != start.oid):
        commit = read_commit(repository, commit.parents[0])
        points.append(_point(revision, commit))
    if start is not None and commit.oid != start.oid:
        raise Refused(
            f"the good message {good} is not on the line of first parents below {bad or conversation}",
            hint=f"see: scopes log {quote(conversation)} --graph",
        )
    if len(points) < 2:
        raise Refused("there is no message between good and bad", hint="see: scopes help bisect run")
    return points[::-1]


def _point(revision: Revision, commit: Commit) -> BisectPoint:
    head = None if is_root(commit) else header_of(commit)
    return BisectPoint(revision.conversation, commit.oid, head)


class _Search:
    """The runs of the judge so far."""

    def __init__(self, judge: Judge, on_step: OnStep, left: int) -> None:
        self._judge = judge
        self._on_step = on_step
        self._left = left
        self.steps: list[BisectStep] = []

    def verify(self, point: BisectPoint, expected: int) -> None:
        """Refuse an end of the line that the judge does not call what it is said to be."""
        role = "good" if expected == GOOD else "bad"
        verdict = self._run(point, role)
        if verdict != role:
            code = self.steps[-1].code
            outcome = "it could not be tested" if verdict == "skip" else f"exit code {code}"
            raise Refused(
                f"{_name(point)}, the {role} end of the search, is {verdict} for the command ({outcome})",
                hint=f"name another one with --{role}; without --max-tokens the command reads the whole context",
            )

    def run(self, line: list[BisectPoint]) -> tuple[int, int, list[BisectPoint]]:
        """Return the positions of the last good and the first bad commit, and the skipped ones between them."""
        low, high = 0, len(line) - 1
        skipped: set[int] = set()
        while untested := [position for position in range(low + 1, high) if position not in skipped]:
            self._left = high - low
            position = min(untested, key=lambda each: abs(2 * each - low - high))
            verdict = self._run(line[position], None)
            if verdict == "skip":
                skipped.add(position)
            elif verdict == "good":
                low = position
            else:
                high = position
        return low, high, [line[position] for position in sorted(skipped) if low < position < high]

    def _run(self, point: BisectPoint, role: str | None) -> Verdict:
        self._on_step(point, self._left)
        code = self._judge(point)
        if code < 0 or code >= ABORT_FROM:
            how = f"exit code {code}" if code > 0 else f"signal {-code}"
            raise Refused(f"the command stopped the search at {_name(point)} with {how}")
        verdict: Verdict = "good" if code == GOOD else "skip" if code == SKIP else "bad"
        self.steps.append(BisectStep(point, verdict, code, role))
        return verdict


def _name(point: BisectPoint) -> str:
    return f"message {point.head.id[:8]}" if point.head is not None else f"the beginning of {point.conversation}"
