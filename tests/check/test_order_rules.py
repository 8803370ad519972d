"""Rules about the order of edits, tests and pushes."""

from __future__ import annotations

import pytest

from scopes.check.comments import changes_only_comments
from scopes.check.policy import Policy
from scopes.model.tools import FileEdit, Replacement
from tests.check.runs import edit, judge, run_of, shell, verdict_of

pytestmark = pytest.mark.cases(16)  # each is another way through a rule, and takes little time

REFUSED = {"output": "Permission to use Bash has been denied.", "is_error": True}
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
        ([edit("app.py"), shell("pytest --version")], ("fail", "files were edited and no test ran")),
        ([edit("app.py"), shell("python3 -m pytest --co -q")], ("fail", "files were edited and no test ran")),
        ([edit("app.py"), shell("mvn test -DskipTests")], ("fail", "files were edited and no test ran")),
        (
            [edit("app.py"), shell("cargo test --no-run && go test -c ./...")],
            ("fail", "files were edited and no test ran"),
        ),
        ([edit("app.py"), shell("ctest -V; go test -v -run 'x -c' ./...")], ("pass", "")),
        ([edit("app.py"), shell("echo 'pytest -q'")], ("fail", "files were edited and no test ran")),
    ],
)
@pytest.mark.cases(16)
def test_a_test_run_follows_the_last_edit(repository, steps, expected):
    """A failed edit is no edit, and a quoted command is no test run."""
    assert verdict_of(judge(repository, run_of(repository, *steps)), AFTER) == expected


def test_a_finding_that_no_test_ran_names_the_setting_with_the_commands_that_count(repository):
    def cure(*steps):
        run = judge(repository, run_of(repository, *steps)).runs[0]
        return next(finding.cure for finding in run.findings if finding.rule == AFTER)

    assert cure(edit("app.py"), shell("check-all")).endswith("; `tests` of the policy names the commands that count")
    assert "`tests` of the policy" not in cure(shell("pytest"), edit("app.py"))


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
        ([shell("pytest", 1), shell("pytest --version")], ("fail", "the last test run failed with exit code 1")),
        ([shell("pytest", 0), shell("pytest", 2)], ("fail", "the last test run failed with exit code 2")),
        ([shell("ls")], ("unknown", "no test ran; `tests` of the policy names the commands that count")),
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


@pytest.mark.parametrize(("result", "expected"), [(1, (False, "error")), (REFUSED, (True, "warning"))])
def test_a_refused_push_is_reported_one_level_lower_and_a_failed_one_is_not(repository, result, expected):
    policy = Policy(levels={PUSH: "error"})
    push = (*shell("git push")[:2], result)
    (run,) = judge(repository, run_of(repository, edit("a.py"), push), policy).runs
    (finding,) = (each for each in run.findings if each.rule == PUSH)
    assert (finding.attempted, finding.level) == expected


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
        ("a.rs", "    /// assert_eq!(f(1), 2);\n", "    /// assert_eq!(f(1), 3);\n", "fail"),
        ("a.go", "func f() {\n\t//go:fix inline\n", "func f() {\n\t//go:fix\n", "fail"),
        ("a.py", 'T = """\n# a\n"""', 'T = """\n# b\n"""', "fail"),
        ("a.yml", "run: |\n  # a\n  make", "run: |\n  # b\n  make", "fail"),
        ("a.yml", "run: |\n  make\n# a\n", "run: |\n  make\n# b\n", "pass"),
        ("a.sh", "cat <<E\n# a\nE\n", "cat <<E\n# b\nE\n", "fail"),
        ("a.sh", "cat <<E\nx\nE\n# a\n", "cat <<E\nx\nE\n# it's b\n", "pass"),
        ("a.js", "x = `\n// a\n`", "x = `\n// b\n`", "fail"),
        ("a.cpp", 'x = R"(\n// a\n)";', 'x = R"(\n// b\n)";', "fail"),
    ],
)
@pytest.mark.cases(16)
def test_an_edit_of_comments_alone_needs_no_test_run(repository, path, old, new, status):
    """Real runs end with a comment for a linter; what a compiler or a test reads in a comment is code."""
    steps = (edit("b.py"), shell("pytest"), changed(path, old, new))
    assert verdict_of(judge(repository, run_of(repository, *steps)), AFTER)[0] == status


@pytest.mark.parametrize(
    ("path", "text", "status"),
    [
        ("a.py", 'T = """\n#\n# old\n"""\n', "fail"),
        ("a.py", 'def f():\n    """Say what it does, don\'t say why."""\n    # old\n', "pass"),
        ("a.sh", "cat <<'END'\n#\n  # old\nEND\n", "fail"),
        ("a.sh", "# It's so.\nx='a\nb'\n# old\n", "pass"),
        ("a.js", "f(`a ${b}\n\n// old\n`)\n", "fail"),
        ("a.ts", "/* don't */\nf(`a`) // old\n", "pass"),
        ("a.rs", "fn f<'a>(x: &'a str) {\n    // old\n}\n", "pass"),
        ("a.yaml", "steps:\n  - run: |\n\n      # old\n", "fail"),
    ],
)
def test_a_mark_of_a_comment_in_a_string_of_several_lines_is_code(path, text, status):
    """Claude Code records the text of the file before the edit."""
    replaced = FileEdit(path, "edit", before=text, replacements=(Replacement("old", "new"),))
    assert changes_only_comments(replaced) is (status == "pass")


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
        ([shell("git checkout main lib/a.py")], "fail"),
        ([shell("git checkout HEAD lib/a.py")], "fail"),
        ([shell("false && git restore lib/a.py || true")], "fail"),
        ([shell("false && git restore lib/a.py; true")], "fail"),
        ([shell("if false; then git restore lib/a.py; fi")], "fail"),
        ([shell("git restore lib/a.py; git status")], "pass"),
        ([shell("git restore lib/a.py && git status")], "pass"),
        ([shell("git restore --staged lib/a.py")], "fail"),
        ([shell("git add -A"), shell("git checkout -- lib/a.py")], "fail"),
        ([shell("git commit -am x && git checkout -- lib/a.py")], "fail"),
        ([shell("git checkout -- lib/a.py"), edit("/home/dev/shop/lib/a.py")], "fail"),
    ],
)
@pytest.mark.cases(16)
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


@pytest.mark.parametrize(
    ("command", "code", "status"),
    [
        ("pytest; echo done", 0, "unknown"),
        ("pytest\necho done", 0, "unknown"),
        ("pytest & wait", 0, "unknown"),
        ("pytest || true", 0, "unknown"),
        ("pytest || exit 1", 0, "pass"),
        ("pytest || { echo failed; exit 1; }", 0, "pass"),
        ("! pytest", 0, "unknown"),
        ("if pytest; then echo good; fi", 0, "unknown"),
        ("echo $(pytest)", 0, "unknown"),
        ("out=$(pytest)", 0, "pass"),
        ("bash -c 'pytest; echo done'", 0, "unknown"),
        ("bash -c 'cd app && pytest'", 0, "pass"),
        ("(cd app && pytest) > log 2>&1", 0, "pass"),
        ("{ pytest; }; echo done", 0, "unknown"),
        ("set -e; pytest; echo done", 0, "pass"),
        ("pytest; exit $?", 0, "pass"),
        ("pytest; code=$?; echo done; exit $code", 0, "pass"),
        ("pytest; code=$?; exit $other", 0, "unknown"),
        ("cd app; pytest -q", 0, "pass"),
        ("cd app || exit 1; pytest -q", 0, "pass"),
        ("pytest && echo done", 0, "pass"),
        ("pytest && git log | head -3", 0, "pass"),
        ("pytest && git log 2>&1 | head -3", 0, "pass"),
        ("set -euo pipefail; pytest | tail -3", 0, "pass"),
        ("set -o pipefail; set +o pipefail; pytest | tail -3", 0, "unknown"),
        ("echo pipefail; pytest | tail -3", 0, "unknown"),
        ("bash -o pipefail -c 'pytest | tail -3'", 0, "unknown"),
        ("set -e; set +e; pytest; echo done", 0, "unknown"),
        ("lint && pytest | tail -3", 0, "unknown"),
        ("pytest tests/a; pytest | tail -3", 0, "unknown"),
        ("timeout 60 pytest; # done", 0, "pass"),
        ("pytest; grep -c x log", 1, "unknown"),
        ("pytest | grep FAILED", 1, "unknown"),
        ("pytest | grep FAILED", 0, "unknown"),
        ("pytest | tail -30 | LC_ALL=C grep FAILED", 1, "unknown"),
        ("pytest | xargs grep FAILED", 123, "unknown"),
        ("pytest | (grep FAILED)", 1, "unknown"),
        ("pytest |& timeout 5 grep FAILED", 1, "unknown"),
        ("pytest | python3 summary.py", 1, "unknown"),
        ("set -o pipefail; pytest | grep passed", 0, "pass"),
        ("pytest || make help", 2, "fail"),
    ],
)
@pytest.mark.cases(32)
def test_only_an_exit_code_that_is_that_of_the_tests_decides(repository, command, code, status):
    assert verdict_of(judge(repository, run_of(repository, shell(command, code))), PASSED)[0] == status


FAILED_SUMMARIES = [
    ("pytest -q", "F.\n1 failed, 3 passed in 0.12s\n"),
    ("pytest", "====== 2 failed, 5 passed, 1 warning in 63.20s (0:01:03) ======"),
    ("pytest", "\x1b[31m===== \x1b[31m\x1b[1m2 errors\x1b[0m\x1b[31m in 0.30s\x1b[0m\x1b[31m =====\x1b[0m"),
    ("python -m unittest", "Ran 3 tests in 0.1s\n\nFAILED (failures=1, errors=2)\n"),
    ("go test ./...", "FAIL\tshop/a\t0.004s\nok  \tshop/b\t0.004s\n"),
    ("go test ./...", "FAIL\tshop/a [build failed]\n"),
    ("cargo test", "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s"),
    ("npx jest", "Tests:       1 failed, 2 skipped, 11 passed, 14 total"),
    ("npx vitest run", " Test Files  1 failed | 2 passed (3)\n      Tests  2 failed | 11 passed (13)\n"),
]
OTHER_OUTPUTS = [
    ("pytest", "===== 5 passed in 0.12s ====="),
    ("pytest", "1 failed, 3 passed in 0.12s\n4 passed in 0.11s"),
    ("pytest", "4 xfailed, 1 passed in 0.1s"),
    ("pytest", "the last time 1 failed, 3 passed in 0.12s"),
    ("pytest", "FAILED tests/test_a.py::test_b"),
    ("go test ./...", "ok  \tshop/b\t0.004s"),
    ("cargo test", "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out"),
    ("npx jest", "Tests:       11 passed, 11 total"),
    ("python -m unittest", "OK (skipped=1)"),
]


def printed(command, output, code=0):
    """Return a step that runs a command line with an output and an exit code."""
    return "Bash", {"command": command}, {"output": output, "exit_code": code, "is_error": code != 0}


@pytest.mark.parametrize("form", ["{} 2>&1 | tail -30", "{}; echo done", "{} | tee log"])
@pytest.mark.parametrize(("command", "output"), FAILED_SUMMARIES)
@pytest.mark.cases(16)
def test_the_summary_of_a_test_runner_shows_a_failure_that_the_exit_code_hides(repository, form, command, output):
    checked = judge(repository, run_of(repository, printed(form.format(command), output)))
    assert verdict_of(checked, PASSED) == ("fail", "the last test run failed, by the summary in its output")


@pytest.mark.parametrize(("command", "output"), OTHER_OUTPUTS)
def test_a_pass_is_never_concluded_from_output(repository, command, output):
    """An agent can print `5 passed` itself."""
    status, reason = verdict_of(judge(repository, run_of(repository, printed(f"{command} | tail", output))), PASSED)
    assert (status, "not that of the last test run" in reason) == ("unknown", True)


def test_a_known_exit_code_goes_before_a_summary(repository):
    """Tests of a test runner print failures."""
    checked = judge(repository, run_of(repository, printed("pytest -s", "1 failed in 0.12s\n")))
    assert verdict_of(checked, PASSED) == ("pass", "")


def test_of_several_runs_in_one_line_the_last_summary_counts(repository):
    output = "FAIL\tshop/a\t0.004s\nok  \tshop/a\t0.004s\n"
    checked = judge(repository, run_of(repository, printed("go test ./a | tail -1; go test ./a | tail -1", output)))
    assert verdict_of(checked, PASSED)[0] == "unknown"


def test_a_push_after_tests_whose_summary_shows_a_failure_is_found(repository):
    policy = Policy(levels={PUSH: "error"})
    steps = (edit("a.py"), printed("pytest | tail", "1 failed in 0.12s"), shell("git push"))
    assert verdict_of(judge(repository, run_of(repository, *steps), policy), PUSH)[0] == "fail"
