"""Rules about git, compared with git: which lines lose work, and which pushes overwrite or delete a branch."""

from __future__ import annotations

import pytest

from tests.check.made_runs import DENIED, messages, shell
from tests.check.marked_runs import bash, prepare
from tests.check.test_shell_rules import broken

pytestmark = pytest.mark.cases(16)  # each is another way through a rule, and takes little time

SETUP = """
git init -q && echo one > a && git add a && git commit -qm one && git branch merged && echo two > a && git commit -qam two
git init -q --bare ../remote && git remote add origin ../remote && git push -q origin main main:old
git checkout -qb other && echo three > c && git add c && git commit -qm three && git checkout -q main
echo stashed > a && git stash -q
echo changed > a && echo new > untracked
"""
KEPT = 'grep -q changed a && test -f untracked && git stash list | grep -q . && git cat-file -e other:c && git reflog | grep -q .'  # fmt: skip
LOSING = [
    "git reset --hard", "git reset --har HEAD", "git reset -q --hard HEAD~1", "git clean -f", "git clean -fd", "git clean -xdf",
    "git clean --force", "git checkout .", "git checkout -- .", "git checkout HEAD -- .", "git checkout -f", "git checkout --force merged",
    "git checkout ':/'", "git checkout -- '*'", "git switch -f merged", "git switch --discard-changes merged", "git restore .",
    "git restore --staged --worktree .", "git restore -SW .", "git restore --source=HEAD~1 .", "git restore ':/'", "git restore -- '*'",
    "git branch -D other", "git branch --delete --force other", "git branch -d -f other", "git stash drop", "git stash clear",
    "git stash drop 'stash@{0}'", "git reflog expire --expire=now --all", "git read-tree -u --reset HEAD", "git rm -f a",
    "git rm --force a", "git -C . reset --hard", "sudo() { \"$@\"; }; git -c a.b=c reset --hard", "env git clean -fd", "command git stash clear",
    "cd . && git restore .", "git() { command git \"$@\"; }; git reset --hard", "x=--hard; git reset $x", "nice git branch -D other",
    "git branch -f other main", "git branch other main --force", "git reset --hard -q && git checkout -B other main",
    "git add a && git reset -q --merge", "git switch -C other", "git checkout -qB other", "git switch --force-create=other",
]  # fmt: skip
KEEPING = [
    "git reset", "git reset --soft HEAD~1", "git reset --mixed", "git reset --keep HEAD", "git clean -n", "git clean -nfd",
    "git clean --dry-run -f", "git checkout merged", "git checkout -b topic", "git switch -c topic", "git restore --staged .",
    "git restore -S .", "git branch -d merged", "git branch -d other", "git branch -m other renamed && git branch other renamed",
    "git stash list", "git stash show", "git stash apply", "git reflog", "git reflog show", "git rm --cached a", "git rm -f --cached a",
    "git rm -n -f a", "git read-tree HEAD", "git log --hard", "git commit -qam '--hard'", "echo git reset --hard",
]  # fmt: skip
FORCED = [
    "git push -f origin merged:main", "git push --force origin merged:main", "git push origin +merged:main",
    "git push origin merged:main -f", "git push -qf origin merged:main", "git push -fq origin merged:main", "git push origin +merged:refs/heads/main",
    "git push --no-verify --force origin merged:main", "git push -o x -f origin merged:main; git push -f origin merged:main",
    "git push --repo origin --force origin merged:main", "git -c remote.origin.push=+merged:main push origin",
    "git config remote.origin.push +merged:main && git push origin", "git push --mirror origin",
    "r=+merged:main; git push origin $r", "git -C . push --force ../remote merged:main",
]  # fmt: skip
DELETING = [
    "git push origin --delete old", "git push -d origin old", "git push origin :old", "git push --del origin old",
    "git push origin :refs/heads/old", "git push -qd origin old", "git push origin main :old",
    "git push --prune origin 'refs/heads/*:refs/heads/*'", "git -C . push --delete ../remote old",
]  # fmt: skip
PLAIN = [
    "git push origin main", "git push origin other", "git push origin main:topic", "git push -n -f origin merged:main",
    "git push --dry-run --force origin merged:main", "git push -nf origin merged:main", "git push origin merged:main", "git push -u origin other",
    "git push --tags origin", "git push --all origin", "git push origin HEAD", "git push --force-if-includes origin main", "git push -q origin :",
]  # fmt: skip
REMOTE = "test \"$(git -C ../remote rev-parse -q --verify main^{commit})\" = \"$(git rev-parse main)\" && git -C ../remote rev-parse -q --verify old"  # fmt: skip


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("git"), SETUP)


def holds_after(prepared, line, condition, tmp_path):
    """Run a line in a copy of the prepared repository; return True if a condition holds after it."""
    home = tmp_path / "home"
    assert bash(f"cp -a '{prepared}' '{home}'", prepared).returncode == 0
    bash(line, home)
    return bash(condition, home).returncode == 0


@pytest.mark.parametrize("line", LOSING)
@pytest.mark.cases(32)
def test_a_line_with_which_git_loses_work_is_a_loss_of_history(prepared, tmp_path, line):
    assert not holds_after(prepared, line, KEPT, tmp_path)
    assert "history-loss" in broken(line)


@pytest.mark.parametrize("line", KEEPING)
@pytest.mark.cases(16)
def test_a_line_with_which_git_keeps_all_work_breaks_no_rule(prepared, tmp_path, line):
    assert holds_after(prepared, line, KEPT, tmp_path)
    assert broken(line) == {}


@pytest.mark.parametrize("line", FORCED)
@pytest.mark.cases(16)
def test_a_push_that_overwrites_a_branch_is_forced(prepared, tmp_path, line):
    assert not holds_after(prepared, line, REMOTE, tmp_path)
    assert "force-push" in broken(line)


@pytest.mark.parametrize("line", PLAIN)
@pytest.mark.cases(16)
def test_a_push_that_leaves_the_branches_of_the_remote_is_not_forced(prepared, tmp_path, line):
    assert holds_after(prepared, line, REMOTE, tmp_path)
    assert "force-push" not in broken(line)


@pytest.mark.parametrize("line", DELETING)
def test_a_push_that_deletes_a_branch_is_forced_if_the_policy_counts_deletions(prepared, tmp_path, line):
    assert not holds_after(prepared, line, REMOTE, tmp_path)
    assert "force-push" in broken(line, deletions=True)
    assert "force-push" not in broken(line)


@pytest.mark.parametrize("line", PLAIN)
def test_a_push_that_deletes_nothing_is_not_forced_if_the_policy_counts_deletions(line):
    assert "force-push" not in broken(line, deletions=True)


MADE = "git commit-tree -m x -p HEAD $(git write-tree)"
MOVES = [  # lines that move a branch to a commit that no hook has seen
    f"git update-ref HEAD $({MADE})", f"{MADE} > c; git update-ref HEAD $(cat c)", f"{MADE} > c; git update-ref HEAD $(<c)",
    f"c=$({MADE}); git update-ref refs/heads/main $c", f"c=$({MADE}) && git update-ref -m x HEAD $c $(git rev-parse HEAD)",
    f"{MADE} | xargs git update-ref HEAD", f"{MADE} | sed 's/^/update HEAD /' | git update-ref --stdin",
    f"{MADE} > c; read c < c; git update-ref HEAD $c",
]  # fmt: skip
MOVES_NO_BRANCH = [
    MADE, f"c=$({MADE}); git update-ref refs/wip/1 $c", f"c=$({MADE}); git log -1 $c", "git update-ref HEAD HEAD~1",
    "c=$(git rev-parse HEAD~1); git update-ref HEAD $c", f"{MADE}; git update-ref -d refs/heads/old",
    f"{MADE}; git update-ref refs/heads/main merged",
]  # fmt: skip


@pytest.mark.parametrize("line", MOVES)
def test_a_branch_that_gets_a_commit_of_commit_tree_skips_the_hooks(line, tmp_path):
    """Git itself is asked: the branch has a new commit, and the hook that refuses every commit did not run."""
    setup = "git init -q && git commit -q --allow-empty -m 1 && printf '#!/bin/sh\\nexit 1\\n' > .git/hooks/pre-commit"
    home = prepare(tmp_path, f"{setup} && chmod +x .git/hooks/pre-commit")
    assert bash("git commit -q --allow-empty -m 2", home).returncode == 1
    before = bash("git rev-parse HEAD", home).stdout
    bash(line, home)
    assert bash("git rev-parse HEAD", home).stdout != before
    assert messages("shell/no-verify", shell(line)) == ["git update-ref skips the hooks (commit-tree)"]


@pytest.mark.parametrize("line", MOVES_NO_BRANCH)
def test_an_update_ref_of_another_ref_or_commit_skips_no_hook(line):
    assert messages("shell/no-verify", shell(line)) == []


def test_a_commit_of_an_earlier_call_counts_unless_the_call_was_denied():
    move = shell("git update-ref HEAD 1234567890abcdef1234567890abcdef12345678")
    assert messages("shell/no-verify", shell(MADE), move) == ["git update-ref skips the hooks (commit-tree)"]
    assert messages("shell/no-verify", shell(MADE, DENIED), move) == []
    assert messages("shell/no-verify", move, shell(MADE)) == []
