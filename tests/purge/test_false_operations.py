"""A commit that says to be an operation is one only in the operation log: elsewhere, purge takes it for what it is."""

from __future__ import annotations

import pytest

from scopes.ids import Oid
from scopes.purge.all_commits import list_operations
from scopes.purge.purge import purge
from scopes.purge.selection import PurgeRequest
from scopes.purge.unfinished import find_unfinished
from scopes.store import refs
from scopes.store.objects import COMMIT, Identity, format_commit
from scopes.store.operations import walk_operations
from tests.support.every_byte import find_word
from tests.support.history import history
from tests.support.store import git, git_bytes

WORD = "Xylophone-Quarantine-4711"
AUTHOR = Identity("scopes", "scopes@systems.scopes")


@pytest.fixture
def drawn(repository):
    """A conversation whose last message says to be an operation as well."""
    made = history(repository, f"main: a {WORD}")
    ref = next(ref for ref in repository.list_refs() if ref.startswith(refs.HEADS) and ref.endswith("/main"))
    data = git_bytes(repository.path, "cat-file", "commit", ref)
    git(repository.path, "update-ref", ref, repository.write(COMMIT, data + b"Scopes-Operation: aaaa\n"))
    return made


def test_a_message_that_says_to_be_an_operation_is_purged(repository, drawn, places):
    request = PurgeRequest(conversation=drawn.conversation, messages=(drawn.ids[WORD],))
    done = purge(repository, request, places)
    assert (done.messages, done.left) == (1, ())
    assert find_word(WORD, repository.path) == []


def test_a_false_operation_stops_no_other_purge(repository, drawn, places):
    other = history(repository, "main: p q")
    assert purge(repository, PurgeRequest(conversations=(other.conversation,)), places).conversations == 1
    assert find_unfinished(repository.path) is None
    assert purge(repository, PurgeRequest(conversations=(drawn.conversation,)), places).conversations == 1
    assert find_word(WORD, repository.path) == []


def test_the_operations_are_those_of_the_log(repository, drawn):
    newest = Oid(repository.raw_ref(refs.OPERATIONS))
    assert list_operations(repository, newest) == {oid for oid, _ in walk_operations(repository)}
    assert list_operations(repository, None) == set()


@pytest.mark.parametrize("more", [("Scopes-Kind", "manifest"), ("Scopes-Message", "a" * 26)], ids=str)
def test_the_log_ends_at_a_commit_that_says_to_be_something_else_too(repository, drawn, more):
    log = [oid for oid, _ in walk_operations(repository)]
    tree = git(repository.path, "rev-parse", f"{log[-1]}^{{tree}}").strip()
    parts = {"tree": Oid(tree), "author": AUTHOR, "time": 0, "subject": "x"}
    false = repository.write(COMMIT, format_commit(parents=(), trailers=[more, ("Scopes-Operation", "a")], **parts))
    first = repository.write(COMMIT, format_commit(parents=(false,), trailers=[("Scopes-Operation", "b")], **parts))
    assert list_operations(repository, first) == {first}
