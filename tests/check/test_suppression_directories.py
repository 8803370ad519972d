"""Suppressions with a `directory`: any form of a path covers the commands in that directory and no others."""

from __future__ import annotations

import posixpath
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from scopes.check.judge import Judge
from scopes.check.policy import Policy, Suppression
from tests.check.made_runs import make_run, shell

RULE = "shell/force-push"
WORKSPACE = "/home/dev/shop"
STEPS = st.lists(st.sampled_from(["web", "./api", "..", "web/api", "."]), max_size=4)
FORMS = st.sampled_from(["{}", "./{}", "{}/", "{}/.", "x/../{}"])


def covers(steps, directory):
    line = " && ".join([*(f"cd {step}" for step in steps), "git push -f"])
    given = Suppression(RULE, "git push -f", "why", date(2099, 1, 1), 1, directory=directory)
    policy = Policy(levels={RULE: "error"}, suppressions=(given,))
    (verdict,) = Judge(policy).verdicts(make_run(shell(line), directory=WORKSPACE), lambda rule: rule == RULE)
    (finding,) = verdict.findings
    return finding.suppressed == "why"


def reached(steps):
    return posixpath.normpath(posixpath.join(WORKSPACE, *steps))


@given(STEPS.filter(lambda steps: reached(steps).startswith(WORKSPACE)), FORMS)
def test_a_directory_may_be_written_in_any_form(steps, form):
    assert covers(steps, form.format(posixpath.relpath(reached(steps), WORKSPACE)))


@given(STEPS.filter(lambda steps: reached(steps).startswith(WORKSPACE)), STEPS)
def test_a_directory_covers_the_commands_in_it_alone(steps, others):
    directory = posixpath.normpath(posixpath.join(".", *others))
    assert covers(steps, directory) is (reached(others) == reached(steps))
