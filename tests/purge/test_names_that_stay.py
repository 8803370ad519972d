"""A name that is a line of what is purged is no copy of it: it stays, is named, and the purge is done."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch, delete_tag, tag
from scopes.conversation.new_rename_delete import new
from scopes.conversation.verify import verify
from scopes.errors import NotFound
from scopes.history.metadata import read_metadata
from scopes.purge.purge import continue_purge, plan_purge, purge
from scopes.purge.selection import PurgeRequest
from tests.support.history import history, say
from tests.support.remotes import add, make_bare, push_to

NAME = "payments-service-v2"
KEY = "Xk9mQ2rpL7zv"
HAS = "has a line of it as a name, and stays"


@pytest.fixture
def listing(repository):
    """What to purge: a message of conv-001 with a list of names."""
    made = history(repository, "main: a")
    return PurgeRequest(
        conversation=made.conversation, messages=(say(repository, made.conversation, f"billing\n{NAME}\nREADME.md").id,)
    )


def notes_of(repository, places, listing):
    """Return the notes of a plan, after the purge, which is done and says the same."""
    plan = plan_purge(repository, listing, places)
    done = purge(repository, listing, places)
    assert (done.left, done.exit_code, done.notes) == ((), 0, plan.notes)
    assert not any("scopes purge" in (note.hint or "") for note in done.notes)
    with pytest.raises(NotFound, match="no purge was interrupted"):
        continue_purge(repository, places)
    assert verify(repository).exit_code == 0
    return [note.text for note in done.notes]


def test_the_name_of_a_directory(repository, places, listing):
    other = new(repository, directory=f"/srv/{NAME}").id
    assert notes_of(repository, places, listing) == [f"the directory of {other} {HAS}"]
    assert read_metadata(repository, other).directory == f"/srv/{NAME}"


def test_the_name_of_a_branch(repository, places, listing):
    other = history(repository, "main: b").conversation
    branch(repository, other, name=NAME, start="main", switch=True)
    say(repository, f"{other}/{NAME}", "c")
    assert notes_of(repository, places, listing) == [f"the branch {other}/{NAME} {HAS}"]


@pytest.mark.parametrize("is_deleted", [False, True])
def test_the_name_of_a_tag(repository, places, listing, is_deleted):
    other = history(repository, "main: b").conversation
    tag(repository, other, NAME)
    if is_deleted:
        delete_tag(repository, other, NAME)
    assert notes_of(repository, places, listing) == ([] if is_deleted else [f"the tag {NAME} of {other} {HAS}"])


def test_the_name_of_a_remote(repository, places, listing, tmp_path):
    other = history(repository, "main: b").conversation
    add(repository, make_bare(tmp_path / "x.git"), NAME)
    push_to(repository, other, remote=NAME)
    assert notes_of(repository, places, listing) == ["the list of remotes has a line of it, and stays"]


def test_the_purpose_of_a_branch(repository, places):
    word = "alternative-solution"
    made, other = history(repository, "main: a").conversation, history(repository, "main: b").conversation
    branch(repository, other, name="try", start="main", purpose=word)
    request = PurgeRequest(conversation=made, messages=(say(repository, made, word).id,))
    assert notes_of(repository, places, request) == []
    assert read_metadata(repository, other).branches["try"].purpose == word


def test_a_name_of_another_kind_of_text_is_no_key(repository, places):
    made, other = history(repository, "main: a").conversation, history(repository, "main: b").conversation
    branch(repository, other, name="fix-the-login", start="main")
    request = PurgeRequest(conversation=made, messages=(say(repository, made, "the login").id,))
    assert notes_of(repository, places, request) == []
