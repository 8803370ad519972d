"""Own rules read the order of the commands in one line, what decides whether they run, and which files they touch."""

from __future__ import annotations

import pytest

from scopes.check.exit_status import runs_only_after
from scopes.check.own_rule_forms import find_breaches
from scopes.check.own_rules import parse_expectation
from scopes.check.rules.base import Settings, Unknown
from tests.check.made_runs import DENIED, FAILED, OK, edit, judge, make_run, shell

SETTINGS = Settings("error", {}, ("pytest **",), ())
PUSH_AFTER_TESTS = "never run(git push **) until test.ok"


def breaches(expect, *steps):
    return find_breaches(parse_expectation(expect), make_run(*steps), SETTINGS)[0]


def is_kept(expect, *steps):
    """Return True if a run keeps a rule, False if it breaks it, None if that is unknown."""
    found = breaches(expect, *steps)
    return None if isinstance(found, Unknown) else not found


@pytest.mark.parametrize(
    ("expect", "line", "kept"),
    [
        ("never run(a) until run(b)", "b && a", True),
        ("never run(a) until run(b)", "a && b", False),
        ("never run(a) after run(b)", "b && a", False),
        ("never run(a) after run(b)", "a && b", True),
        ("run(a) needs run(b) before", "b; a", True),
        ("run(a) needs run(b) before", "a; b", False),
        ("run(a) needs run(b) after", "a; b", True),
        ("run(a) needs run(b) after", "b; a", False),
        ("last run(a) after last run(b)", "a && b && a", True),
        ("last run(a) after last run(b)", "a && b", False),
        ("last run(a) after last run(b)", "b | a", True),
        ("at most 1 run(a)", "a; a", False),
        ("at most 1 run(a)", "a; b", True),
        ("at most 2 run(a)", "for x in 1 2 3; do a; done", False),
        ("never tool(Bash) after run(a)", "a", True),
    ],
)
def test_the_commands_of_a_line_have_an_order(expect, line, kept):
    assert is_kept(expect, shell(line)) is kept


def test_equal_commands_of_one_call_are_one_breach_and_several_events():
    assert len(breaches("never run(a)", shell("a; a"), shell("a"))) == 2
    (breach,) = breaches("at most 1 run(a)", shell("a; a"), shell("a"))
    assert breach.text == "this happened 3 times, at most 1 allowed"


@pytest.mark.parametrize(
    ("line", "code", "kept"),
    [
        ("pytest && git push", 0, True),
        ("pytest && git push", 1, True),  # the tests or the push failed: nothing was pushed without passed tests
        ("git push && pytest", 0, False),
        ("git push; pytest", 1, False),
        ("pytest; git push", 0, None),  # the exit code is that of the push
        ("pytest || exit 1; git push", 1, True),
        ("pytest || git push", 0, None),
        ("set -e; pytest; git push", 1, True),
        ("set -e\npytest\ngit push", 0, True),
        ("if pytest; then git push; fi", 1, True),
        ("if pytest; then git add .; else git push; fi", 1, None),
        ("pytest | tail && git push", 0, None),
        ("set -o pipefail; pytest | tail && git push", 0, True),
        ("pytest && git add . && git commit -m x && git push", 1, True),
        ("cd api && pytest -q && (cd .. && git push)", 1, True),
        ("pytest & git push", 1, None),
        ("git push; pytest && git push", 1, False),  # the first push had no tests before it
    ],
)
def test_a_push_in_the_line_of_its_tests_is_judged_by_what_decides_whether_it_runs(line, code, kept):
    assert is_kept(PUSH_AFTER_TESTS, shell(line, code)) is kept
    verdict = judge("order/push-after-tests", make_run(edit("src/a.py"), shell(line, code)))
    assert verdict.status == {True: "pass", False: "fail", None: "unknown"}[kept]


def test_a_command_behind_the_failed_tests_of_its_line_did_not_run_after_a_failure():
    rule = "never run(git push **) after test.failed"
    assert is_kept(rule, shell("pytest && git push", 1)) is True
    assert is_kept(rule, shell("pytest", 1), shell("git push")) is False
    assert is_kept(rule, shell("pytest; git push", 0)) is None


@pytest.mark.parametrize(
    ("line", "code", "kept"),
    [
        ("pg_dump x", 0, True),
        ("pg_dump x", 1, False),
        ("pg_dump x && true", 0, True),
        ("pg_dump x | gzip > x.gz", 0, None),
        ("set -o pipefail; pg_dump x | gzip > x.gz", 0, True),
        ("pg_dump x; true", 0, None),
        ("pg_dump x || true", 0, None),
        ("! pg_dump x", 0, None),
        ("! pg_dump x", 1, None),
        ("pg_dump x &", 0, None),
        ("pg_dump x > x.sql 2>&1", 0, True),
        ("pg_dump x &> x.sql", 0, True),
        ("bash -c 'pg_dump x | gzip > x.gz'", 0, None),
        ("bash -c 'pg_dump x; true'", 0, None),
        ("bash -c 'pg_dump x'", 0, True),
    ],
)
def test_the_outcome_of_a_command_is_that_of_its_line_only_if_the_line_shows_it(line, code, kept):
    rule = "run(alembic upgrade **) needs run(pg_dump **).ok before"
    assert is_kept(rule, shell(line, code), shell("alembic upgrade head")) is kept


@pytest.mark.parametrize(
    ("event", "line"),
    [
        ("edit(src/**)", "sed -i s/a/b/ src/a.py"),
        ("edit(src/**)", "echo x > src/a.py"),
        ("edit(src/**)", "cd src && echo x >> a.py"),
        ("edit(src/**)", "cp other.py src/a.py"),
        ("edit(src/**)", "mv src/a.py /tmp"),
        ("edit(src/**)", "rm src/a.py"),
        ("edit(src/**)", "make | tee src/log"),
        ("read(.env)", "cat .env"),
        ("read(.env)", "grep KEY < .env"),
        ("read(.env)", "source .env"),
        ("read(**/.env)", "cp api/.env /tmp/x"),
    ],
)
def test_shell_commands_edit_and_read_files_too(event, line):
    (breach,) = breaches(f"never {event}", shell(f"true; {line}"))
    assert breach.events[0].text in line
    assert is_kept(f"never {event}.ok", shell(line, FAILED)) is True
    assert breaches(f"never {event}", shell(line, DENIED))[0].attempted


@pytest.mark.parametrize("line", ["cat src/a.py", "echo src/a.py", "rm src2/a.py", "cp src/a.py /tmp/x"])
def test_commands_that_only_name_or_read_a_file_do_not_edit_it(line):
    assert is_kept("never edit(src/**)", shell(line)) is True


def test_edits_and_tests_of_one_line_have_an_order():
    rule = "last test.ok after last edit(src/**)"
    assert is_kept(rule, shell("sed -i s/a/b/ src/a.py && pytest", OK)) is True
    assert is_kept(rule, shell("pytest && sed -i s/a/b/ src/a.py", OK)) is False


@pytest.mark.parametrize(
    ("line", "first", "last"),
    [
        ("a && b && b", "a", "b"),  # which of the two is meant is unknown
        ("a; b", "a", "b"),
        ("b && a", "a", "b"),
        ("a 'unclosed && b", "a", "b"),
        ("set -e; set +e; a; b", "a", "b"),
        ("bash -c 'a && b'", "a", "b"),
        ("a || b", "a", "b"),
        ("", "a", "b"),
    ],
)
def test_a_condition_that_is_not_certain_is_none(line, first, last):
    assert runs_only_after(line, first, last) is False


def test_a_refused_call_is_not_among_those_that_happened():
    assert is_kept("at most 2 run(a)", shell("a", DENIED), shell("a"), shell("a")) is True
    assert is_kept("at most 0 run(a).denied", shell("a", DENIED)) is False
