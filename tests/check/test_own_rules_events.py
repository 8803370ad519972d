"""The events of own rules: which calls and texts each matcher matches, and what it shows of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.check.own_rule_forms import find_breaches
from scopes.check.own_rules import parse_expectation
from scopes.check.rules.base import Settings
from tests.check.made_runs import DENIED, FAILED, OK, OPEN, edit, judge, make_run, parse, read, shell, write

SETTINGS = Settings("error", {}, ("pytest **",), ("run_tests",))
PATCH = """*** Begin Patch
*** Update File: src/old.py
*** Move to: lib/new.py
@@
-a
+b
*** Delete File: src/gone.py
*** End Patch"""


def count(event, *steps):
    """Return how many steps an event matches."""
    return len(breaches(f"never {event}", *steps))


def breaches(expect, *steps):
    return find_breaches(parse_expectation(expect), make_run(*steps), SETTINGS)[0]


@pytest.mark.parametrize(
    ("event", "matching", "others"),
    [
        ("run(git push **)", shell("cd x && git push -f"), shell("echo git push")),
        ("run(git push **)", shell("git -C x push"), ("Read", {"file_path": "git push"}, OK)),
        ("run(rm -rf *)", shell("sudo bash -c 'rm -rf build'"), shell("rm -rf a b")),
        ("run(npm run test:*)", shell("npm run test:unit"), shell("npm run testing")),
        ("run(echo (a))", shell("echo '(a)'"), shell("echo a")),
        ("edit(*.lock)", edit("x/uv.lock"), edit("lock.py")),
        ("edit(src/**)", edit("src/a.py"), edit("docs/src/a.py")),
        ("edit(src/**)", edit("/home/dev/shop/src/a.py"), edit("/home/dev/other/src/a.py")),
        ("edit(src/**)", edit("../shop/src/a.py"), edit("../src/a.py")),
        ("edit(/etc/**)", edit("/etc/hosts"), edit("etc/hosts")),
        ("edit(a.py)", write("a.py"), read("a.py")),
        ("edit(src/gone.py)", ("apply_patch", PATCH, OK), read("src/gone.py")),
        ("edit(src/old.py)", ("apply_patch", PATCH, OK), edit("lib/new.py")),
        ("edit(lib/new.py)", ("apply_patch", PATCH, OK), edit("src/old.py")),
        ("read(.env)", read("/home/dev/shop/.env"), edit(".env")),
        ("read(**/secrets/**)", read("/srv/secrets/key"), read("/srv/secret/key")),
        ("tool(Read)", read("a"), edit("a")),
        ("tool(mcp__*)", ("mcp__db__query", {"sql": "x"}, OK), ("mcp", {}, OK)),
        ("tool(*, sql=DROP *)", ("query", {"sql": "DROP TABLE x"}, OK), ("query", {"sql": "SELECT 1"}, OK)),
        ("tool(query, sql=*, dry=no)", ("query", {"sql": "x", "dry": "no"}, OK), ("query", {"sql": "x"}, OK)),
        ("tool(Bash, run_in_background=true)", ("Bash", {"run_in_background": True}, OK), shell("ls")),
        ("tool(query, limit=1?)", ("query", {"limit": "1?"}, OK), ("query", {"limit": 10}, OK)),
        ("tool(query, limit=1*)", ("query", {"limit": 10}, OK), ("query", {"limit": 20}, OK)),
        ('tool(query, of=["a"*])', ("query", {"of": ["a", "b"]}, OK), ("query", {"of": ["b"]}, OK)),
        ("tool(query, x=null)", ("query", {"x": None}, OK), ("query", "x=null", OK)),
        ("fetch(*.example.org)", ("WebFetch", {"url": "https://a.example.org/x"}, OK), ("WebFetch", {"url": "x"}, OK)),
        ("fetch(example.org)", ("WebFetch", {"url": "HTTPS://u:p@EXAMPLE.org:8080?q"}, OK), shell("curl http://b.org")),
        ("fetch(example.org)", shell("curl -s https://example.org/x"), shell("echo https://example.org")),
        ("fetch(example.org)", shell("curl example.org/x"), shell("curl notexample.org/x")),
        ("fetch(example.org)", shell("git clone git@example.org:x.git"), shell("git remote add x git@example.org:x")),
        ("fetch([::1])", ("WebFetch", {"url": "http://[::1]:80/"}, OK), ("WebFetch", {"url": "http://[::2]/"}, OK)),
        ("agent(explorer)", ("Task", {"subagent_type": "explorer"}, OK), ("Task", {"subagent_type": "tester"}, OK)),
        ("agent(*)", ("spawn_agent", {"agent_type": "worker"}, OK), ("Task", {"prompt": "x"}, OK)),
        ("text(/as an AI/)", "Well, as an AI I cannot.", "as an ai"),
        ("text(/^Done/)", "Done.", "I am Done."),
        ("text(/\\(sic\\)/)", "It is (sic).", "It is sic."),
        ("text(/secret/)", "a secret", ("human", "a secret")),
        ("test", shell("cd x && pytest -q"), shell("echo pytest")),
        ("test", ("run_tests", {}, OK), ("run_test", {}, OK)),
    ],
)
def test_an_event_matches_the_calls_that_do_it(event, matching, others):
    assert (count(event, matching), count(event, others)) == (1, 0)


@pytest.mark.parametrize(
    ("suffix", "outcomes"),
    [("", [OK, FAILED, DENIED, OPEN]), (".ok", [OK]), (".failed", [FAILED]), (".denied", [DENIED])],
)
def test_an_outcome_limits_an_event_to_calls_that_ended_so(suffix, outcomes):
    for event in ("run(git push **)", "tool(Bash)"):
        assert [
            outcome for outcome in (OK, FAILED, DENIED, OPEN) if count(event + suffix, shell("git push", outcome))
        ] == outcomes


@pytest.mark.parametrize(
    ("event", "outcome", "attempted"),
    [
        ("run(git push **)", DENIED, True),
        ("run(git push **)", FAILED, False),  # a command that failed may have done its harm
        ("run(git push **)", OK, False),
        ("run(git push **).denied", DENIED, False),
        ("run(git push **).failed", FAILED, False),
        ("run(git push **).ok", FAILED, None),
    ],
)
def test_what_was_only_attempted_is_so_unless_the_rule_is_about_attempts(event, outcome, attempted):
    found = breaches(f"never {event}", shell("git push", outcome))
    assert [each.attempted for each in found] == ([] if attempted is None else [attempted])


def test_each_command_is_an_event_and_its_call_no_further_one():
    found = breaches("never run(git push **) | run(make **) | tool(Bash)", shell("make && git push"), shell("ls"))
    assert [each.events[0].text for each in found] == ["make", "git push", "ls"]


def test_a_command_that_several_alternatives_match_is_one_event():
    (breach,) = breaches("never run(git push **) | run(git **)", shell("git push"))
    assert breach.events[0].text == "git push"


@pytest.mark.parametrize(
    ("expect", "text"),
    [
        ("never run(git push **)", "git push"),
        ("never edit(*.py)", "src/a.py"),
        ("never fetch(*.org)", "https://x.org/y"),
        ("never text(/nev[a-z]+/)", "never"),
        ("never tool(Edit)", "src/a.py"),
    ],
)
def test_an_event_shows_the_part_that_matched(expect, text):
    run = (
        shell("make && git push"),
        edit("src/a.py"),
        ("WebFetch", {"url": "https://x.org/y"}, OK),
        "I will never say.",
    )
    assert breaches(expect, *run)[0].events[0].text == text


@pytest.mark.parametrize(
    ("expect", "steps", "texts"),
    [
        ("never run(a) until run(b)", ["a", "b", "a"], [["a", "b"]]),
        ("never run(a) until run(b)", ["a", "a"], [["a"], ["a"]]),
        ("never run(a) until run(b)", ["b", "a"], []),
        ("never run(a) after run(b)", ["a", "b", "a", "a"], [["a", "b"], ["a", "b"]]),
        ("never run(a) after run(b)", ["a"], []),
        ("some run(a)", ["b"], [[]]),
        ("run(a) needs run(b) before", ["a", "b", "a"], [["a"]]),
        ("run(a) needs run(b) after", ["a", "b", "a"], [["a"]]),
        ("run(a) needs run(b) before", ["b"], []),
        ("last run(a) after last run(b)", ["b", "a", "b"], [["b", "a"]]),
        ("last run(a) after last run(b)", ["b"], [["b"]]),
        ("last run(a) after last run(b)", ["b", "a"], []),
        ("last run(a) after last run(b)", ["a"], []),
        ("at most 2 run(a)", ["a", "a", "a", "a"], [["a"]]),
        ("at most 2 run(a)", ["a", "b", "a"], []),
        ("at most 0 run(a)", ["a"], [["a"]]),
    ],
)
def test_each_form_names_the_events_that_break_it(expect, steps, texts):
    found = breaches(expect, *map(shell, steps))
    assert [[event.text for event in each.events] for each in found] == texts


@given(st.lists(st.sampled_from("abc"), max_size=8))
def test_forms_that_state_the_same_agree(steps):
    run = list(map(shell, steps))
    fails = {
        expect: bool(breaches(expect, *run))
        for expect in (
            "never run(a)", "at most 0 run(a)", "some run(a)", "at most 1 run(a)", "run(a) needs run(b) before",
            "never run(a) until run(b)", "run(a) needs run(b) after", "last run(b) after last run(a)",
        )
    }  # fmt: skip
    assert fails["never run(a)"] == fails["at most 0 run(a)"] == ("a" in steps)
    assert fails["some run(a)"] == ("a" not in steps)
    assert fails["at most 1 run(a)"] == (steps.count("a") > 1)
    assert fails["run(a) needs run(b) before"] == fails["never run(a) until run(b)"]
    assert fails["run(a) needs run(b) after"] == fails["last run(b) after last run(a)"]


def test_the_message_of_a_rule_replaces_the_text_of_its_form_and_the_cure_names_its_line():
    text = 'preset = "strict"\n[[rule]]\nid = "ours/x"\nlevel = "note"\nexpect = "never run(a)"\n'
    (plain,) = judge("ours/x", make_run(shell("a")), parse(text)).findings
    (worded,) = judge("ours/x", make_run(shell("a")), parse(text + 'message = "do not"\n')).findings
    assert (plain.message, worded.message) == ("this must not happen: never run(a)", "do not")
    assert (plain.level, plain.match) == ("note", "a")
    assert plain.cure == "see the rule in scopes-check.toml, line 2"


@pytest.mark.parametrize(
    ("step", "file"),
    [
        (edit("/home/dev/shop/src/a.py"), "src/a.py"),
        (edit("src/a.py"), "src/a.py"),
        (edit("/etc/a.py"), None),
        (read("src/a.py"), None),
        (shell("touch src/a.py"), None),
    ],
)
def test_a_finding_about_an_edit_is_shown_at_the_edited_file(step, file):
    """Otherwise a report shows it at the rule in the policy, which nobody has changed."""
    policy = parse('[[rule]]\nid = "ours/x"\nexpect = "never edit(**.py) | read(**.py) | run(touch **)"\n')
    (finding,) = judge("ours/x", make_run(step), policy).findings
    assert finding.file == file
