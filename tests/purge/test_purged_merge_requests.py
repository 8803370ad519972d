"""Merge requests lose the texts of purged messages, here and on remotes; and what is left is named object by object."""

from __future__ import annotations

import pytest

from scopes.conversation.merge import close_merge_request, list_merge_requests, open_merge_request
from scopes.conversation.verify import verify
from scopes.model.message import Author
from scopes.purge.accept import accept_purges
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.store.objects import BLOB
from tests.support.every_byte import find_word
from tests.support.history import history, say
from tests.support.remotes import add, fetch_from, machine, make_bare, push_to
from tests.support.store import git

WORD = "Xylophone-Quarantine-4711"
LINE = f"{WORD} is the code of the vault"
CAROL = Author("carol", "human")


@pytest.fixture
def drawn(repository):
    """Make a conversation with a merge request that quotes a message, and has another text."""
    made = history(repository, "main: a b", "side@a: x")
    made.ids[WORD] = say(repository, f"{made.conversation}/main", LINE).id
    open_merge_request(repository, made.conversation, "side", title=LINE, message=f"see:\n{LINE}", requester=CAROL)
    return made


def purge_line(repository, places, drawn):
    return purge(repository, PurgeRequest(conversation=drawn.conversation, messages=(drawn.ids[WORD],)), places)


def requests_of(repository):
    rows = list_merge_requests(repository, "conv-001", state="all").merge_requests
    return [(row.request.title, row.request.message, row.request.source) for row in rows]


PURGED = [("[purged]", "[purged]", "side")]


def test_a_merge_request_says_that_its_texts_were_purged(repository, places, drawn):
    done = purge_line(repository, places, drawn)
    assert requests_of(repository) == PURGED
    assert (done.left, find_word(WORD, repository.path)) == ((), [])
    assert verify(repository).exit_code == 0


def test_another_message_with_the_line_hides_no_merge_request(repository, places, drawn):
    copy = say(repository, f"{drawn.conversation}/main", f"re: {LINE}")
    done = purge_line(repository, places, drawn)
    assert [each.message for each in done.copies] == [copy.id]
    assert requests_of(repository) == PURGED
    purge(repository, PurgeRequest(conversation=drawn.conversation, messages=(copy.id,)), places)
    assert find_word(WORD, repository.path) == []


def test_a_merge_request_about_something_else_stays_as_it_is(repository, places):
    made = history(repository, f"main: a {WORD}", "side@a: x")
    open_merge_request(repository, made.conversation, "side", title="Fix it", message="all", requester=CAROL)
    purge_line(repository, places, made)
    assert requests_of(repository) == [("Fix it", "all", "side")]


def test_a_merge_request_keeps_the_path_of_a_purged_call(repository, places):
    """It may be about the same file, and quote nothing of the call."""
    made = history(repository, "main: a", "side@a: x", "other@a: y")
    path = "/home/ann/shop/config/settings.py"
    parts = [{"type": "tool_call", "call_id": "c1", "name": "Edit", "input": {"file_path": path, "new": LINE}}]
    author = {"kind": "agent", "name": "x"}
    message = say(repository, f"{made.conversation}/main", "", author=author, parts=parts)
    text = f"{path} must not be edited by hand"
    open_merge_request(repository, made.conversation, "side", title=path, message=text, requester=CAROL)
    open_merge_request(repository, made.conversation, "other", title="b", message=f"b: {LINE}", requester=CAROL)
    done = purge(repository, PurgeRequest(conversation=made.conversation, messages=(message.id,)), places)
    assert {each[:2] for each in requests_of(repository)} == {(path, text), ("b", "[purged]")}
    assert (done.left, find_word(WORD, repository.path)) == ((), [])


@pytest.mark.every_case("each is another way to quote")
@pytest.mark.parametrize(
    ("text", "is_own", "left"),
    [
        ("test", False, ("Run the latest checks", "please test all of it")),
        ("carol", True, ("Run the latest checks", "please test all of it")),
        ("Run the latest checks", False, ("[purged]", "please test all of it")),
        ("please test all of", False, ("Run the latest checks", "[purged]")),
    ],
)
def test_a_request_loses_a_text_that_quotes_and_no_name_and_no_part_of_a_word(repository, places, text, is_own, left):
    made = history(repository, "main: a", "side@a: x")
    title, message = "Run the latest checks", "please test all of it"
    open_merge_request(repository, made.conversation, "side", title=title, message=message, requester=CAROL)
    where = made.conversation if is_own else history(repository, "main: y").conversation
    message = say(repository, f"{where}/main", text)
    purge(repository, PurgeRequest(conversation=where, messages=(message.id,)), places)
    (row,) = list_merge_requests(repository, made.conversation, state="all").merge_requests
    assert (row.request.title, row.request.message, row.request.requester) == (*left, "carol")


def test_the_remote_gets_the_request_without_the_text_and_nobody_brings_it_back(repository, places, drawn, tmp_path):
    bare = make_bare(tmp_path / "bare.git")
    add(repository, bare)
    push_to(repository)
    theirs = machine(tmp_path / "theirs.git", bare, author="dave")
    fetch_from(theirs)
    assert requests_of(theirs) == [(LINE, f"see:\n{LINE}", "side")]
    purge_line(repository, places, drawn)
    push_to(repository, purged=True)
    git(bare, "gc", "--quiet", "--prune=now")
    assert find_word(WORD, bare) == []
    fetch_from(theirs)
    accept_purges(theirs, Places(str(tmp_path / "theirs-index")))
    assert requests_of(theirs) == PURGED
    close_merge_request(theirs, "conv-001", "1", author=CAROL)
    push_to(theirs)
    fetch_from(repository)
    assert requests_of(repository) == PURGED
    assert find_word(WORD, repository.path) == find_word(WORD, theirs.path) == find_word(WORD, bare) == []


@pytest.mark.slow
def test_a_clock_of_the_request_makes_the_purged_text_the_newest(repository, places, drawn, tmp_path):
    """Who has not accepted the purge, and did not change the request, brings the title back to nobody."""
    bare = make_bare(tmp_path / "bare.git")
    add(repository, bare)
    push_to(repository)
    theirs = machine(tmp_path / "theirs.git", bare, author="dave")
    fetch_from(theirs)
    purge_line(repository, places, drawn)
    push_to(repository, purged=True)
    fetch_from(theirs)
    say(theirs, "conv-001/side", "news")
    push_to(theirs)
    fetch_from(repository)
    assert requests_of(repository) == PURGED


def test_an_object_with_a_line_that_no_message_has_is_named_although_a_message_has_another_line(repository, places):
    second = "and the alarm is off on every Sunday night"
    made = history(repository, "main: a")
    made.ids[WORD] = say(repository, made.conversation, f"{LINE}\n{second}").id
    copy = say(repository, made.conversation, f"re: {second}")
    foreign = [_foreign_ref(repository, text) for text in (f"{LINE}\n{second}", second)]
    done = purge_line(repository, places, made)
    assert [each.message for each in done.copies] == [copy.id]
    assert done.left == (f"object {foreign[0]}",)
    assert done.exit_code == 7


def _foreign_ref(repository, text):
    """Let another program keep a file in the store, as a ref to a blob; return the blob."""
    blob = repository.write(BLOB, f"{text}\n".encode())
    git(repository.path, "update-ref", f"refs/notes/{blob[:8]}", blob)
    return blob
