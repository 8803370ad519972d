"""Suppressions with a `directory`: any form of a path covers the commands in that directory and no others."""

from __future__ import annotations

import posixpath
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from scopes.check import call_reader, calls
from scopes.check.judge import Judge
from scopes.check.policy import Policy, Suppression
from tests.check.made_runs import judge, make_run, parse, shell

RULE = "shell/force-push"
DELETION = "shell/recursive-delete"
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


def places(line, rule, directory, policy=None):
    return [finding.directory for finding in judge(rule, make_run(shell(line), directory=directory), policy).findings]


@given(st.lists(STEPS.filter(lambda steps: not steps or reached(steps).startswith(WORKSPACE)), min_size=1, max_size=3))
def test_a_call_without_a_recorded_directory_counts_as_one_in_the_workspace(walks):
    line = "; ".join(f"({' && '.join([*(f'cd {step}' for step in walk), 'git push -f'])})" for walk in walks)
    expected = {posixpath.relpath(reached(walk), WORKSPACE) for walk in walks}
    assert {place or "." for place in places(line, RULE, None)} == expected
    assert places(line, RULE, None) == places(line, RULE, WORKSPACE)


def test_the_same_command_has_the_directory_of_each_place_where_it_runs():
    line = "cd a; rm -rf /; cd ../b; rm -rf /; cd $x; rm -rf /; cd /; rm -rf /; cd ~; rm -rf /"
    assert places(line, DELETION, None) == ["a", "b", "?", "/", "~"]
    assert places(line, DELETION, WORKSPACE) == ["a", "b", "?", "/", "~"]


def test_an_own_rule_has_the_directory_of_each_command_that_it_forbids():
    policy = parse('[[rule]]\nid = "ours/no-make"\nexpect = "never run(make *)"\n')
    assert places("cd a && ls && cd b && make x; cd .. && make y", "ours/no-make", None, policy) == ["a/b", "a"]


def test_a_line_is_read_twice_at_most_however_many_findings_it_has(monkeypatch):
    """Without a recorded directory each finding parsed the whole line again: 800 commands took half a minute."""
    lines = []

    def parse_commands(line, *context):
        lines.append(line)
        return parse_line(line, *context)

    parse_line = calls.parse_commands
    for module in (calls, call_reader):
        monkeypatch.setattr(module, "parse_commands", parse_commands)
    line = "; ".join(f"rm -rf /a{number}" for number in range(30))
    for directory, readings in ((WORKSPACE, 1), (None, 2)):
        lines.clear()
        assert len(places(line, DELETION, directory)) == 30
        assert len(lines) == readings
