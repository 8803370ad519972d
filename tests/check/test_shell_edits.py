"""Edits by shell commands count for the rules about the order of edits, tests and pushes."""

from __future__ import annotations

import pytest

from tests.check.made_runs import judge, make_run, shell

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
