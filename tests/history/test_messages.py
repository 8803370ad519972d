"""Message headers, read from the commit alone."""

from __future__ import annotations

import pytest

from scopes.conversation.new_rename_delete import new
from scopes.errors import Corrupt, NotFound
from scopes.history.messages import (
    header_of,
    identity_of,
    is_root,
    read_message,
    read_message_bytes,
    walk_headers_newest_first,
    walk_headers_oldest_first,
)
from scopes.store.objects import read_commit
from tests.support.history import history, say
from tests.support.store import git


def test_a_header_has_every_field_shown_by_lists_and_logs(repository):
    new(repository)
    author = {"name": "Carol C.", "kind": "human"}
    appended = say(
        repository,
        "conv-001",
        "hello\nworld",
        author=author,
        to=["dave", "erin"],
        kind="prompt",
        time="2026-02-01T12:00:00.9Z",
    )
    head = header_of(read_commit(repository, appended.oid))
    assert (head.id, head.oid, head.kind, head.subject) == (appended.id, appended.oid, "prompt", "hello world")
    assert (head.author_kind, head.to, head.time) == ("human", ("dave", "erin"), 1_769_947_200)
    assert head.parents == (git(repository, "rev-parse", "conv-001/main~1").strip(),)


@pytest.mark.parametrize("kind", ["human", "agent", "tool", "system", "injected"])
def test_the_kind_of_an_author_is_in_the_mail_address(repository, kind):
    """Storage format: `name <slug@kinds.scopes>`."""
    new(repository)
    appended = say(repository, "conv-001", "x", author={"name": "Code Analyzer", "kind": kind})
    assert (
        git(repository, "log", "-1", "--format=%an|%ae", appended.oid)
        == f"Code Analyzer|code-analyzer@{kind}s.scopes\n"
    )
    assert header_of(read_commit(repository, appended.oid)).author_kind == kind


@pytest.mark.parametrize(
    ("name", "email"),
    [("carol", "carol@agents.scopes"), ("日本", "agent@agents.scopes"), ("a <b>\n", "a-b@agents.scopes")],
)
def test_an_author_is_written_as_commits_do(name, email):
    assert identity_of(name, "agent") == (name, email)


def test_the_root_commit_is_not_a_message(repository):
    drawn = history(repository, "main: a")
    assert is_root(read_commit(repository, drawn.root))
    assert not is_root(read_commit(repository, drawn.oids["a"]))
    assert [head.subject for head in walk_headers_newest_first(repository, [drawn.oids["a"]])] == ["a"]


def test_a_commit_not_written_by_scopes_still_has_a_header(repository):
    """D-43."""
    new(repository)
    commit = git(repository, "commit-tree", "conv-001/main^{tree}", "-p", "conv-001/main", "-m", "by hand").strip()
    head = header_of(read_commit(repository, commit))
    assert (head.id, head.kind, head.author_kind, head.author, head.to) == (commit, "unknown", "unknown", "t", ())


def test_a_duplicate_message_id_is_shown_once_at_its_first_position(repository):
    """Storage format: a replayed message keeps its id and gets another commit."""
    drawn = history(repository, "main: a b", "fix@a: c")
    replayed = git(
        repository,
        "commit-tree",
        f"{drawn.oids['b']}^{{tree}}",
        "-p",
        drawn.oids["c"],
        "-m",
        f"b\n\nScopes-Message: {drawn.ids['b']}",
    )
    tips = [drawn.oids["b"], replayed.strip()]
    assert [head.id for head in walk_headers_oldest_first(repository, tips)] == [drawn.ids[word] for word in "abc"]
    assert len(list(walk_headers_newest_first(repository, tips))) == 3


def test_hidden_commits_and_what_is_behind_them_are_left_out(repository):
    drawn = history(repository, "main: a b c d")
    hidden = {drawn.oids["b"]}
    assert [h.subject for h in walk_headers_newest_first(repository, [drawn.oids["d"]], hidden)] == ["d", "c"]
    assert [h.subject for h in walk_headers_oldest_first(repository, [drawn.oids["d"]], hidden)] == ["c", "d"]


def test_a_message_is_read_whole_or_as_its_line(repository):
    drawn = history(repository, "main: a")
    assert read_message(repository, drawn.oids["a"]).id == drawn.ids["a"]
    assert read_message_bytes(repository, drawn.oids["a"]).startswith(b'{"author":{"kind":"agent","name":"carol"}')


def test_a_commit_without_a_message_is_damaged(repository):
    tree = git(repository, "mktree").strip()
    commit = git(repository, "commit-tree", tree, "-m", "empty").strip()
    assert read_message_bytes(repository, commit) == b""
    with pytest.raises(Corrupt):
        read_message(repository, commit)
    with pytest.raises(NotFound):
        read_message(repository, "1" * 40)
