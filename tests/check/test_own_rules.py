"""Rules of a policy: their forms, their events, and the examples on which they are tried."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.check.own_rules import matches_line, parse_expectation
from scopes.check.policy import Policy, parse_policy
from scopes.errors import Invalid
from tests.check.runs import edit, judge, run_of, shell, verdict_of

DUMP, UPGRADE = shell("pg_dump shop > dump.sql"), shell("alembic upgrade head")
FETCH = ("WebFetch", {"url": "https://evil.example.org/x?y=1", "prompt": "read"}, "page")
EXPLORE = ("Task", {"subagent_type": "explorer", "prompt": "look"}, "found")


def judge_own(repository, expect, *steps, **settings):
    """Return the status of a rule with this text for a run of these steps."""
    lines = "".join(f"{key} = {value!r}\n" for key, value in settings.items())
    policy = parse_policy(f"[[rule]]\nid = 'ours/x'\nexpect = '''{expect}'''\n{lines}", "p.toml", {})
    return verdict_of(judge(repository, run_of(repository, *steps), policy), "ours/x")[0]


@pytest.mark.parametrize(
    ("expect", "good", "bad"),
    [
        ("never run(git push **)", [shell("git status")], [shell("git push")]),
        ("never edit(*.lock)", [edit("a.py")], [edit("deep/x.lock")]),
        (
            "never run(git push **) until test.ok",
            [shell("pytest"), shell("git push")],
            [shell("git push"), shell("pytest")],
        ),
        ("never run(git push **) until test.ok", ["Done."], [shell("pytest", 1), shell("git push")]),
        (
            "never edit(**) after run(git commit **)",
            [edit("a"), shell("git commit -m x")],
            [shell("git commit"), edit("a")],
        ),
        ("some test", [shell("pytest")], [shell("ls")]),
        ("run(alembic upgrade **) needs run(pg_dump **).ok before", [DUMP, UPGRADE], [UPGRADE, DUMP]),
        ("edit(*.py) needs test after", [edit("a.py"), shell("pytest")], [shell("pytest"), edit("a.py")]),
        ("last test after last edit(src/**)", [edit("src/a"), shell("pytest")], [shell("pytest"), edit("src/a")]),
        ("last test after last edit(src/**)", [edit("docs/a")], [edit("src/a")]),
        ("at most 1 run(pytest **)", [shell("pytest")], [shell("pytest"), shell("pytest -x")]),
        ("never fetch(*.example.org)", [shell("curl https://example.com")], [FETCH]),
        ("never fetch(example.com)", [FETCH], [shell("cd x && curl -s https://example.com/a")]),
        (
            "never fetch(example.com)",
            [FETCH],
            [("crawl", {"urls": ["https://a.org", "https://b@example.com/x"]}, "ok")],
        ),
        ("never fetch(example.com)", [FETCH], [("open", {"uri": "https://a@b@example.com"}, "ok")]),
        ("never agent(explorer)", [shell("ls")], [EXPLORE]),
        ("never tool(Task, prompt=look*)", [("Task", {"prompt": "write"}, "ok")], [EXPLORE]),
        ("never text(/as an AI/)", ["Done."], ["I cannot, as an AI, do that."]),
        ("never run(rm **) | edit(*.lock)", [edit("a")], [edit("b.lock")]),
        ("at most 0 run(pytest **).failed", [shell("pytest")], [shell("pytest", 1)]),
    ],
)
@pytest.mark.cases(16)
def test_each_form_and_each_event(repository, expect, good, bad):
    assert judge_own(repository, expect, *good) == "pass"
    assert judge_own(repository, expect, *bad) == "fail"


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        ("always test", "column 1: a rule begins with an event, or one of never, some, last, at: 'always' is none"),
        ("never run(git push", "column 11: a closing parenthesis is missing"),
        ("run(a) needs run(b)", "column 20: `before` or `after` is missing"),
        ("never run", "column 10: `run` needs an argument in parentheses"),
        (
            "never text(/(/)",
            "column 16: '(' is not a valid regular expression: missing )",
        ),
        ("some test please", "column 10: unexpected text ' please'"),
        ("never tool(Bash, x)", "column 20: arguments of a tool are written key=GLOB"),
    ],
)
def test_a_mistake_in_a_rule_names_the_column(expect, message):
    with pytest.raises(Invalid) as caught:
        parse_expectation(expect)
    assert caught.value.message == message


def test_a_rule_is_tried_on_its_examples_when_it_is_loaded():
    """A rule with a mistake must not wait for the run that it would have caught."""
    text = '[[rule]]\nid = "ours/x"\nexpect = "never run(git push **)"\n'
    assert parse_policy(f'{text}match = ["cd x && git push"]\nnot_match = ["echo git push"]\n', "p.toml", {}).own_rules
    wrong = {"echo git push": "does not match its example 'echo git push'", "git push -f": "matches 'git push -f' of"}
    for key, line in (("match", "echo git push"), ("not_match", "git push -f")):
        with pytest.raises(Invalid, match=f"p.toml:4:1: ours/x {wrong[line]}"):
            parse_policy(f'{text}{key} = ["{line}"]\n', "p.toml", {})


def test_a_pattern_of_words_is_matched_to_commands_and_not_to_text():
    (pattern,) = parse_expectation("never run(git push **)").first
    assert matches_line(pattern, "true && git push origin main")
    assert not matches_line(pattern, "git commit -m 'git push'")
    assert not matches_line(pattern, "git pushed")


def test_a_rule_and_a_suppression_that_never_apply_are_notes(repository):
    policy = parse_policy(
        '[[rule]]\nid = "ours/x"\nexpect = "run(git psuh **) needs edit(x) before"\n'
        '[[suppress]]\nrule = "run/empty"\nreason = "old"\nuntil = 2027-01-01\n', "p.toml", {}
    )  # fmt: skip
    checked = judge(repository, run_of(repository, shell("git push")), policy)
    assert [note.text for note in checked.notes] == [
        "rule ours/x matched no event: run(git psuh **) needs edit(x) before",
        "the suppression of run/empty in line 4 covers no finding",
    ]


def test_a_suppressed_finding_is_shown_and_does_not_fail_until_its_day_has_passed(repository):
    conversation = run_of(repository, edit("a.py"))
    text = '[[suppress]]\nrule = "order/tests-after-last-edit"\nmatch = "a.py"\nreason = "no tests yet"\nuntil = {}\n'
    accepted = judge(repository, conversation, parse_policy(text.format("2026-12-31"), "p.toml", {}))
    (finding,) = (each for each in accepted.runs[0].findings)
    assert (accepted.exit_code, finding.suppressed) == (0, "no tests yet")
    assert judge(repository, conversation, parse_policy(text.format("2025-12-31"), "p.toml", {})).exit_code == 1


def test_an_equal_finding_of_a_later_run_is_known_and_does_not_fail(repository):
    """The fingerprint has no ids, no times and no positions, and the workspace does not matter."""
    first = judge(repository, run_of(repository, edit("a.py")))
    known = frozenset(finding.fingerprint for finding in first.failures)
    again = judge(repository, run_of(repository, "Hello.", shell("ls"), edit("a.py")), baseline=known)
    assert (first.exit_code, again.exit_code, len(again.runs[0].findings)) == (1, 0, 1)
    other = judge(repository, run_of(repository, edit("b.py")), baseline=known)
    assert other.exit_code == 1


def test_an_agent_that_exits_with_an_error_fails_whatever_it_wrote(repository):
    checked = judge(repository, run_of(repository, "All is well."), agent_exit=3)
    assert verdict_of(checked, "run/failed") == ("fail", "the run ended with an error: the agent's exit code is 3")
    assert judge(repository, run_of(repository, "All is well."), agent_exit=0).exit_code == 0


def test_levels_decide_what_fails(repository):
    conversation = run_of(repository, edit("a.py"))
    policy = Policy(levels={"order/tests-after-last-edit": "warning"})
    assert judge(repository, conversation, policy).exit_code == 0
    assert judge(repository, conversation, replace(policy, fail_on="warning")).exit_code == 1
    assert judge(repository, conversation, replace(Policy(), fail_on="none")).exit_code == 0
    silent = run_of(repository, "Done.")
    assert judge(repository, silent).exit_code == 0
    assert judge(repository, silent, unknown_fails=True).exit_code == 1


@pytest.mark.parametrize(
    ("expect", "steps", "expected"),
    [
        ("never run(git push **) until test.ok", [shell("pytest"), shell("git push")], "pass"),
        ("never run(git push **) until test.ok", [shell("pytest | tail"), shell("git push")], "unknown"),
        ("never run(git push **) until test.ok", [shell("pytest || true"), shell("git push")], "unknown"),
        (
            "never run(git push **) until test.ok",
            [shell("pytest | tail"), shell("pytest", 1), shell("git push")],
            "unknown",
        ),
        ("never run(git push **) until test.ok", [shell("git push"), shell("pytest | tail")], "fail"),
        ("some test.ok", [shell("pytest; echo done")], "unknown"),
        ("some test.ok", [shell("pytest; echo done"), shell("pytest")], "pass"),
        ("some test", [shell("pytest; echo done")], "pass"),
        ("never test.failed", [shell("pytest | tail")], "unknown"),
        ("never test.failed", [shell("pytest | tail"), shell("pytest", 1)], "fail"),
        (
            "never test.failed",
            [("Bash", {"command": "pytest | tail"}, {"output": "== 1 failed in 0.1s ==", "exit_code": 0})],
            "fail",
        ),
        ("never test.failed", [shell("pytest -q")], "pass"),
    ],
)
@pytest.mark.cases(16)
def test_whether_a_test_passed_is_read_as_by_the_rules_about_order(repository, expect, steps, expected):
    assert judge_own(repository, expect, *steps) == expected


@pytest.mark.parametrize(
    ("text", "mistake", "hint"),
    [
        ("at most five run(ls)", "column 9: a number is missing: 'five' is none", None),
        ("at most 3", "column 9: a number is missing", None),
        ("nevr run(ls)", "column 1: a rule begins with an event, or one of never, ", "did you mean 'never'?"),
        ("somme test", "'somme' is none", "did you mean 'some'?"),
        ("never", "column 6: an event is missing", None),
        ("some ", "column 5: an event is missing", None),
        ("", "column 1: the rule is empty", None),
        ("   ", "column 1: the rule is empty", None),
        ("edit (a)", "`edit` needs an argument in parentheses", None),
        ("runn(ls) needs test before", "column 1: an event is missing", "did you mean 'run'?"),
        ("never runn(ls)", "column 7: an event is missing", "did you mean 'run'?"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_form_is_named_where_it_is(text, mistake, hint):
    with pytest.raises(Invalid) as caught:
        parse_expectation(text)
    assert mistake in caught.value.message
    assert hint is None or caught.value.hint == hint


@pytest.mark.parametrize(
    "text", ["test needs run(ls) before", "at most 3 test", "last test after last edit(*)", "never test"]
)
def test_a_rule_may_begin_with_an_event_without_an_argument(text):
    assert parse_expectation(text)
