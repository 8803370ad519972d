"""Find a store and list its names without opening it."""

from __future__ import annotations

import os

import pytest

from scopes.store.projects import choose_store, data_home, find_project_store, list_branches, list_conversations
from tests.support.store import git


@pytest.fixture
def store(tmp_path):
    """Make a bare repository with two conversations, three branches."""
    path = tmp_path / "store.git"
    git(path, "init", "-q", "--bare")
    tree = git(path, "hash-object", "-t", "tree", "-w", "/dev/null").strip()
    commit = git(path, "commit-tree", tree, "-m", "x").strip()
    for branch in ("conv-001/main", "conv-001/analysis/security", "conv-002/main"):
        git(path, "update-ref", f"refs/heads/{branch}", commit)
    git(path, "update-ref", "refs/scopes/meta/conv-009", commit)
    return str(path)


def test_conversations_and_branches_are_read_from_loose_refs(store):
    assert list_conversations(store) == ["conv-001", "conv-002"]
    assert list_branches(store, "conv-001") == ["analysis/security", "main"]


def test_conversations_and_branches_are_read_from_packed_refs(store):
    git(store, "pack-refs", "--all")
    assert not os.path.exists(os.path.join(store, "refs/heads/conv-001/main"))
    assert list_conversations(store) == ["conv-001", "conv-002"]
    assert list_branches(store, "conv-001") == ["analysis/security", "main"]


def test_loose_and_packed_refs_are_combined(store):
    git(store, "pack-refs", "--all")
    git(store, "update-ref", "refs/heads/conv-003/fix", "conv-001/main")
    git(store, "update-ref", "refs/heads/conv-001/main", "conv-001/analysis/security")
    assert list_conversations(store) == ["conv-001", "conv-002", "conv-003"]
    assert list_branches(store, "conv-001") == ["analysis/security", "main"]


def test_lock_files_and_empty_directories_are_not_listed(store):
    open(os.path.join(store, "refs/heads/conv-001/main.lock"), "w").close()
    os.mkdir(os.path.join(store, "refs/heads/conv-777"))
    assert "main.lock" not in list_branches(store, "conv-001")
    assert "conv-777" not in list_conversations(store)


def test_a_prefix_of_a_conversation_matches_nothing(store):
    assert list_branches(store, "conv-00") == []
    git(store, "pack-refs", "--all")
    assert list_branches(store, "conv-00") == []


def test_a_missing_store_has_no_names(tmp_path):
    assert list_conversations(str(tmp_path / "nothing")) == []
    assert list_branches(str(tmp_path / "nothing"), "conv-001") == []


def test_damaged_lines_of_packed_refs_are_skipped(store):
    with open(os.path.join(store, "packed-refs"), "wb") as file:
        file.write(b"\xff\xfe\x00\n^peeled\n# comment\nshort\n" + b"0" * 40 + b" refs/heads/conv-005/main\n")
    assert list_conversations(store) == ["conv-001", "conv-002", "conv-005"]


ENVIRONMENT = {"XDG_DATA_HOME": "/data"}


def test_the_flag_overrides_the_environment_and_the_environment_the_default(tmp_path):
    cwd = str(tmp_path)
    assert choose_store({"SCOPES_STORE": "b", **ENVIRONMENT}, cwd, "a") == str(tmp_path / "a")
    assert choose_store({"SCOPES_STORE": "b", **ENVIRONMENT}, cwd) == str(tmp_path / "b")
    assert choose_store(ENVIRONMENT, cwd) == "/data/scopes/store.git"


def test_the_store_of_a_project_is_used_once_it_exists(tmp_path):
    git(tmp_path / ".git", "init", "-q")
    assert choose_store(ENVIRONMENT, str(tmp_path)) == "/data/scopes/store.git"
    (tmp_path / ".git" / "scopes" / "objects").mkdir(parents=True)
    (tmp_path / "deep" / "down").mkdir(parents=True)
    assert choose_store(ENVIRONMENT, str(tmp_path / "deep" / "down")) == str(tmp_path / ".git" / "scopes")


def test_all_worktrees_share_the_store_of_the_project(tmp_path):
    main, other = tmp_path / "main", tmp_path / "other"
    main.mkdir()
    git(main / ".git", "init", "-q")
    git(main / ".git", "commit", "-q", "--allow-empty", "-m", "x")
    git(main / ".git", "worktree", "add", "-q", str(other))
    assert find_project_store(str(other)) == str(main / ".git" / "scopes")


def test_outside_a_repository_there_is_no_project_store(tmp_path):
    assert find_project_store(str(tmp_path)) is None


@pytest.mark.parametrize(
    ("named", "expected"), [("/data", "/data"), ("data", "/h/.local/share"), ("", "/h/.local/share")]
)
def test_a_relative_data_home_counts_as_unset(named, expected, monkeypatch):
    monkeypatch.setenv("HOME", "/h")
    assert data_home({"XDG_DATA_HOME": named}) == expected
