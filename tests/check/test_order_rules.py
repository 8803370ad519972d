"""Rules about the order of edits, tests and pushes."""

from __future__ import annotations

import pytest

from scopes.check.policy import Policy
from tests.check.runs import edit, judge, run_of, shell, verdict_of

AFTER, PASSED, PUSH = "order/tests-after-last-edit", "order/tests-passed", "order/push-after-tests"


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([edit("app.py"), shell("pytest -q")], ("pass", "")),
        ([shell("pytest -q", 1), edit("app.py")], ("fail", "the last test run is before the last edit")),
        ([edit("app.py")], ("fail", "files were edited and no test ran")),
        (["Nothing to do."], ("pass", "")),
        ([shell("pytest"), edit("app.py", 1)], ("pass", "")),
        ([edit("app.py"), shell("cd app && python3 -m pytest tests")], ("pass", "")),
        ([edit("app.py"), shell("echo 'pytest -q'")], ("fail", "files were edited and no test ran")),
    ],
)
def test_a_test_run_follows_the_last_edit(repository, steps, expected):
    """A failed edit is no edit, and a quoted command is no test run."""
    assert verdict_of(judge(repository, run_of(repository, *steps)), AFTER) == expected


def test_only_edits_below_the_paths_of_the_policy_need_a_test_run(repository):
    conversation = run_of(repository, edit("docs/guide.md"))
    policy = Policy(parameters={AFTER: {"paths": ["src/**", "*.py"]}})
    assert verdict_of(judge(repository, conversation, policy), AFTER) == ("pass", "")
    conversation = run_of(repository, edit("lib/deep/app.py"))
    assert verdict_of(judge(repository, conversation, policy), AFTER)[0] == "fail"


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([shell("pytest", 1), shell("pytest", 0)], ("pass", "")),
        ([shell("pytest", 0), shell("pytest", 2)], ("fail", "the last test run failed with exit code 2")),
        ([shell("ls")], ("unknown", "no test ran")),
    ],
)
def test_the_last_test_run_decides(repository, steps, expected):
    assert verdict_of(judge(repository, run_of(repository, *steps)), PASSED) == expected


def test_a_push_needs_a_passed_test_run_after_the_last_edit(repository):
    policy = Policy(levels={PUSH: "error"})
    good = run_of(repository, edit("a.py"), shell("pytest"), shell("git push origin main"))
    assert verdict_of(judge(repository, good, policy), PUSH) == ("pass", "")
    bad = run_of(repository, shell("pytest"), edit("a.py"), shell("git push"))
    assert verdict_of(judge(repository, bad, policy), PUSH)[0] == "fail"


def test_a_refused_push_is_reported_one_level_lower(repository):
    policy = Policy(levels={PUSH: "error"})
    (run,) = judge(repository, run_of(repository, edit("a.py"), shell("git push", 1)), policy).runs
    (finding,) = (each for each in run.findings if each.rule == PUSH)
    assert (finding.attempted, finding.level) == (True, "warning")


@pytest.mark.parametrize(
    "steps",
    [
        [shell("git push")],
        [edit("README.md"), shell("git push")],
        [edit("a.py"), shell("pytest"), edit("docs/usage.md"), shell("git push")],
    ],
)
def test_a_push_without_an_edit_that_tests_can_see_is_not_judged(repository, steps):
    assert verdict_of(judge(repository, run_of(repository, *steps), Policy(levels={PUSH: "error"})), PUSH)[0] == "pass"


@pytest.mark.parametrize(
    "path",
    [".github/workflows/ci.yml", ".github/CODEOWNERS", ".goreleaser.yaml", ".golangci.yaml", ".env.example",
     ".gemini/scripts/wrapper.sh", "docs/a.md"],
)  # fmt: skip
def test_a_file_that_no_test_looks_at_needs_no_test_run(repository, path):
    checked = judge(repository, run_of(repository, edit("a.py"), shell("pytest"), edit(path)))
    assert verdict_of(checked, "order/tests-after-last-edit") == ("pass", "")


def test_an_edit_in_a_worktree_that_the_run_adds_needs_a_test_run(repository):
    steps = (shell("git worktree add ../fix"), edit("/home/dev/fix/a.py"))
    checked = judge(repository, run_of(repository, *steps, cwd="/home/dev/shop"))
    assert verdict_of(checked, "order/tests-after-last-edit")[0] == "fail"


def changed(path, old, new):
    """Return a step that replaces a text of a file."""
    return "Edit", {"file_path": path, "old_string": old, "new_string": new}, "updated"


@pytest.mark.parametrize(
    ("path", "old", "new", "status"),
    [
        ("a.go", "return nil", "return nil //nolint:nilerr // on purpose", "pass"),
        ("a.go", "func f() {", "// f does nothing.\n//\n// It never fails.\nfunc f() {", "pass"),
        ("a.py", "x = 1  # one", "x = 1  # the first\n", "pass"),
        ("a.sh", "# Old.\nrm a", "# New.\nrm a", "pass"),
        ("a.go", "return nil // ok", "return err // ok", "fail"),
        ("a.go", "//go:build linux\n", "//go:build darwin\n", "fail"),
        ("a_test.go", "// Output: 1\n", "// Output: 2\n", "fail"),
        ("a.go", 'x := "a // b"', 'x := "a // c"', "fail"),
        ("a.py", "'http://x/#a'", "'http://x/#b'", "fail"),
        ("a.py", "f()\ng()", "g()\nf()", "fail"),
        ("a.py", "#!/bin/python2\n", "#!/bin/python3\n", "fail"),
        ("a.c", "#define A 1\n", "#define A 2\n", "fail"),
        ("a.data", "# 1", "# 2", "fail"),
    ],
)
def test_an_edit_of_comments_alone_needs_no_test_run(repository, path, old, new, status):
    """Real runs end with a comment for a linter; what a compiler or a test reads in a comment is code."""
    steps = (edit("b.py"), shell("pytest"), changed(path, old, new))
    assert verdict_of(judge(repository, run_of(repository, *steps)), AFTER)[0] == status


def test_a_push_after_an_edit_of_comments_needs_no_new_test_run(repository):
    policy = Policy(levels={PUSH: "error"})
    steps = (edit("a.go"), shell("go test ./..."), changed("a.go", "x()", "x() // why"), shell("git push"))
    assert verdict_of(judge(repository, run_of(repository, *steps), policy), PUSH) == ("pass", "")


@pytest.mark.parametrize(
    ("after", "status"),
    [
        ([shell("git checkout -- lib/a.py")], "pass"),
        ([shell("git checkout HEAD -- lib/a.py b.py")], "pass"),
        ([shell("cd lib && git restore a.py")], "pass"),
        ([shell("git -C /home/dev/shop checkout lib/a.py")], "pass"),
        ([shell("git checkout -- lib/b.py")], "fail"),
        ([shell("git checkout -- lib/a.py", 1)], "fail"),
        ([shell("git checkout main -- lib/a.py")], "fail"),
        ([shell("git restore --staged lib/a.py")], "fail"),
        ([shell("git add -A"), shell("git checkout -- lib/a.py")], "fail"),
        ([shell("git commit -am x && git checkout -- lib/a.py")], "fail"),
        ([shell("git checkout -- lib/a.py"), edit("/home/dev/shop/lib/a.py")], "fail"),
    ],
)
def test_an_edit_that_git_undoes_needs_no_test_run(repository, after, status):
    steps = (edit("/home/dev/shop/lib/a.py"), *after)
    checked = judge(repository, run_of(repository, *steps, cwd="/home/dev/shop"))
    assert verdict_of(checked, AFTER)[0] == status


def test_an_edit_in_a_worktree_below_the_settings_of_an_agent_needs_a_test_run(repository):
    steps = (shell("git worktree add .claude/worktrees/fix"), edit("/home/dev/shop/.claude/worktrees/fix/a.py"))
    checked = judge(repository, run_of(repository, *steps, cwd="/home/dev/shop"))
    assert verdict_of(checked, AFTER)[0] == "fail"


def test_a_failed_line_of_several_commands_is_not_called_a_failed_test_run(repository):
    checked = judge(repository, run_of(repository, shell("make lint && pytest", 1)))
    assert verdict_of(checked, PASSED) == ("fail", "the command line with the last test run failed with exit code 1")


@pytest.mark.parametrize(
    ("command", "code", "status"),
    [
        ("pytest 2>&1 | tail -30", 0, "unknown"),
        ("make lint && pytest | tee log | tail -3", 0, "unknown"),
        ("set -o pipefail; pytest | tail -3", 0, "pass"),
        ("pytest | tail -3; pytest tests/a", 0, "pass"),
        ("ls | head -3; pytest", 0, "pass"),
        ("pytest | tail -3", 1, "fail"),
    ],
)
def test_the_exit_code_of_a_pipeline_does_not_say_whether_tests_passed(repository, command, code, status):
    assert verdict_of(judge(repository, run_of(repository, shell(command, code))), PASSED)[0] == status


def test_a_push_after_tests_whose_exit_code_is_not_known_is_unknown(repository):
    policy = Policy(levels={PUSH: "error"})
    steps = (edit("a.py"), shell("pytest | tail"), shell("git push"))
    assert verdict_of(judge(repository, run_of(repository, *steps), policy), PUSH)[0] == "unknown"
    more = (*steps, edit("a.py"), shell("git push"))
    assert verdict_of(judge(repository, run_of(repository, *more), policy), PUSH)[0] == "fail"
