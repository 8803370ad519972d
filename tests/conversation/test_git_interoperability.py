"""The store as a git repository: readable with `git log`, valid for `git fsck`, complete in a clone."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.append import amend, retract
from scopes.conversation.branch import abandon, branch, rewind, tag
from scopes.conversation.changes import changes
from scopes.conversation.new_rename_delete import delete, delete_branch, new, rename_conversation, rename_title
from scopes.conversation.show import show
from scopes.conversation.undo import undo
from scopes.conversation.verify import verify
from scopes.history.names import list_branch_tips
from scopes.model.message import Author
from tests.support.history import history, say, texts
from tests.support.store import git, make_store, open_store


@pytest.fixture
def used_store(repository):
    """Create a store on which every operation ran once."""
    drawn = history(repository, "main: Hello Plan Done", "fix@Plan: Better", author="Carol C.")
    branch(repository, "conv-001", purpose="analysis", agent="日本", start="fix")
    say(repository, "conv-001", "naïve\x1b[31m\ntext", author="x <y>", files=[{"path": "a/.git/b", "op": "edit"}])
    say(repository, "conv-001", "d", kind="decision", decision={"topic": "../../etc", "decision": "no"})
    amend(repository, "conv-001/main", drawn.ids["Hello"], "Hi", author=Author("dave"))
    retract(repository, "conv-001/main", drawn.ids["Plan"], "", author=Author("dave"))
    tag(repository, "conv-001", "v1.0", "main~1")
    rename_title(repository, "conv-001", "A title\nwith lines")
    rewind(repository, "conv-001/main")
    abandon(repository, "conv-001", "fix")
    delete_branch(repository, "conv-001", "fix", force=True)
    new(repository, participants=["a/b", ".git", "CON"])
    delete(repository, "conv-002")
    undo(repository)
    rename_conversation(repository, "conv-002", "git.conv")
    return repository


def test_git_fsck_strict_finds_nothing_loose_or_packed(used_store):
    assert git(used_store, "fsck", "--strict", "--no-dangling") == ""
    git(used_store, "gc", "-q")
    assert git(used_store, "fsck", "--strict", "--no-dangling") == ""
    assert verify(open_store(used_store.path)).findings == ()


def test_git_log_graph_reads_like_a_conversation(repository):
    """Storage format: the subject is the first line of the text."""
    history(repository, "main: Hello Plan Done", "fix@Plan: Better")
    graph = git(repository, "log", "--graph", "--format=%an: %s", "--date-order", "--branches=conv-001/*")
    assert graph.splitlines() == [
        "* carol: Better", "| * carol: Done", "|/  ", "* carol: Plan", "* carol: Hello", "* scopes: Conversation begins",
    ]  # fmt: skip


def test_a_branch_has_the_same_name_in_git(used_store):
    assert git(used_store, "log", "-1", "--format=%s", "conv-001/analysis/agent") == "d\n"
    assert git(used_store, "for-each-ref", "--format=%(refname:short)", "refs/heads").split() == [
        "conv-001/analysis/agent", "conv-001/main", "git.conv/main",
    ]  # fmt: skip


def test_every_blob_is_json_or_one_line(used_store):
    """S0-9: session data is readable with git and JSON tools."""
    objects = git(used_store, "cat-file", "--batch-check", "--batch-all-objects").splitlines()
    blobs = [git(used_store, "cat-file", "-p", line.split()[0]) for line in objects if " blob " in line]
    documents = [json.loads(blob) for blob in blobs if blob.startswith("{")]
    assert len(documents) > 15
    assert {len(blob.strip()) for blob in blobs if not blob.startswith("{")} <= {
        40,
        len("A title\nwith lines"),
        len("1767225600000 0123456789ab"),  # a clock
    }
    kinds = {document.get("kind") for document in documents}
    assert {"root", "plain", "decision", "notice", "rewind", "undo"} <= kinds


def test_commit_headers_and_subjects_contain_only_printable_lines(used_store):
    raw = git(used_store, "log", "--all", "--format=%an%ae%s")
    assert "\x1b" not in raw
    assert r"naïve\x1b[31m text" in raw


@pytest.mark.parametrize("kind", ["--mirror", "--bare"])
def test_a_git_clone_has_every_conversation(used_store, tmp_path, kind):
    """Storage format: no data is outside of git objects and refs; a bare clone has only the branches.

    The active branch is local: git copies a symbolic ref as its target.
    """
    clone = str(tmp_path / "clone.git")
    git(used_store, "clone", "-q", kind, used_store.path, clone)
    git(clone, "config", "scopes.formatVersion", "2")
    copy = open_store(clone)
    for conversation in ("conv-001", "git.conv"):
        assert list_branch_tips(copy, conversation) == list_branch_tips(used_store, conversation)
        assert show(copy, conversation).uuid == show(used_store, conversation).uuid
    assert texts(copy, "conv-001/main") == texts(used_store, "conv-001/main")
    if kind == "--mirror":
        assert changes(copy, "conv-001").items == changes(used_store, "conv-001").items
        assert show(copy, "conv-001").title == "A title\nwith lines"
        assert {finding.where.rpartition("/")[0] for finding in verify(copy).findings} <= {"refs/scopes/active"}


def test_fetched_messages_are_the_same_commits(used_store, tmp_path):
    other = make_store(tmp_path / "other.git")
    git(other, "fetch", "-q", used_store.path, "refs/heads/conv-001/main:refs/heads/theirs/main")
    assert texts(other, "theirs") == texts(used_store, "conv-001/main")
    assert list_branch_tips(other, "theirs")["main"] == list_branch_tips(used_store, "conv-001")["main"]


def test_a_message_appended_with_git_is_read(repository):
    """D-43: a commit made with git has no message id; it is shown if no body is requested."""
    history(repository, "main: a")
    commit = git(repository, "commit-tree", "conv-001/main^{tree}", "-p", "conv-001/main", "-m", "by hand").strip()
    git(repository, "update-ref", "refs/heads/conv-001/main", commit)
    assert [each.head.subject for each in show(repository, "conv-001").recent] == ["a", "by hand"]
    say(repository, "conv-001", "b")
    assert git(repository, "log", "--format=%s", "conv-001/main").splitlines()[:3] == ["b", "by hand", "a"]
