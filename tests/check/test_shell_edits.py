"""Edits by shell commands count for the rules about the order of edits, tests and pushes."""

from __future__ import annotations

import pytest

from scopes.model.message import Part
from tests.check.made_runs import edit, judge, make_run, read, shell

LAST_EDIT = "order/tests-after-last-edit"


@pytest.mark.parametrize(
    "line",
    [
        "sed -i s/a/b/ src/a.py",
        "sed -i '' 's|a|b|' src/a.py",
        "perl -pi -e s/a/b/ src/a.py",
        "cat > src/a.py <<'EOF'\nx\nEOF",
        "echo x >> src/a.py",
        "echo x | tee src/a.py",
        "cp /tmp/a.py src/a.py",
        "pytest && mv /tmp/a.py src/a.py",
        "cd src && patch a.py /tmp/x.diff",
    ],
)
def test_what_a_shell_command_edits_after_the_tests_is_an_edit(line):
    verdict = judge(LAST_EDIT, make_run(shell("pytest"), shell(line)))
    assert [(each.message, each.file) for each in verdict.findings] == [
        ("the last test run is before the last edit", "src/a.py")
    ]
    assert judge(LAST_EDIT, make_run(shell("pytest"), shell(line), shell("pytest"))).status == "pass"
    assert judge(LAST_EDIT, make_run(shell("pytest"), shell(f"{line}\npytest"))).status == "pass"
    assert judge("order/push-after-tests", make_run(shell("pytest"), shell(line), shell("git push"))).status == "fail"


@pytest.mark.parametrize(
    "line",
    [
        "pytest > out.txt",
        "pytest 2>&1 | tee test.log",
        "make > build/report.html",
        "go build -o app",
        "rm -rf build",
        "cp a.py /tmp/a.py",
        'echo x > "$OUT/a.py"',
        "sed -i s/a/b/ README.md",
        "echo x > .git/info/exclude",
        "grep x src/a.py",
    ],
)
def test_what_programs_write_and_what_no_test_sees_is_no_edit(line):
    assert judge(LAST_EDIT, make_run(shell("pytest"), shell(line))).status == "pass"


@pytest.mark.parametrize(
    ("steps", "status"),
    [
        ((shell("pytest"), shell("git mv app.py b.py")), "fail"),
        ((shell("pytest"), shell("git rm app.py")), "fail"),
        ((edit("app.py"), shell("pytest"), shell("rm app.py")), "fail"),
        ((read("app.py"), shell("pytest"), shell("rm app.py")), "fail"),
        ((edit("app.py"), shell("pytest"), shell("rm out.json")), "pass"),
        ((edit("app.py"), shell("pytest"), edit("requirements.txt")), "fail"),
        ((edit("app.py"), shell("pytest"), edit("api/requirements-dev.txt")), "fail"),
        ((edit("app.py"), shell("pytest"), edit("src/CMakeLists.txt")), "fail"),
        ((edit("app.py"), shell("pytest"), edit("tests/data/in.txt")), "fail"),
        ((edit("app.py"), shell("pytest"), edit("NOTES.txt")), "pass"),
        ((edit("app.py"), shell("pytest"), edit("test-secrets.txt")), "pass"),
    ],
)
def test_a_file_that_the_run_knows_and_then_deletes_or_moves_is_edited(steps, status):
    assert judge(LAST_EDIT, make_run(*steps)).status == status


@pytest.mark.parametrize(
    "line",
    [
        "pytest | tee test.result",
        "pytest 2>&1 | tee reports/out.xml | tail -3",
        "pytest | cat > test.result",
        "pytest | sed s/a/b/ | tee test.result",
        "make test | grep -v x > test.result",
    ],
)
def test_what_a_test_prints_into_a_file_is_no_edit(line):
    assert judge(LAST_EDIT, make_run(edit("app.py"), shell(line))).status == "pass"


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("sed -i s/a/b/ app.py && git commit -am x && git push", "fail"),
        ("echo x > app.py; git push", "fail"),
        ("sed -i s/a/b/ app.py && pytest && git push", "pass"),
        ("pytest && sed -i s/a/b/ app.py && git push", "fail"),
        ("git push && sed -i s/a/b/ app.py", "pass"),
    ],
)
def test_a_push_in_the_line_of_an_edit_needs_tests_between_them(line, status):
    run = make_run(edit("app.py"), shell("pytest"), shell(line))
    assert judge("order/push-after-tests", run).status == status


def with_output(line, output, code=0):
    """Return a step whose command line printed something."""
    return "Bash", {"command": line}, code, {"result": Part("tool_result", {"call_id": "c2", "output": output})}


def test_a_push_behind_tests_whose_summary_has_failures_is_a_finding():
    line = "pytest | tail -3; git push"
    failed = with_output(line, "1 failed, 2 passed in 0.1s")
    assert judge("order/push-after-tests", make_run(edit("app.py"), failed)).status == "fail"
    assert judge("order/push-after-tests", make_run(edit("app.py"), shell(line))).status == "unknown"


@pytest.mark.parametrize(
    "output",
    [
        "/usr/bin/python: No module named pytest",
        "bash: line 1: pytest: command not found",
        "sh: 1: pytest: not found",
        'npm error Missing script: "test"',
        "make: *** No rule to make target 'test'.  Stop.",
    ],
)
def test_a_test_runner_that_is_not_there_ran_no_test(output):
    run = make_run(edit("app.py"), with_output("pytest 2>&1 | tail -5", output))
    assert judge(LAST_EDIT, run).status == "fail"


@pytest.mark.parametrize(
    "line",
    [
        "python manage.py test",
        "npm t",
        "./mvnw test",
        "make -C api test",
        "coverage run -m pytest",
        "node --test",
        "npx playwright test",
    ],
)
def test_more_commands_run_tests_without_a_policy(line):
    assert judge(LAST_EDIT, make_run(edit("app.py"), shell(line))).status == "pass"


@pytest.mark.parametrize(
    ("line", "output", "status"),
    [
        ("pytest tests/a; pytest tests/b", "1 failed, 2 passed in 0.1s\n3 passed in 0.2s", "unknown"),
        ("pytest tests/a; pytest tests/b", "2 passed in 0.1s\n3 passed in 0.2s", "pass"),
        ("pytest && pytest --lf", "2 passed in 0.1s\n1 passed in 0.2s", "pass"),
    ],
)
def test_a_failed_run_before_a_passed_one_of_the_line_is_not_passed_over(line, output, status):
    assert judge("order/tests-passed", make_run(with_output(line, output))).status == status
