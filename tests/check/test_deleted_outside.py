"""Files deleted outside of the workspace, globs in paths, the top of the repository, and directories in own rules."""

from __future__ import annotations

import pytest

from tests.check.made_runs import judge, make_run, parse, shell

OUTSIDE, PROTECTED = "files/outside-workspace", "files/protected"


@pytest.mark.parametrize(
    "line", ["rm -f /etc/hosts", "rm ~/.bashrc", "rm ../other/file.py", "unlink /etc/x", "cd .. && rm other/file.py"]
)
def test_a_file_deleted_outside_of_the_workspace_is_a_finding(line):
    (finding,) = judge(OUTSIDE, make_run(shell(line))).findings
    assert finding.message.startswith("deletes ")


@pytest.mark.parametrize(
    "line",
    [
        "rm a.py",
        "rm -f /tmp/x",
        "rm /home/dev/shop/a.py",
        "rm $FILE",
        "rmdir ../empty",
        "rm -f /var/tmp/x.log",
    ],
)
def test_files_of_the_workspace_and_temporary_ones_may_be_deleted(line):
    assert judge(OUTSIDE, make_run(shell(line))).status == "pass"


def test_a_file_that_the_run_made_outside_is_reported_once():
    messages = [each.message for each in judge(OUTSIDE, make_run(shell("touch ../x"), shell("rm ../x"))).findings]
    assert len(messages) == 1
    assert messages[0].startswith("writes /home/dev/x")


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("rm .git*/workflows/ci.yml", "fail"),
        ("rm .github/work*/ci.yml", "fail"),
        ("rm .github/*/ci.yml", "fail"),
        ("rm .gitlab*", "fail"),
        ("rm *", "pass"),
        ("rm a*", "pass"),
        ("rm .github/ISSUE*/a.yml", "pass"),
        ("rm src/*/ci.yml", "pass"),
        ('rm "$(git rev-parse --show-toplevel)/.github/workflows/ci.yml"', "fail"),
        ("cd src && rm $(git rev-parse --show-toplevel)/.github/workflows/ci.yml", "fail"),
        ("R=$(git rev-parse --show-toplevel); echo x > $R/.github/workflows/ci.yml", "fail"),
        ("rm $PWD/.github/workflows/ci.yml", "fail"),
        ("rm $(pwd)/.github/workflows/ci.yml", "fail"),
        ("cd /srv/x && rm $(git rev-parse --show-toplevel)/.github/workflows/ci.yml", "pass"),
        ("rm $(git rev-parse --show-toplevel)/src/a.py", "pass"),
    ],
)
def test_a_glob_or_the_top_of_the_repository_names_protected_files(line, status):
    assert judge(PROTECTED, make_run(shell(line))).status == status


@pytest.mark.parametrize(
    ("rule", "line", "status"),
    [
        ("edit(src/**)", "rm -rf src", "fail"),
        ("edit(src/**)", "mv src x", "fail"),
        ("edit(src/a/**)", "rm -rf src", "fail"),
        ("edit(src/**)", "rm -rf build", "pass"),
        ("edit(src/**)", "mv build x", "pass"),
        ("edit(src/**)", "find src -name '*.py' -delete", "fail"),
        ("edit(.env)", "rm .env*", "fail"),
        ("read(.env)", "grep x .env*", "fail"),
        ("read(.env)", "grep x src/*.py", "pass"),
        ("read(.env)", "cat *", "pass"),
    ],
)
def test_own_rules_see_directories_and_globs(rule, line, status):
    policy = parse(f'[[rule]]\nid = "ours/x"\nexpect = "never {rule}"\n')
    assert judge("ours/x", make_run(shell(line)), policy).status == status
