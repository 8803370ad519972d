"""What is left to search of a commit once its message was searched, and when a commit is what its fields say."""

from __future__ import annotations

import pytest

from scopes.history.messages import read_body_bytes
from scopes.history.names import MAIN, list_branch_tips
from scopes.ids import Oid
from scopes.store.objects import COMMIT, Identity, format_commit, object_id, parse_commit, read_commit, read_data
from scopes.sync.clearance import is_written_so
from scopes.sync.commit_texts import walk_texts
from tests.support.history import history, say

TREE = Oid("a" * 40)
ANNA = Identity("anna", "anna@humans.scopes")
TRAILERS = [("Scopes-Message", "m" * 26), ("Scopes-Kind", "plain"), ("Scopes-To", "bert")]


def parsed(data):
    return parse_commit(object_id(COMMIT, data), data)


def written(parents=(), author=ANNA, subject="hello", trailers=TRAILERS):
    return format_commit(tree=TREE, parents=parents, author=author, time=7, subject=subject, trailers=trailers)


def tip_of(store, *words, **fields):
    """Say something and return its commit and its body."""
    drawn = history(store, "main: a")
    say(store, drawn.conversation, *words, **fields)
    commit = read_commit(store, list_branch_tips(store, drawn.conversation)[MAIN])
    return commit, read_body_bytes(store, commit)


@pytest.mark.parametrize(
    "data",
    [
        written(),
        written(parents=[TREE]),
        written(parents=[TREE] * 3),
        written(subject="", trailers=()),
        written(trailers=TRAILERS[:2]),
        written(trailers=TRAILERS[1:2]),
        written(subject="żółć \U0001f600"),
    ],
)
def test_a_commit_that_scopes_writes_is_the_hash_of_its_fields(data):
    assert is_written_so(parsed(data))


@pytest.mark.parametrize(
    "data",
    [
        written().replace(b"\n\nhello", b"\nencoding latin-1\n\nhello"),
        written().replace(b"\n\nhello", b"\ngpgsig -----BEGIN SSH SIGNATURE-----\n abc\n\nhello"),
        written().replace(b"committer anna", b"committer bert"),
        written().replace(b"+0000\n\n", b"+0200\n\n"),
        written().replace(b"hello\n", b"hello\nsecond line\n"),
        written() + b"Scopes-More: x\n",
        written() + b"more\n",
        written(trailers=TRAILERS[::-1]),
        written().replace(b"hello", b"hell\xff"),
        written().replace(b" 7 ", b" 07 "),
    ],
)
def test_a_commit_with_anything_else_is_not(data):
    assert not is_written_so(parsed(data))


def test_of_a_usual_message_only_the_author_is_left(repository):
    commit, body = tip_of(repository, "tell me more", to=["bert"])
    assert is_written_so(commit)
    assert list(walk_texts(commit, body)) == [f"{commit.author.name} <{commit.author.email}>"]


def test_a_long_subject_is_the_beginning_of_the_text(repository):
    commit, body = tip_of(repository, "word " * 100)
    assert len(commit.subject) < 80
    assert len(list(walk_texts(commit, body))) == 1


@pytest.mark.parametrize("text", ["two\nlines", 'a "quoted" word', "back\\slash", "  blanks before", "a\ttab"])
def test_a_subject_that_the_message_writes_in_another_way_is_left(repository, text):
    commit, body = tip_of(repository, text)
    assert list(walk_texts(commit, body))[1:] == [commit.subject]


def test_several_recipients_are_left(repository):
    commit, body = tip_of(repository, "hello", to=["bert", "carl"])
    assert list(walk_texts(commit, body))[1:] == ["bert, carl"]


def test_what_is_only_a_part_of_a_text_of_the_message_is_left(repository):
    """A subject from the middle of a text may look like a secret where the whole text does not."""
    commit, body = tip_of(repository, "before hello behind")
    forged = commit._replace(subject="hello", message_id=commit.message_id[:20], kind="plai")
    assert list(walk_texts(forged, body))[1:] == ["hello", commit.message_id[:20], "plai"]


def test_without_a_message_all_texts_are_left(repository):
    commit, _ = tip_of(repository, "hello", to=["bert"])
    assert list(walk_texts(commit, b""))[1:] == ["hello", commit.message_id, commit.kind, "bert"]
    assert commit.kind.encode() in read_data(repository, commit.oid, COMMIT)
