"""What a purge has left is named with the command that removes it, and is not forgotten until it is gone."""

from __future__ import annotations

import errno
import os

import pytest

from scopes.conversation.new_rename_delete import delete
from scopes.conversation.undo import undo
from scopes.conversation.verify import verify
from scopes.errors import Inaccessible, NotFound
from scopes.history.names import conversation_ids
from scopes.purge.purge import continue_purge, plan_purge, purge
from scopes.purge.redact import redact
from scopes.purge.selection import PurgeRequest
from scopes.search.run import search
from tests.support.every_byte import find_word
from tests.support.history import history, say
from tests.support.planted import KINDS
from tests.support.remotes import add, make_bare, push_to
from tests.support.store import git

WORD = "Xylophone-Quarantine-4711"
LINE = f"the {WORD} of the north door"
SECRET = KINDS[1][1]


@pytest.fixture
def bare(repository, tmp_path):
    path = make_bare(tmp_path / "bare.git")
    add(repository, path)
    return path


@pytest.fixture
def copied(repository, bare):
    """A conversation whose redacted copy origin has, and which was undone here: its name, and the root of the copy."""
    made = history(repository, "main: a")
    say(repository, made.conversation, LINE)
    say(repository, made.conversation, f"the token is {SECRET} as you know")
    redact(repository, made.conversation, conversation_id="copy")
    push_to(repository, "copy")
    undo(repository, conversation="copy")
    assert conversation_ids(repository) == [made.conversation]
    (ref,) = repository.list_ref_names("refs/scopes/remotes/origin/")
    return made.conversation, ref.rpartition("/")[2]


def hints(done, text):
    return [note.hint for note in done.notes if text in note.text]


def test_a_copy_that_only_a_remote_has_is_named_and_can_be_purged(repository, copied, bare, places):
    name, root = copied
    done = purge(repository, PurgeRequest((name,)), places)
    (hint,) = set(hints(done, f"the conversation {root[:12]} of origin has it"))
    assert (done.exit_code, f"scopes purge {root[:12]} --whole" in hint, "push origin --purged" in hint) == (
        7,
        True,
        True,
    )
    again = continue_purge(repository, places)
    assert (again.exit_code, again.left, bool(hints(again, root[:12]))) == (7, done.left, True)
    request = PurgeRequest((root[:12],))
    assert plan_purge(repository, request, places).conversations == (root[:12],)
    assert (purge(repository, request, places).left, find_word(WORD, repository.path)) == ((), [])
    push_to(repository, purged=True)
    assert root not in git(bare, "for-each-ref")
    assert verify(repository).exit_code == 0
    with pytest.raises(NotFound, match="no purge was interrupted"):
        continue_purge(repository, places)


def test_the_same_purge_is_not_done_while_something_is_left(repository, places):
    made, other = (history(repository, f"main: {word}") for word in "ab")
    spoken = [say(repository, each.conversation, LINE) for each in (made, other)]
    delete(repository, other.conversation)
    request = PurgeRequest(conversation=made.conversation, messages=(spoken[0].id,))
    first, second = (purge(repository, request, places) for _ in range(2))
    assert (first.exit_code, second.left, second.notes[-1:]) == (7, first.left, first.notes[-1:])
    unrelated = say(repository, made.conversation, "more")
    done = purge(repository, PurgeRequest(conversation=made.conversation, messages=(unrelated.id,)), places)
    assert done.exit_code == 0
    (hint,) = set(hints(second, "in the trash, or was undone"))
    assert purge(repository, PurgeRequest((hint.split()[-2],)), places).exit_code == 0
    assert (purge(repository, request, places).exit_code, find_word(WORD, repository.path)) == (0, [])


def test_a_file_that_is_left_is_remembered_as_well(repository, places, tmp_path):
    made = history(repository, "main: a")
    request = PurgeRequest(conversation=made.conversation, messages=(say(repository, made.conversation, LINE).id,))
    with open(f"{repository.path}/notes.txt", "w", encoding="utf-8") as file:
        file.write(LINE)
    for _ in range(2):
        assert purge(repository, request, places).left == (f"{repository.path}/notes.txt",)
    with open(f"{repository.path}/notes.txt", "w", encoding="utf-8") as file:
        file.write("nothing")
    assert continue_purge(repository, places).exit_code == 0


def test_no_conversation_is_chosen_by_the_beginning_of_something_else(repository, places):
    made = history(repository, "main: a b")
    for name in (made.oids["b"][:12], "0" * 12, "deadbee"):
        with pytest.raises(NotFound):
            plan_purge(repository, PurgeRequest((name,)), places)


def test_the_lock_file_of_a_killed_purge_at_a_reflog_stops_nobody(repository, places):
    made = history(repository, "main: a")
    message = say(repository, made.conversation, LINE)
    left = os.path.join(repository.path, "logs", "refs", "heads", made.conversation, "main.lock")
    with open(left, "w", encoding="utf-8") as file:
        file.write(LINE)
    done = purge(repository, PurgeRequest(conversation=made.conversation, messages=(message.id,)), places)
    assert (done.left, find_word(WORD, repository.path)) == ((), [])


def test_an_error_after_the_refs_have_moved_says_how_the_purge_is_finished(repository, places, monkeypatch):
    made = history(repository, "main: a")
    message = say(repository, made.conversation, LINE)

    def fail(_repository):
        raise Inaccessible("git repack failed: out of disk space", hint="check the disk's space")

    monkeypatch.setattr("scopes.purge.purge.drop_unreachable", fail)
    with pytest.raises(Inaccessible) as failed:
        purge(repository, PurgeRequest(conversation=made.conversation, messages=(message.id,)), places)
    assert failed.value.hint == "check the disk's space; then finish it: scopes purge --continue"
    monkeypatch.undo()
    assert (continue_purge(repository, places).left, find_word(WORD, repository.path)) == ((), [])


def test_an_index_that_cannot_be_deleted_is_left_until_it_is_gone(repository, places, monkeypatch):
    made = history(repository, "main: a")
    message = say(repository, made.conversation, LINE)
    search(repository, WORD, index_directory=places.index_directory)
    index, unlink = os.path.join(places.index_directory, "index.sqlite"), os.unlink

    def refuse(path, **options):
        if str(path) == index:
            raise PermissionError(errno.EPERM, "Operation not permitted", index)
        unlink(path, **options)

    monkeypatch.setattr(os, "unlink", refuse)
    done = purge(repository, PurgeRequest(conversation=made.conversation, messages=(message.id,)), places)
    assert (done.exit_code, done.left) == (7, (index,))
    assert continue_purge(repository, places).left == (index,)
    monkeypatch.undo()
    assert continue_purge(repository, places).left == ()
    assert find_word(WORD, repository.path, places.index_directory) == []
