"""The metadata of a conversation: small files in a commit chain."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.branch import branch, tag
from scopes.conversation.new_rename_delete import new, rename_title
from scopes.errors import Corrupt, NotFound
from scopes.history.metadata import (
    Metadata,
    branch_change,
    read_metadata,
    read_metadata_at,
    write_metadata,
)
from scopes.model.canonical_json import encode_component
from scopes.model.conversation import BranchEntry
from scopes.store.objects import BLOB, EMPTY_TREE
from tests.support.history import history
from tests.support.store import git, git_bytes


def title_change(title):
    return {"title": None if title is None else title.encode("utf-8", "replace") + b"\n"}


def tag_change(tag, oid):
    return {f"tags/{encode_component(tag)}": None if oid is None else f"{oid}\n".encode()}


def written(repository, *changes):
    """Write the changes one after the other and read what is there then."""
    commit = None
    for change in changes:
        commit = write_metadata(repository, commit, change, "test")
    return read_metadata_at(repository, commit)


def test_a_conversation_without_metadata_has_empty_ones(repository):
    assert read_metadata(repository, "nope") == Metadata()


def test_one_file_holds_one_thing(repository):
    """Storage format: git's own merge joins what two machines changed; S0-9: and people can read it."""
    drawn = history(repository, "main: a")
    branch(repository, "conv-001", purpose="analysis", agent="carol", name="x/y")
    tag(repository, "conv-001", "v-1")
    rename_title(repository, "conv-001", "Login")
    listed = git(repository, "ls-tree", "-r", "--name-only", "refs/scopes/meta/conv-001").split()
    names = [name for name in listed if not name.startswith("clocks/")]
    assert names == ["branches/main", "branches/x%2Fy", "tags/v-1", "title"]
    assert git(repository, "show", "refs/scopes/meta/conv-001:title") == "Login\n"
    assert git(repository, "show", "refs/scopes/meta/conv-001:tags/v-1").strip() == drawn.oids["a"]
    entry = json.loads(git(repository, "show", "refs/scopes/meta/conv-001:branches/x%2Fy"))
    assert (entry["purpose"], entry["agent"], entry["parent"], entry["v"]) == ("analysis", "carol", "main", 1)


def test_every_change_is_a_commit_on_the_one_before(repository):
    new(repository)
    for title in ("one", "two"):
        rename_title(repository, "conv-001", title)
    log = git(repository, "log", "--format=%s", "refs/scopes/meta/conv-001")
    assert log.splitlines() == ["set the title", "set the title", "create conv-001"]


@pytest.mark.parametrize("title", ["Login", "two\nlines", " blanks ", "日本", "", "x" * 5000])
def test_a_title_is_read_back(repository, title):
    assert written(repository, title_change(title)).title == title


def test_the_title_alone_is_read_without_the_rest(repository):
    name = new(repository).id
    assert read_metadata(repository, name).title is None
    rename_title(repository, name, "Fix the login")
    assert read_metadata(repository, name).title == "Fix the login"
    assert read_metadata(repository, "conv-999").title is None


def test_a_lone_surrogate_in_a_title_becomes_a_question_mark(repository):
    assert written(repository, title_change("a\ud800b")).title == "a?b"


@pytest.mark.parametrize("name", ["main", "x/y", "100%", "日本", "a.b", "x=y"])
def test_tags_and_branches_of_any_name_are_read_back(repository, name):
    entry = BranchEntry(
        purpose="analysis", agent="a", parent="main", fork="0" * 40, created="2026-01-01T00:00:00Z", status="abandoned"
    )
    seen = written(repository, tag_change(name, "1" * 40), branch_change(name, entry))
    assert (seen.tags, seen.branches) == ({name: "1" * 40}, {name: entry})


def test_what_is_removed_is_gone_and_the_rest_stays(repository):
    whole = title_change("t") | tag_change("v1", "1" * 40) | branch_change("x", BranchEntry())
    seen = written(repository, whole, title_change(None) | tag_change("v1", None))
    assert (seen.title, seen.tags, list(seen.branches)) == (None, {}, ["x"])
    assert (
        written(repository, whole, title_change(None), tag_change("v1", None), branch_change("x", None)).branches == {}
    )


def test_what_a_newer_version_keeps_is_kept(repository):
    """S4-28: a field of a branch and a file that this version does not know."""
    line = b'{"colour":"red","purpose":"analysis","status":"active","v":2}\n'
    commit = write_metadata(repository, None, {"branches/x": line, "colours/red": b"1\n", "archived": b""}, "newer")
    seen = read_metadata_at(repository, commit)
    assert (seen.branches["x"].extra, seen.archived) == ({"colour": "red", "v": 2}, True)
    commit = write_metadata(repository, commit, branch_change("x", seen.branches["x"]) | title_change("t"), "older")
    assert b'"colour":"red"' in git(repository, "show", f"{commit}:branches/x").encode()
    assert git(repository, "show", f"{commit}:colours/red") == "1\n"


def test_the_same_metadata_are_the_same_objects(repository):
    """Nothing about the machine enters them but the time."""
    change = title_change("t") | branch_change("x", BranchEntry(agent="a"))
    trees = {
        git(repository, "rev-parse", f"{write_metadata(repository, None, change, 's')}^{{tree}}") for _ in range(2)
    }
    assert len(trees) == 1


@pytest.mark.parametrize("data", [b"not json", b"[1]", b""])
def test_damaged_metadata_of_a_branch_are_reported(repository, data):
    commit = write_metadata(repository, None, {"branches/x": data}, "damage")
    with pytest.raises(Corrupt) as refusal:
        read_metadata_at(repository, commit)
    assert refusal.value.hint == "see: scopes verify"


def test_metadata_that_are_no_commit_are_reported(repository):
    with pytest.raises(Corrupt, match="is not a commit"):
        read_metadata_at(repository, repository.write(BLOB, b"x"))
    with pytest.raises(NotFound, match="is not in the store"):
        read_metadata_at(repository, EMPTY_TREE[::-1])


def status_change(name, status):
    return branch_change(name, BranchEntry(status=status))


def trees_of(repository, *changes):
    return [
        git_bytes(repository, "cat-file", "tree", f"{write_metadata(repository, None, each, 'x')}^{{tree}}")
        for each in changes
    ]
