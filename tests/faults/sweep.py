"""Break a command at each of its calls in each way, and check the state afterwards."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.faults.injection import MODES, MODES_OF_CHILDREN, Call
from tests.faults.sandbox import Outcome, Sandbox
from tests.faults.verbs import Verb

COMMAND_SEED, AGAIN_SEED, GC_SEED = 5000, 6000, 7000
KILLED = -9
EXIT_CODES = {0, 1, 6, 7, 8, 130}  # what a broken disk or an interrupt may lead to; 70 would be a bug
INTERRUPTED, ONE_MORE = (
    "was interrupted after it had committed",
    "this is one more step back; the last undo took back:",
)
READ = ("refused", "refs", "settings", "messages", "texts")
WRITES = {"write", "pwrite", "pwrite64"}


class Point(NamedTuple):
    """One call of one command, and how to break it."""

    verb: Verb
    mode: str
    at: int


class Verdict(NamedTuple):
    """The result of a point: a row of the outcome table, and the failures."""

    point: Point
    code: int
    state: str
    complaints: list[str]


@dataclass
class Expectation:
    """The states that a reader may see, oldest first, each with the state after running `again` from there."""

    calls: list[Call] = field(default_factory=list)
    states: list[dict] = field(default_factory=list)
    states_after_again: list[dict] = field(default_factory=list)


def learn(sandbox: Sandbox, verb: Verb, template: str | None) -> Expectation:
    """Run a command unbroken and record its calls and the states before, during and after."""
    expectation = Expectation()
    inputs = [(verb.arguments, text) for text in verb.steps or ("",)]
    for arguments, text in [((), ""), *([(verb.through, "")] if verb.through else []), *inputs]:
        sandbox.restore(template)
        with sandbox.injector.armed(sandbox.data, log=True):
            outcome = sandbox.run(list(arguments), seed=COMMAND_SEED, stdin=text, injected=True) if arguments else None
        assert outcome is None or outcome.code == verb.code, (verb.name, outcome)
        expectation.calls = sandbox.injector.calls(sandbox.data)
        expectation.states.append(sandbox.describe())
        again = sandbox.run(list(verb.again), seed=AGAIN_SEED)
        assert again.code == verb.code, (verb.name, "again", again)
        expectation.states_after_again.append(sandbox.describe())
    return expectation


def list_points(verb: Verb, expectation: Expectation) -> list[Point]:
    """List every call of a verb with every way to break it; only a write can be short."""
    return [
        Point(verb, mode, call.number)
        for mode in (*MODES, *(MODES_OF_CHILDREN if verb.starts_git else ()))
        for call in expectation.calls
        if mode != "short-write" or call.name in WRITES
    ]


def check(sandbox: Sandbox, point: Point, template: str | None, expectation: Expectation) -> Verdict:
    """Break one call and check every guarantee."""
    sandbox.restore(template)
    mode = (MODES | MODES_OF_CHILDREN)[point.mode]
    with sandbox.injector.armed(sandbox.data, mode, point.at):
        outcome = sandbox.run(list(point.verb.arguments), seed=COMMAND_SEED, stdin=point.verb.stdin, injected=True)
    complaints = [] if sandbox.injector.fired else ["the injection did not fire"]
    index = find_state(sandbox.describe(), expectation, complaints)
    complaints += judge_outcome(outcome, point, index, expectation)
    complaints += judge_structure(sandbox)
    complaints += judge_again(sandbox, point.verb, index, expectation)
    complaints += judge_leftovers(sandbox)
    return Verdict(point, outcome.code, _name_state(index, expectation), complaints)


def find_state(seen: dict, expectation: Expectation, complaints: list[str]) -> int | None:
    """Return the last expected state equal to what a reader sees; None if there is none."""
    complaints += [f"reader: {problem}" for problem in seen.get("problems", [])]
    complaints += [f"verify: {finding}" for finding in seen.get("verify", []) if finding.startswith("error")]
    for index in reversed(range(len(expectation.states))):
        if _same(seen, expectation.states[index]):
            return index
    complaints.append(f"another state: {_difference(expectation.states[-1], seen)}")
    return None


def judge_outcome(outcome: Outcome, point: Point, index: int | None, expectation: Expectation) -> Iterator[str]:
    """Compare exit code and standard error with the state of the store."""
    code, lines = outcome.code, outcome.stderr.splitlines()
    if point.mode == "kill" and code != KILLED:
        yield f"it was not killed: exit {code}"
    if code == KILLED and point.mode in {"kill", *MODES_OF_CHILDREN}:
        return
    if code not in {*EXIT_CODES, point.verb.code}:
        yield f"exit code {code}: {outcome.stderr.strip()[-300:]}"
    if "Traceback" in outcome.stderr or (code != point.verb.code and not 1 <= len(lines) <= 2):
        yield f"standard error: {outcome.stderr.strip()[-300:]!r}"
    last = len(expectation.states) - 1
    if code == point.verb.code and index != last:
        yield f"false success: exit {code}, and the new state is not there"
    acknowledged = outcome.stdout.count("\n") if point.verb.steps else 0
    stored = point.verb.steps[index - 1].count("\n") if point.verb.steps and index else 0
    recorded = stored if point.verb.steps else int(index == last and not _same(*_ends(expectation)))
    if (
        code != point.verb.code
        and recorded > acknowledged
        and not point.verb.idempotent
        and "recorded" not in outcome.stderr
    ):
        yield f"exit {code} without a word that it was recorded: {outcome.stderr.strip()!r}"
    if point.verb.steps and acknowledged > recorded:
        yield f"{acknowledged} messages acknowledged, {recorded} are there"


def judge_structure(sandbox: Sandbox) -> Iterator[str]:
    """Run `git fsck`; during a pending operation only the active branch may be missing."""
    pending = sandbox.has_ref("refs/scopes/pending")
    for line in sandbox.fsck():
        if not (pending and re.match("error: refs/scopes/active/[^:]*: invalid sha1 pointer 0{40}", line)):
            yield f"fsck: {line}"


def judge_again(sandbox: Sandbox, verb: Verb, index: int | None, expectation: Expectation) -> Iterator[str]:
    """Run the second command of the kind: it must succeed without a manual step and give the expected state."""
    outcome = sandbox.run(list(verb.again), seed=AGAIN_SEED)
    if outcome.code != verb.code:
        yield f"the next command failed: exit {outcome.code}: {outcome.stderr.strip()!r}"
    elif index is not None:
        seen = sandbox.describe()
        only_finished = INTERRUPTED in outcome.stderr
        expected = (expectation.states if only_finished else expectation.states_after_again)[index]
        if not _same(seen, expected):
            yield f"the next command led elsewhere: {_difference(expected, seen)}"
        is_last = index == len(expectation.states) - 1
        if (
            verb.arguments[0] == verb.again[0] == "undo"
            and is_last
            and not only_finished
            and ONE_MORE not in outcome.stderr
        ):
            yield f"a second undo took back one more step without a word: {outcome.stderr.strip()!r}"
        yield from (f"verify after the next command: {f}" for f in seen.get("verify", []) if f.startswith("error"))
        yield from (f"fsck after the next command: {line}" for line in sandbox.fsck())


def judge_leftovers(sandbox: Sandbox) -> Iterator[str]:
    """Run gc if there are leftover files, and check that it removed them."""
    if not sandbox.leftovers():
        return
    before = sandbox.describe()
    outcome = sandbox.run(["gc"], seed=GC_SEED)
    if outcome.code != 0:
        yield f"gc failed: exit {outcome.code}: {outcome.stderr.strip()!r}"
    yield from (f"gc left {path}" for path in sandbox.leftovers())
    if not _same(sandbox.describe(), before):
        yield "gc changed what a reader sees"
    yield from (f"fsck after gc: {line}" for line in sandbox.fsck())


def tabulate(verdicts: Iterable[Verdict]) -> list[str]:
    """Count outcomes: one line for each verb, mode, exit code and state."""
    rows = Counter((v.point.verb.name, v.point.mode, v.code, v.state, bool(v.complaints)) for v in verdicts)
    return [
        f"{count:5}  {verb:20} {mode:14} exit {code:4}  {state:7} {'COMPLAINTS' if bad else ''}".rstrip()
        for (verb, mode, code, state, bad), count in sorted(rows.items())
    ]


def _same(one: dict, other: dict) -> bool:
    return all(one.get(key) == other.get(key) for key in READ)


def _ends(expectation: Expectation) -> tuple[dict, dict]:
    return expectation.states[0], expectation.states[-1]


def _name_state(index: int | None, expectation: Expectation) -> str:
    if index is None:
        return "OTHER"
    last = len(expectation.states) - 1
    return "before" if index == 0 else "after" if index == last else f"step {index}"


def _difference(expected: dict, seen: dict) -> str:
    for key in READ:
        one, other = expected.get(key), seen.get(key)
        if isinstance(one, dict) and isinstance(other, dict):
            names = [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]
            if names:
                return "; ".join(f"{n}: expected {one.get(n)}, seen {other.get(n)}" for n in names[:3])
        elif one != other:
            return f"{key}: expected {str(one)[:200]}, seen {str(other)[:200]}"
    return "none"
