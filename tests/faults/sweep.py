"""Breaking a command at each of its calls in each way, and what must hold afterwards, whichever call it was."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.faults.injection import MODES, MODES_OF_CHILDREN, Call
from tests.faults.verbs import Verb
from tests.faults.world import Outcome, World

COMMAND_SEED, AGAIN_SEED, GC_SEED = 5000, 6000, 7000
KILLED = -9
EXIT_CODES = {0, 1, 6, 7, 8, 130}  # what a broken disk or an interrupt may lead to; 70 would be a bug
READ = ("refused", "refs", "settings", "messages", "texts")
WRITES = {"write", "pwrite", "pwrite64"}


class Point(NamedTuple):
    """One call of one command, and how to break it."""

    verb: Verb
    mode: str
    at: int


class Verdict(NamedTuple):
    """What became of a point: a row of the outcome table, and everything that should not be."""

    point: Point
    code: int
    state: str
    complaints: list[str]


@dataclass
class Expectation:
    """The states that a reader may see, oldest first, each with the state that `again` leads to from there."""

    calls: list[Call] = field(default_factory=list)
    states: list[dict] = field(default_factory=list)
    states_after_again: list[dict] = field(default_factory=list)


def learn(world: World, verb: Verb, template: str | None) -> Expectation:
    """Run a verb unbroken to learn its calls and the states before, on the way and after."""
    expectation = Expectation()
    inputs = [(verb.arguments, text) for text in verb.steps or ("",)]
    for arguments, text in [((), ""), *([(verb.through, "")] if verb.through else []), *inputs]:
        world.restore(template)
        with world.injector.armed(world.data, log=True):
            outcome = world.run(list(arguments), seed=COMMAND_SEED, stdin=text, injected=True) if arguments else None
        assert outcome is None or outcome.code == verb.code, (verb.name, outcome)
        expectation.calls = world.injector.calls(world.data)
        expectation.states.append(world.describe())
        again = world.run(list(verb.again), seed=AGAIN_SEED)
        assert again.code == verb.code, (verb.name, "again", again)
        expectation.states_after_again.append(world.describe())
    return expectation


def list_points(verb: Verb, expectation: Expectation) -> list[Point]:
    """List every call of a verb with every way to break it; only a write can be short."""
    return [
        Point(verb, mode, call.number)
        for mode in (*MODES, *(MODES_OF_CHILDREN if verb.starts_git else ()))
        for call in expectation.calls
        if mode != "short-write" or call.name in WRITES
    ]


def check(world: World, point: Point, template: str | None, expectation: Expectation) -> Verdict:
    """Break one call and look at everything that is promised."""
    world.restore(template)
    mode = (MODES | MODES_OF_CHILDREN)[point.mode]
    with world.injector.armed(world.data, mode, point.at):
        outcome = world.run(list(point.verb.arguments), seed=COMMAND_SEED, stdin=point.verb.stdin, injected=True)
    complaints = [] if world.injector.fired else ["the injection did not fire"]
    index = find_state(world.describe(), expectation, complaints)
    complaints += judge_outcome(outcome, point, index, expectation)
    complaints += judge_structure(world)
    complaints += judge_again(world, point.verb, index, expectation)
    complaints += judge_leftovers(world)
    return Verdict(point, outcome.code, _name_state(index, expectation), complaints)


def find_state(seen: dict, expectation: Expectation, complaints: list[str]) -> int | None:
    """Return which of the expected states a reader sees, the last that fits; None where it is another one."""
    complaints += [f"reader: {problem}" for problem in seen.get("problems", [])]
    complaints += [f"verify: {finding}" for finding in seen.get("verify", []) if finding.startswith("error")]
    for index in reversed(range(len(expectation.states))):
        if _same(seen, expectation.states[index]):
            return index
    complaints.append(f"another state: {_difference(expectation.states[-1], seen)}")
    return None


def judge_outcome(outcome: Outcome, point: Point, index: int | None, expectation: Expectation) -> Iterator[str]:
    """Compare exit code and standard error with what really happened."""
    code, lines = outcome.code, outcome.stderr.splitlines()
    if point.mode == "kill" and code != KILLED:
        yield f"it was not killed: exit {code}"
    if code == KILLED and point.mode in {"kill", *MODES_OF_CHILDREN}:
        return
    if code not in {*EXIT_CODES, point.verb.code}:
        yield f"exit code {code}: {outcome.stderr.strip()[-300:]}"
    if "Traceback" in outcome.stderr or len(lines) > 2 or (code != point.verb.code and not lines):
        yield f"standard error: {outcome.stderr.strip()[-300:]!r}"
    last = len(expectation.states) - 1
    if code == point.verb.code and index != last:
        yield f"false success: exit {code}, and the new state is not there"
    told = outcome.stdout.count("\n") if point.verb.steps else 0
    recorded = (index or 0) if point.verb.steps else int(index == last and not _same(*_ends(expectation)))
    if code != point.verb.code and recorded > told and not point.verb.idempotent and "recorded" not in outcome.stderr:
        yield f"exit {code} without a word that it was recorded: {outcome.stderr.strip()!r}"
    if point.verb.steps and told > recorded:
        yield f"{told} messages acknowledged, {recorded} are there"


def judge_structure(world: World) -> Iterator[str]:
    """Let git check the store; between two refs of a pending operation an active branch may be gone, and nothing else."""
    pending = world.has_ref("refs/scopes/pending")
    for line in world.fsck():
        if not (pending and re.match("error: refs/scopes/active/[^:]*: invalid sha1 pointer 0{40}", line)):
            yield f"fsck: {line}"


def judge_again(world: World, verb: Verb, index: int | None, expectation: Expectation) -> Iterator[str]:
    """Run the second command of the kind: it works with no manual step and leads where it should."""
    outcome = world.run(list(verb.again), seed=AGAIN_SEED)
    if outcome.code != verb.code:
        yield f"the next command failed: exit {outcome.code}: {outcome.stderr.strip()!r}"
    elif index is not None:
        seen = world.describe()
        if not _same(seen, expectation.states_after_again[index]):
            yield f"the next command led elsewhere: {_difference(expectation.states_after_again[index], seen)}"
        yield from (f"verify after the next command: {f}" for f in seen.get("verify", []) if f.startswith("error"))
        yield from (f"fsck after the next command: {line}" for line in world.fsck())


def judge_leftovers(world: World) -> Iterator[str]:
    """Let gc tidy up where there is something to tidy, and see whether it did."""
    if not world.leftovers():
        return
    before = world.describe()
    outcome = world.run(["gc"], seed=GC_SEED)
    if outcome.code != 0:
        yield f"gc failed: exit {outcome.code}: {outcome.stderr.strip()!r}"
    yield from (f"gc left {path}" for path in world.leftovers())
    if not _same(world.describe(), before):
        yield "gc changed what a reader sees"
    yield from (f"fsck after gc: {line}" for line in world.fsck())


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
