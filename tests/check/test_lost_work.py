"""Commands that throw away changes of the working tree, or skip hooks: git is asked whether they are lost, or run."""

from __future__ import annotations

import shutil

import pytest

from tests.check.made_runs import judge, make_run, shell
from tests.check.marked_runs import bash, prepare

WHOLE = [  # all changes are lost
    "git checkout -- .", "git checkout .", "git restore .", "cd sub; git checkout -- ..", "cd sub; git restore ..", "git checkout :/",
    "cd sub; git checkout -- :/", "cd sub/deep && git restore ../..", "git restore ':(top)'", "yes | git checkout -p",
    "git checkout -p <<< y", "yes | git restore -p", "git archive HEAD | tar x", "git archive HEAD | tar -xf -",
    "cd sub; git -C .. archive HEAD | tar x -C ..", "git diff | git apply -R", "git diff | patch -R -p1", "git diff | git apply --reverse",
    "git reset -q --hard", "git checkout -f", "git stash -q; git stash clear", "git config alias.u 'reset --hard'; git u",
    "printf '[alias]\\nu = reset --hard\\n' >> .git/config; git u", "printf '[alias]\\nu = checkout .\\n' > g; GIT_CONFIG_GLOBAL=g git u",
]  # fmt: skip
SINGLE = [  # those of one file are lost: usual work, reported with `files = true`
    "git checkout -- tracked.txt", "git checkout HEAD tracked.txt", "git checkout main -- tracked.txt", "git checkout @ -- tracked.txt",
    "git checkout tracked.txt", "git restore tracked.txt", "git restore -s HEAD tracked.txt", "cd sub; git restore :/tracked.txt",
    "git show HEAD:tracked.txt > tracked.txt", "git show :tracked.txt > tracked.txt", "git cat-file -p HEAD:tracked.txt > tracked.txt",
    "git diff > d; git apply -R d", "git diff > d; patch -R -p1 < d", "git apply -R < <(git diff)", "git restore --worktree -S tracked.txt",
    "rm tracked.txt; git checkout tracked.txt",
]  # fmt: skip
KEPT = [  # nothing is lost
    "git checkout -b topic", "git checkout main", "git restore --staged .", "git reset -q", "git archive HEAD | tar t", "git diff",
    "mkdir x && git archive HEAD | tar x -C x", "git diff | git apply -R --check", "git diff | patch -R -p1 --dry-run", "git apply -R --stat <<< ''",
    "git show HEAD:tracked.txt > copy", "git cat-file -p HEAD:tracked.txt", "yes | git restore -p --staged", "echo y | git reset -qp",
    "git stash -q; git stash pop -q", "git config alias.u status; git u",
]  # fmt: skip
HOOKS = [  # a commit passes a hook that refuses every commit
    "rm .git/hooks/pre-commit", "cd .git/hooks; rm pre-commit; cd ../..", "cd .git && rm -rf hooks; cd ..", "rm -rf .git/hooks",
    "find .git/hooks -delete", "find .git -name pre-commit -delete", "find .git -name pre-commit -exec rm {} +", "unlink .git/hooks/pre-commit",
    "mv .git/hooks/pre-commit x", "mv .git/hooks .git/h", "chmod -x .git/hooks/pre-commit", "cd .git/hooks; chmod 644 pre-commit; cd ../..",
    "sed -i s/1/0/ .git/hooks/pre-commit", "truncate -s0 .git/hooks/pre-commit", "cp /bin/true .git/hooks/pre-commit",
    "ln -sf /bin/true .git/hooks/pre-commit", "install /bin/true .git/hooks/pre-commit", "tee .git/hooks/pre-commit < /dev/null",
    "ln -s .git g; rm g/hooks/pre-commit", "ln -s .git/hooks g; cp /bin/true g/pre-commit", "ln -s .git g; tee g/hooks/pre-commit <<< :",
    "ln -s .git/hooks/pre-commit p; tee p <<< :", "cd .git; ln -s hooks h; cd ..; rm .git/h/pre-commit", ": > .git/hooks/pre-commit",
    "dd if=/dev/null of=.git/hooks/pre-commit", "perl -pi -e s/1/0/ .git/hooks/pre-commit", "shred -u .git/hooks/pre-commit",
    "git config core.hooksPath /x", "printf '[core]\\nhooksPath=/x\\n' >> ~/.gitconfig", "printf '[core]\\nhooksPath=/x\\n' >> $HOME/.gitconfig",
    "printf '[core]\\nhooksPath=/x\\n' > g; export GIT_CONFIG_GLOBAL=$PWD/g GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=b",
    "mkdir -p ~/.config/git; printf '[core]\\nhooksPath=/x\\n' > ~/.config/git/config",
]  # fmt: skip
PLUMBING = "git update-ref refs/heads/main $(git commit-tree -m x -p HEAD $(git write-tree))"
PUSHES = [
    ("git remote add m --mirror=push ../r.git", "fail"),
    ("git remote add --mirror m ../r.git", "fail"),
    ("git remote add --mirror=fetch m ../r.git", "pass"),
    ("git remote add m ../r.git", "pass"),
    ("printf '[remote \"o\"]\\npush=+main\\n' >> .git/config; git push", "fail"),
    ("printf '[remote \"o\"]\\npush=main\\n' >> .git/config; git push", "pass"),
    ("printf '[remote \"o\"]\\nmirror=true\\n' > g; GIT_CONFIG_GLOBAL=g git push o", "fail"),
]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A repository with a changed file and a hook that refuses every commit."""
    return prepare(
        tmp_path_factory.mktemp("lost"),
        "git init -q . && mkdir -p sub/deep && echo 1 > tracked.txt && echo 1 > sub/deep/x && git add . && git commit -qm 1"
        " && echo dirty >> tracked.txt && printf '#!/bin/sh\\nexit 1\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit",
    )


def after(prepared, tmp_path, line):
    """Run a line in a copy of the repository; return whether the change is there, and the number of commits."""
    home = tmp_path / "home"
    shutil.copytree(prepared, home, symlinks=True)
    bash(line, home)
    tracked = home / "work" / "tracked.txt"
    commits = bash("git rev-list --count HEAD", home).stdout.strip()
    return tracked.exists() and "dirty" in tracked.read_text(), commits


def status(rule, line, **parameters):
    return judge(rule, make_run(shell(line)), **parameters).status


@pytest.mark.parametrize("line", WHOLE)
@pytest.mark.cases(16)
def test_a_command_that_loses_all_changes_is_found(prepared, tmp_path, line):
    is_kept, _ = after(prepared, tmp_path, line)
    assert not is_kept
    assert status("shell/history-loss", line) == "fail"


@pytest.mark.parametrize("line", SINGLE)
@pytest.mark.cases(16)
def test_that_a_single_file_is_restored_is_found_if_the_policy_asks_for_it(prepared, tmp_path, line):
    is_kept, _ = after(prepared, tmp_path, line)
    assert not is_kept
    assert status("shell/history-loss", line) == "pass"
    assert status("shell/history-loss", line, files=True) == "fail"


@pytest.mark.parametrize("line", KEPT)
@pytest.mark.cases(16)
def test_a_command_that_loses_nothing_is_not_found(prepared, tmp_path, line):
    is_kept, _ = after(prepared, tmp_path, line)
    assert is_kept
    assert status("shell/history-loss", line) == "pass"
    assert status("shell/history-loss", line, files=True) == "pass"


@pytest.mark.parametrize("line", HOOKS)
@pytest.mark.cases(16)
def test_whatever_turns_a_hook_off_is_found(prepared, tmp_path, line):
    _, commits = after(prepared, tmp_path, f"{line}; git commit -qam x")
    assert commits == b"2"
    rules = ("shell/no-verify", "files/protected")
    assert "fail" in {status(rule, f"{line}; git commit -qam x") for rule in rules}


def test_the_hook_refuses_a_commit_that_leaves_it_alone(prepared, tmp_path):
    assert after(prepared, tmp_path, "git commit -qam x")[1] == b"1"
    assert status("shell/no-verify", "git commit -qam x") == status("files/protected", "git commit -qam x") == "pass"


def test_a_commit_by_plumbing_skips_the_hooks(prepared, tmp_path):
    assert after(prepared, tmp_path, f"git add .; {PLUMBING}")[1] == b"2"
    assert status("shell/no-verify", PLUMBING) == "fail"


@pytest.mark.parametrize(("line", "expected"), PUSHES)
def test_settings_that_make_pushes_overwrite_branches_are_found(line, expected):
    assert status("shell/force-push", line) == expected


@pytest.mark.parametrize(
    ("line", "is_opaque"),
    [
        ("git push origin $(git branch --show-current | sed s/^/+/)", True),
        ("git push origin $(git branch --show-current)", False),
        ('git push origin "$(git rev-parse --abbrev-ref HEAD 2>/dev/null)"', False),
        ("git push origin $(git rev-parse HEAD; echo +main)", True),
    ],
)
def test_the_name_of_a_branch_is_one_only_if_nothing_changes_it(line, is_opaque):
    assert (status("shell/opaque", line) == "fail") is is_opaque


@pytest.mark.parametrize(
    "line", ["rm .git/index.lock", "rm -f .git/refs/heads/main.lock", "ls .git/hooks", "cp .git/config /tmp/x"]
)
def test_locks_of_a_git_that_was_killed_and_what_is_read_are_not_protected(line):
    assert status("files/protected", line) == "pass"


@pytest.mark.parametrize(
    "line",
    [
        "rm .github/workflows/ci.yml", "cp x .github/workflows/ci.yml", "mv .github/workflows/ci.yml x", "sed -i s/a/b/ .claude/settings.json",
        "cd .github && tee workflows/x.yml <<< x", "ln -s ../x .github/workflows/ci.yml", "rsync x/ .github/workflows/",
        "curl -o .git/hooks/pre-push x", "tar xf x.tar -C .git/hooks", "git mv .github/workflows/a.yml b.yml", "git rm -q scopes-check.toml",
    ],
)  # fmt: skip
def test_protected_files_are_those_of_every_program_that_writes_paths(line):
    assert status("files/protected", line) == "fail"
