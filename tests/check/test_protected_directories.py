"""What is done to a directory is done to the protected files below it, in `check` and in the hook."""

from __future__ import annotations

import pytest

from scopes.check.globs import may_match_below
from scopes.check.policy import Policy
from tests.check.runs import edit, judge, run_of, shell, verdict_of
from tests.check.test_hook import decide

PROTECTED = "files/protected"
HITS = [
    "rm -r .github",
    "rm -rf .github/workflows",
    "cd .github && rm -r workflows",
    "git rm -rq .github",
    "find .github -delete",
    "find .github/workflows -name '*.yml' -delete",
    "mv .github x",
    "mv x .github",
    "mv x/workflows .github/",
    "ln -sfn /tmp/x .github",
    "rm -rf .claude",
    "rm -rf ./.g*",
    "cp -r x/. .github/",
    "cp -a ../other/.github .",
    "cp -r x .github",
    "rsync -a x/ .github/",
    "unzip -q x.zip -d .github",
    "tar xf x.tar -C .github",
    "git checkout main -- .github/workflows/ci.yml",
    "git checkout v1.2.3 -- .github",
    "git checkout HEAD~3 .claude/settings.json",
    "git restore --source=main .github/workflows/ci.yml",
    "git restore -s main .claude",
    "rm -rf ../shop",
]
MISSES = [
    "rm -rf build",
    "rm .github",
    "rmdir .github",
    "mkdir -p .github/workflows",
    "rm -rf .github/ISSUE_TEMPLATE",
    "rm -rf *",
    "find . -name '*.pyc' -delete",
    "mv README.md .github",
    "cp CODEOWNERS .github",
    "cp -r ISSUE_TEMPLATE .github/",
    "cp -r src/. .",
    "unzip -q x.zip",
    "git clone https://example.com/x.git",
    "git checkout main",
    "git checkout -b fix",
    "git checkout -- .github/workflows/ci.yml",
    "git checkout HEAD .github/workflows/ci.yml",
    "git restore .github/workflows/ci.yml",
    "git restore --staged --source=main .github",
    "git checkout main -- src",
]


def in_workspace(repository, *steps):
    return run_of(repository, *steps, cwd="/home/dev/shop")


@pytest.mark.parametrize(("command", "status"), [*((h, "fail") for h in HITS), *((m, "pass") for m in MISSES)])
@pytest.mark.cases(32)
def test_a_directory_above_protected_files_is_protected(repository, command, status):
    checked = judge(repository, in_workspace(repository, shell(command)))
    assert verdict_of(checked, PROTECTED)[0] == status


@pytest.mark.parametrize("command", ["rm -r .github", "cd .github && rm -r workflows", "git restore -s main .claude"])
def test_the_hook_denies_it(command):
    decision = decide(given={"command": command})
    assert (decision.action, PROTECTED in decision.reason) == ("deny", True)


def test_the_message_names_the_directory_and_what_is_below_it(repository):
    checked = judge(repository, in_workspace(repository, shell("rm -r .github")))
    message = "changes .github, in which .github/workflows/** is protected"
    assert verdict_of(checked, PROTECTED) == ("fail", message)


@pytest.mark.parametrize(
    ("pattern", "directory", "expected"),
    [
        (".github/workflows/**", ".github", True),
        (".github/workflows/**", ".github/workflows", True),
        (".github/workflows/**", ".github/other", False),
        (".github/workflows/**", ".", True),
        (".github/workflows/**", ".git*", True),
        (".github/workflows/**", "*", False),
        ("src/core/**", "*", True),
        ("packages/*/package.json", "packages/a", True),
        ("packages/*/package.json", "packages/a/b", False),
        ("src/**/*.lock", "src", True),
        ("src/**/*.lock", "src/build", False),
        ("**/*.lock", "build", False),
        ("?*/**/.git/**", "sub", False),
        ("*.lock", ".", False),
        ("Jenkinsfile", "build", False),
        ("Jenkinsfile", ".", True),
    ],
)
def test_a_pattern_may_match_below_the_directories_that_it_begins_with(pattern, directory, expected):
    assert may_match_below(pattern, directory) is expected


@pytest.mark.parametrize(("directory", "status"), [("vendor", "fail"), ("build", "pass")])
def test_a_pattern_for_any_directory_counts_if_the_run_knows_a_file_there(repository, directory, status):
    policy = Policy(parameters={PROTECTED: {"paths": ["**/*.lock"]}})
    read = ("Read", {"file_path": "vendor/a/poetry.lock"}, "text")
    checked = judge(repository, in_workspace(repository, read, shell(f"rm -rf {directory}")), policy)
    assert verdict_of(checked, PROTECTED)[0] == status


@pytest.mark.parametrize("place", ["../try/fix", "../try"])
def test_a_worktree_may_be_deleted(repository, place):
    steps = shell("git worktree add ../try/fix"), shell(f"rm -rf {place}")
    assert verdict_of(judge(repository, in_workspace(repository, *steps)), PROTECTED)[0] == "pass"


def test_a_worktree_below_a_protected_directory_may_be_changed(repository):
    steps = shell("git worktree add .claude/worktrees/a"), edit(".claude/worktrees/a/x.py")
    remove = shell("rm -rf .claude/worktrees/a/build")
    assert verdict_of(judge(repository, in_workspace(repository, *steps, remove)), PROTECTED)[0] == "pass"
