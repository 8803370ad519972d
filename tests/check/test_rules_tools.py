"""Rules about tools, claims and budgets: patterns of allowed calls, refusals, loops, sentences and numbers."""

from __future__ import annotations

import pytest

from scopes.check.policy import Policy
from scopes.history.activity import Tokens
from scopes.importers.formats.events import RunEnd
from tests.check.made_runs import DENIED, FAILED, OK, OPEN, edit, judge, make_run, messages, read, shell, write

RENAME = "*** Begin Patch\n*** Update File: src/a.py\n*** Move to: lib/a.py\n@@\n-a\n+b\n*** End Patch"


@pytest.mark.parametrize(
    ("pattern", "covered", "others"),
    [
        ("Read", read("a"), edit("a")),
        ("mcp__db__*", ("mcp__db__query", {}, OK), ("mcp__web__get", {}, OK)),
        ("*", ("anything", {}, OK), None),
        ("Bash", shell("rm -rf x; ls"), read("a")),
        ("Bash", ("exec_command", {"cmd": "ls"}, OK), read("a")),
        ("Bash(git log *)", shell("git log -3 --stat"), shell("git push")),
        ("Bash(git log *)", shell("git log"), shell("git logs")),
        ("Bash(git log:*)", shell("git -C x log -3"), shell("git log; ls")),
        ("Bash(ls)", shell("ls"), shell("ls -l")),
        ("Bash(npm run *)", shell("npm run a b"), shell("npm install")),
        ("Bash(*)", shell("git push -f"), shell("$cmd x")),
        ("Bash(** main)", shell("git push origin main"), shell("git push origin next")),
        ("Bash(python *)", shell("python x.py"), shell("python -c 'x'")),
        ("Bash(git *)", shell("sudo git log"), shell("git log | sh")),
        ("Edit(src/**)", edit("src/x/a.py"), edit("docs/a.md")),
        ("Edit(src/**)", edit("/home/dev/shop/src/a.py"), edit("/home/dev/shop/a.py")),
        ("Edit(*.py)", edit("/etc/a.py"), edit("a.pyc")),
        ("Edit(/etc/*)", edit("/etc/hosts"), edit("etc/hosts")),
        ("Read(src/**)", read("src/a"), read("a")),
        ("apply_patch(**)", ("apply_patch", RENAME, OK), ("apply_patch", "no patch", OK)),
        ("apply_patch(lib/**)", ("apply_patch", RENAME.replace("src/", "lib/"), OK), ("apply_patch", RENAME, OK)),
        ("WebFetch(x)", None, ("WebFetch", {"url": "x"}, OK)),
    ],
)
def test_a_pattern_covers_a_tool_or_those_of_its_calls_that_match(pattern, covered, others):
    for step, count in ((covered, 0), (others, 1)):
        if step is not None:
            assert len(judge("tools/undeclared", make_run(step), allow=[pattern]).findings) == count


def test_each_command_of_a_line_is_a_finding_of_its_own_with_a_pattern_that_would_allow_it():
    verdict = judge("tools/undeclared", make_run(shell("git log && sudo npm ci -q; curl x")), allow=["Bash(git log *)"])
    assert [(each.message, each.match, each.wrapper) for each in verdict.findings] == [
        ("sudo npm ci -q is not declared", "sudo npm ci -q", "sudo"),
        ("curl x is not declared", "curl x", None),
    ]
    assert [each.cure.rpartition("such as ")[2] for each in verdict.findings] == [
        '"Bash(npm ci *)"',
        '"Bash(curl x *)"',
    ]


@pytest.mark.parametrize(
    ("steps", "end", "expected"),
    [
        ([shell("ls", DENIED), shell("pwd", DENIED)], None, ["Bash was refused", "Bash was refused"]),
        ([shell("ls")], RunEnd("success", denials=("Write", "c9")), ["the agent reports refused calls: Write, c9"]),
        ([shell("ls", DENIED)], RunEnd("success", denials=("c1",)), ["Bash was refused"]),
        ([shell("ls", FAILED), shell("pwd", OPEN)], RunEnd("success"), []),
    ],
)
def test_a_refusal_is_reported_once_whether_the_result_or_the_end_tells_it(steps, end, expected):
    verdict = judge("tools/denied", make_run(*steps, end=end))
    assert [each.message for each in verdict.findings] == expected


@pytest.mark.parametrize(
    ("failed", "answered", "expected"),
    [
        (6, 10, ["6 of 10 calls failed"]),
        (5, 10, []),
        (9, 9, []),
        (10, 10, ["10 of 10 calls failed"]),
    ],
)
def test_more_than_the_share_of_enough_calls_must_fail(failed, answered, expected):
    steps = [shell(f"make {n}", 1 if n < failed else 0) for n in range(answered)]
    assert messages("tools/failures", *steps) == expected
    assert messages("tools/failures", *steps, *[shell(f"make x{n}", OPEN) for n in range(20)]) == expected


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([shell("ls")] * 5, ["the same call 5 times in a row"]),
        ([shell("ls")] * 4, []),
        ([shell("ls")] * 4 + [shell("pwd")] + [shell("ls")] * 4, []),
        ([shell("ls")] * 6 + [shell("pwd")] * 5, ["the same call 6 times in a row", "the same call 5 times in a row"]),
        ([shell(f"ls {n}") for n in range(9)], []),
        ([("query", {"a": 1, "b": 2}, OK), ("query", {"b": 2, "a": 1}, OK)] * 3, ["the same call 6 times in a row"]),
        ([shell("ls"), "Again."] * 5, ["the same call 5 times in a row"]),
    ],
)
def test_a_loop_is_the_same_call_with_the_same_result_in_a_row(steps, expected):
    assert messages("tools/loop", *steps) == expected


def test_a_call_whose_result_changes_is_no_loop():
    """Waiting for a job asks the same question until the answer is another one."""
    run = make_run(*[shell("gh run view 1")] * 6)
    for number, call in enumerate(run.calls):
        call.result.fields["output"] = f"{number} minutes"
    assert judge("tools/loop", run).status == "pass"


@pytest.mark.parametrize(
    ("text", "is_claim"),
    [
        ("All tests pass.", True),
        ("All 12 tests passed!", True),
        ("The test suite is green.", True),
        ("Tests: passing", True),
        ("I ran the tests and they all passed.", True),
        ("Fixed it. The tests succeed now.", True),
        ("The tests do not pass.", False),
        ("No tests pass.", False),
        ("3 tests passed, 2 failed.", False),
        ("The tests should pass.", False),
        ("Once the tests pass, merge it.", False),
        ("The tests will pass if you set X.", False),
        ("I could not run it until the tests passed.", False),
        ("The test. It passed.", False),
        ("The contest was passed.", False),
        ("Everything works.", False),
        ("The tests did not run. The parser tests pass.", True),
    ],
)
def test_only_a_plain_sentence_is_a_claim_that_tests_pass(text, is_claim):
    assert bool(messages("claim/tests", shell("pytest", 1), text)) is is_claim
    assert messages("claim/tests", shell("pytest"), text) == []


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (["All tests pass."], ["the final text says that tests pass, and no test ran"]),
        (
            [shell("pytest", 1), "All tests pass."],
            ["the final text says that tests pass, and the last test run failed"],
        ),
        ([shell("pytest", DENIED), "All tests pass."], ["the final text says that tests pass, and no test ran"]),
        ([shell("pytest", 1), "All tests pass.", "I stopped."], []),
        (
            [shell("pytest", 1), "All tests pass.", ("human", "thanks")],
            ["the final text says that tests pass, and the last test run failed"],
        ),
        ([shell("pytest", 1), shell("pytest"), "All tests pass."], []),
    ],
)
def test_the_last_text_of_the_agent_is_compared_with_the_last_test_run(steps, expected):
    assert messages("claim/tests", *steps) == expected


@pytest.mark.parametrize(
    ("rule", "limit", "fields", "message"),
    [
        ("cost", {"max_usd": 1}, {"end": RunEnd("success", cost_usd=1.234)}, "1.23 US dollars, at most 1 allowed"),
        ("cost", {"max_usd": 0.5}, {"end": RunEnd("error", cost_usd=1234.5)}, "1,234.50 US dollars, at most 0.50 allowed"),
        ("tokens", {"max_tokens": 9}, {"tokens": Tokens(output=10)}, "10 tokens, at most 9 allowed"),
        (
            "tokens",
            {"max_tokens": 1000},
            {"tokens": Tokens(input_uncached=1000, cache_read=20_000, cache_write=300, output=1)},
            "21,301 tokens, at most 1,000 allowed",
        ),
        ("turns", {"max_turns": 2}, {"end": RunEnd("success", turns=3), "answers": 9}, "3 turns, at most 2 allowed"),
        ("turns", {"max_turns": 2}, {"end": RunEnd("success", turns=-1), "answers": 9}, "9 turns, at most 2 allowed"),
        ("time", {"max_seconds": 60}, {"end": RunEnd("success", seconds=61.25), "seconds": 5.0}, "61.25 seconds, at most 60 allowed"),
        ("time", {"max_seconds": 1.5}, {"end": RunEnd("success"), "seconds": 90_000.0}, "90,000 seconds, at most 1.50 allowed"),
    ],
)  # fmt: skip
def test_a_budget_is_compared_with_what_the_transcript_records(rule, limit, fields, message):
    (finding,) = judge(f"budget/{rule}", make_run(**fields), **limit).findings
    assert finding.message == message
    assert finding.cure == f"raise `{next(iter(limit))}`"


def test_reading_agents_report_every_change_of_a_file():
    steps = [
        write("a"),
        shell("touch b"),
        shell("sed -i s/a/b/ c"),
        shell("echo x > d"),
        shell("cat e > /dev/null"),
        read("f"),
    ]
    policy = Policy(preset="read-only")
    assert [each.match for each in judge("files/changes", make_run(*steps), policy).findings] == [
        "a", "d", "touch b", "sed -i s/a/b/ c",
    ]  # fmt: skip
