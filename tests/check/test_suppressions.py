"""Suppressions: which findings they cover, until which day, and which of them are of no use."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes import clock
from scopes.check.findings import Event, Finding, Verdict
from scopes.check.judge import Judge
from scopes.check.policy import Policy, Suppression
from scopes.check.suppressions import Suppressions
from tests.check.made_runs import edit, make_run, shell

TODAY = date(2026, 1, 1)  # of the sealed world
FINDING = Finding(
    "shell/push", "error", "m", (Event(1, "m1", "make && git push"), Event(2, "m2", "ls")), match="git push"
)


def suppression(match=None, until=TODAY, rule="shell/push", reason="why", directory=None):
    return Suppression(rule, match, reason, until, 1, directory=directory)


def reason_for(*suppressions, finding=FINDING):
    verdict = Verdict(finding.rule, "error", "fail", findings=(finding,))
    return Suppressions(suppressions).apply(verdict).findings[0].suppressed


@pytest.mark.parametrize(
    ("match", "covered"),
    [
        (None, True),
        ("git push", True),
        ("make && git push", True),
        ("ls", False),
        ("git", False),
        ("git push *", False),
        ("", False),
    ],
)
def test_a_suppression_covers_a_whole_matched_part_or_a_whole_first_event(match, covered):
    """A pattern would cover what nobody has looked at."""
    assert (reason_for(suppression(match)) == "why") is covered


FORCE = "shell/force-push"
INSIDE = "cd web && git push -f"


@pytest.mark.parametrize(
    ("line", "match", "directory", "covered"),
    [
        ("git push -f", "git push -f", None, True),
        ("git push -f", "git push -f", "./", True),
        ("git push -f", "git push -f", "web", False),
        (INSIDE, "git push -f", None, False),
        (INSIDE, "git push -f", "./web/", True),
        (INSIDE, "git push -f", "other", False),
        (INSIDE, INSIDE, None, True),
        (INSIDE, INSIDE, "web", False),
        ("cd $X && git push -f", "git push -f", None, False),
        ("cd /srv && git push -f", "git push -f", "/srv", True),
        ("D=a; git push -f $D", "git push -f $D", None, False),
        ("D=a; git push -f $D", "git push -f a", None, True),
    ],
)
def test_a_suppression_covers_a_command_only_in_its_directory_and_with_its_values(line, match, directory, covered):
    policy = Policy(levels={FORCE: "error"}, suppressions=(suppression(match, rule=FORCE, directory=directory),))
    (verdict,) = Judge(policy).verdicts(make_run(shell(line)), lambda rule: rule == FORCE)
    assert [each.suppressed == "why" for each in verdict.findings] == [covered]


def test_a_suppression_for_another_directory_names_that_of_the_finding():
    judge = Judge(Policy(levels={FORCE: "error"}, suppressions=(suppression("git push -f", rule=FORCE),)))
    judge.verdicts(make_run(shell(INSIDE)))
    assert [note.hint for note in judge.notes()] == ['the finding is in another directory: add directory = "web"']


def test_another_rule_is_not_covered():
    assert reason_for(suppression(rule="shell/force-push")) is None
    assert reason_for(suppression(rule="shell/*")) is None


def test_a_finding_without_a_match_is_covered_by_its_event():
    finding = FINDING._replace(match=None)
    assert reason_for(suppression("make && git push"), finding=finding) == "why"
    assert reason_for(suppression("git push"), finding=finding) is None
    assert reason_for(suppression(None), finding=finding._replace(events=())) == "why"


def test_the_first_suppression_that_covers_a_finding_gives_the_reason():
    assert (
        reason_for(suppression("ls"), suppression("git push", reason="first"), suppression(reason="second")) == "first"
    )


@given(st.integers(-800, 800))
def test_a_suppression_holds_to_the_end_of_its_last_day_and_not_longer(days):
    until = TODAY + timedelta(days=days)
    assert (reason_for(suppression(until=until)) == "why") is (days >= 0)


@pytest.mark.parametrize(("seconds", "holds"), [(0, True), (86_398, True), (86_400, False)])
def test_the_day_ends_at_midnight_in_utc(monkeypatch, seconds, holds):
    monkeypatch.setattr(clock, "read_clock", lambda: (1_767_225_600 + seconds) * 1_000_000_000)
    assert (reason_for(suppression()) == "why") is holds


def test_only_active_suppressions_that_covered_nothing_are_unused():
    used, idle, expired = suppression(), suppression(rule="net/host"), suppression(until=date(2025, 12, 31))
    suppressions = Suppressions([used, idle, expired])
    suppressions.apply(Verdict("shell/push", "error", "fail", findings=(FINDING,)))
    assert list(suppressions.unused()) == [idle]


def test_only_an_ended_suppression_of_a_finding_that_stands_is_named():
    ended = suppression(until=date(2025, 12, 31))
    suppressions = Suppressions([ended, suppression("ls", until=date(2025, 12, 31))])
    suppressions.apply(Verdict("shell/push", "error", "fail", findings=(FINDING,)))
    assert list(suppressions.ended()) == [ended]
    suppressions = Suppressions([ended, suppression()])
    suppressions.apply(Verdict("shell/push", "error", "fail", findings=(FINDING,)))
    assert list(suppressions.ended()) == []


def test_a_suppression_with_another_match_names_what_the_finding_shows():
    judge = Judge(
        Policy(levels={"shell/force-push": "error"}, suppressions=(suppression("git push", rule="shell/force-push"),))
    )
    judge.verdicts(make_run(shell("git push --force")))
    (note,) = judge.notes()
    assert (note.text, note.hint) == (
        "the suppression of shell/force-push in line 1 covers no finding",
        "its `match` is another than the finding shows: 'git push --force'",
    )


def test_notes_name_own_rules_and_suppressions_that_never_applied_in_any_run():
    policy = Policy(
        suppressions=(suppression(rule="order/tests-after-last-edit"), suppression(rule="shell/force-push"))
    )
    judge = Judge(policy)
    judge.verdicts(make_run(shell("ls")))
    judge.verdicts(make_run(edit("a.py")))
    (note,) = judge.notes()
    assert note.text == "the suppression of shell/force-push in line 1 covers no finding"
    assert note.hint == "remove it if no other run needs it"
    assert list(Judge(policy).notes()) == []
