"""P2, P3, P4, P12: every command that writes, broken at every call in every way, leaves before or after and says which.

What must hold is in `sweep`. An ordinary run takes a sample that is another one every day; `-m sweep` takes all of it and
prints how each command ended.
"""

from __future__ import annotations

import random

import pytest

from tests.faults.injection import MODES
from tests.faults.seed import todays_seed
from tests.faults.sweep import AGAIN_SEED, COMMAND_SEED, Point, check, find_state, learn, list_points, tabulate
from tests.faults.verbs import FULL, NO_STORE, VERBS, Verb
from tests.support.examples import amount, sample

pytestmark = pytest.mark.needs_gcc

VERBS_IN_A_SAMPLE, POINTS_OF_EACH = amount(4, 2), 5
PARTS = 8  # of a sweep: the points of an import take half an hour
BY_NAME = {verb.name: verb for verb in VERBS}


def sweep(sandbox, template, verb: Verb, chosen: slice, rng: random.Random | None = None) -> list:
    """Break a verb at the chosen points, which are mixed before by `rng`, and return the verdicts."""
    expectation = learn(sandbox, verb, template)
    points = list_points(verb, expectation)
    if rng is not None:
        rng.shuffle(points)
    return [check(sandbox, point, template, expectation) for point in points[chosen]]


def describe_failures(verdicts) -> list[str]:
    return [
        f"{v.point.verb.name} {v.point.mode} at call {v.point.at}: exit {v.code}, {v.state}: {'; '.join(v.complaints)}"
        for v in verdicts
        if v.complaints
    ]


def test_a_sample_of_broken_commands_leaves_the_state_before_or_after(sandbox, templates):
    """P2, P3, P4, P12."""
    rng = random.Random(todays_seed())
    verdicts = []
    for verb in rng.sample(VERBS, VERBS_IN_A_SAMPLE):
        verdicts += sweep(sandbox, templates[verb.template], verb, slice(POINTS_OF_EACH), rng)
    assert len(verdicts) == VERBS_IN_A_SAMPLE * POINTS_OF_EACH
    assert describe_failures(verdicts) == []


@pytest.mark.sweep
@pytest.mark.timeout(900)  # every call of a long command is broken in each way
@pytest.mark.parametrize("part", range(PARTS), ids=lambda part: f"part-{part + 1}-of-{PARTS}")
@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_a_command_broken_at_any_call_leaves_the_state_before_or_after(sandbox, templates, verb, part):
    """P2, P3, P4, P12."""
    verdicts = sweep(sandbox, templates[verb.template], verb, slice(part, None, PARTS))
    print(f"{verb.name}: {len(verdicts)} points", *tabulate(verdicts), sep="\n")
    assert describe_failures(verdicts) == []


@pytest.mark.parametrize("name", ["undo", "undo-append", "redo", "undo-merge"])
def test_an_undo_that_was_killed_and_is_repeated_says_what_the_first_one_did(sandbox, templates, name):
    """The second undo took back one more step, and nobody was told that the first one had finished."""
    verb = BY_NAME[name]
    expectation = learn(sandbox, verb, templates[verb.template])
    last = len(expectation.calls)
    points = [Point(verb, "kill", call.number) for call in expectation.calls]
    commit_and_after = sample(points[last // 2 :: 5], 2)
    verdicts = [check(sandbox, point, templates[verb.template], expectation) for point in commit_and_after]
    assert describe_failures(verdicts) == []
    assert "after" in {verdict.state for verdict in verdicts}  # some died after it was committed


def test_every_command_of_the_sweep_makes_calls_and_changes_the_state_or_is_marked_as_unchanging(sandbox, templates):
    """The sweep would not notice a command that does nothing."""
    for name in ("append", "branch", "delete", "first-new", "import", "undo"):
        verb = BY_NAME[name]
        expectation = learn(sandbox, verb, templates[verb.template])
        assert len(expectation.calls) > 30
        assert expectation.states[0] != expectation.states[-1]
        assert expectation.states_after_again[0] != expectation.states_after_again[-1]


@pytest.mark.parametrize("mode", ["kill", "enospc-sticky", "interrupt"])
@pytest.mark.parametrize("name", ["append", "branch"])
@pytest.mark.sweep  # when a signal arrives depends on the load of the machine
def test_a_forked_command_fails_like_a_real_process(sandbox, templates, name, mode):
    """The server is only faster: exit code, standard error and state are the same."""
    verb, template = BY_NAME[name], templates[FULL]
    expectation = learn(sandbox, verb, template)
    at = len(expectation.calls) * 2 // 3
    ends = []
    for run in (sandbox.run_for_real, lambda *a, **k: sandbox.run(*a, **k, injected=True)):
        sandbox.restore(template)
        with sandbox.injector.armed(sandbox.data, MODES[mode], at):
            outcome = run(list(verb.arguments), seed=COMMAND_SEED)
        assert sandbox.injector.fired
        ends.append((outcome.code, outcome.stderr, find_state(sandbox.describe(), expectation, [])))
        assert sandbox.run(list(verb.again), seed=AGAIN_SEED).code == 0
    assert ends[0] == ends[1]


def test_the_sweep_detects_a_command_that_reports_a_wrong_outcome(sandbox):
    """Otherwise a check that never fails would go unnoticed."""
    verb = Verb("lies", ("init",), ("init",), NO_STORE)
    expectation = learn(sandbox, verb, None)
    expectation.states[1]["messages"] = 1
    short = [point for point in list_points(verb, expectation) if point.mode == "short-write"]
    complaints = check(sandbox, short[0], None, expectation).complaints
    assert any(complaint.startswith("false success") for complaint in complaints)
    assert any(complaint.startswith("another state") for complaint in complaints)
