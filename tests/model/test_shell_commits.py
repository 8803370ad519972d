"""Which command lines can make a commit."""

from __future__ import annotations

import pytest

from scopes.model.shell_commits import find_commit_chance
from scopes.model.shell_writers import MAX_COMMAND

BY_GIT = [
    "git commit -m x", "cd a && git -C b -c user.name=x commit -qm 'fix'", "git add -A; git commit --amend --no-edit",
    "git merge topic", "git rebase --continue", "git cherry-pick a1b2", "git revert HEAD", "git am < x.patch",
    "git pull --rebase", "sudo -u me git commit -m x", "bash -c 'git commit -m x'", "sh -lc \"cd x && git merge y\"",
    "eval git commit -m x", "echo $(git commit -m x)", "find . -name '*.patch' -exec git am {} +",
    "bash <<'E'\ngit commit -m x\nE", "jj commit -m x", "gt create -m x", "make test && git commit -m x",
    "for x in 1 2; do git commit --allow-empty -m $x; done",
]  # fmt: skip
UNKNOWN = [
    "make release", "./scripts/publish.sh", "npm version patch", "python3 -c 'print(1)'", "git ci -m x", "source x.sh",
    "bash script.sh", "gh pr merge 5", "pytest", "git commit -m 'open quote", "x" * (MAX_COMMAND + 1), "jj log",
]  # fmt: skip
NEVER = [
    "", "ls -la", "git log -1", "git show HEAD | head", "cat x && grep -n 'git commit' README.md", "echo git commit -m x",
    "git add -A && git push", "cat > x <<'E'\ngit commit -m x\nE", "find . -name '*.py'", "git stash pop", "bash",
    "git diff > x.patch", "# git commit", "cd x", "git -C x status", "sed -i s/a/b/ x && rm y",
]  # fmt: skip


@pytest.mark.parametrize("command", BY_GIT)
def test_a_command_that_runs_git_for_it_can_commit(command):
    assert find_commit_chance(command) == "git"


@pytest.mark.parametrize("command", UNKNOWN)
def test_whether_another_program_or_an_alias_commits_is_unknown(command):
    assert find_commit_chance(command) == "unknown"


@pytest.mark.parametrize("command", NEVER)
def test_what_only_reads_or_names_git_makes_no_commit(command):
    assert find_commit_chance(command) == "none"


def test_scripts_in_scripts_end_somewhere():
    assert find_commit_chance("eval " * 50 + "git commit") == "unknown"
