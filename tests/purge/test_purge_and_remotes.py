"""A purge and remotes: what is replaced there, what others are offered, and that nothing is brought back."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from scopes.conversation.list import list_conversations
from scopes.conversation.new_rename_delete import delete
from scopes.conversation.verify import verify
from scopes.errors import Corrupt, NotFound, Refused
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.history.sources import is_entry, purged_of, read_purged, write_purged
from scopes.purge.accept import accept_purges, plan_accept
from scopes.purge.on_remotes import list_copies, read_values
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.purge.unfinished import begin
from scopes.store.config import write_entries
from scopes.sync.fetch_manifests import fetch_manifests
from scopes.sync.purged_lists import ON_REMOTE, check_list
from scopes.sync.remote_conversations import list_remote
from scopes.sync.remotes import resolve_remote
from tests.support.every_byte import find_word
from tests.support.history import history, say, texts
from tests.support.recalled import recalled
from tests.support.remotes import EVERYTHING, add, clone_to, connection, fetch_from, machine, push_to
from tests.support.store import git, open_store

MACHINE = "0123456789ab"
WORD = "Xylophone-Quarantine-4711"


@pytest.fixture
@recalled
def drawn(repository, bare):
    """Make a conversation with the word and another one, and push both."""
    add(repository, bare)
    made = history(repository, f"main: a {WORD} b", "fix@a: c")
    history(repository, "main: x y")
    push_to(repository)
    return made


@pytest.fixture
@recalled
def theirs(drawn, bare, tmp_path):
    """Make another machine that has fetched both conversations."""
    store = machine(tmp_path / "theirs.git", bare, author="dave")
    fetch_from(store, drawn.root)
    fetch_from(store)
    return store


def places_of(tmp_path, name):
    return Places(str(tmp_path / name))


def purge_word(repository, drawn, places):
    return purge(repository, PurgeRequest(conversation=drawn.conversation, messages=(drawn.ids[WORD],)), places)


def collect_garbage(bare):
    """Do what a purge tells the owner of a server to do."""
    for words in (("reflog", "expire", "--expire=now", "--all"), ("gc", "-q", "--prune=now")):
        subprocess.run(["git", "-C", bare, *words], check=True)


def statuses(pushed):
    return {row.conversation: row.status for row in pushed.conversations}


def test_it_says_what_to_do_about_each_remote(repository, drawn, places):
    done = purge_word(repository, drawn, places)
    (copy,) = done.remotes
    assert (copy.remote, copy.conversations) == ("origin", 1)
    assert copy.push == "scopes push origin --purged"
    assert "git gc --prune=now" in copy.server


def test_a_push_replaces_what_the_remote_has_and_its_own_gc_removes_the_rest(repository, drawn, places, bare):
    purge_word(repository, drawn, places)
    assert statuses(push_to(repository, purged=True)) == {drawn.conversation: "updated"}
    assert list_copies(repository.path) == ()
    collect_garbage(bare)
    assert find_word(WORD, bare, repository.path) == []
    assert git(bare, "fsck", "--strict", "--full", "--no-dangling") == ""


@pytest.mark.cases(1)
@pytest.mark.parametrize("has_fetched", [False, True])
@pytest.mark.slow
def test_a_copy_of_the_remote_that_was_added_later_is_cleaned_too(
    repository, drawn, places, bare, tmp_path, has_fetched
):
    mirror = shutil.copytree(bare, tmp_path / "mirror.git")
    purge_word(repository, drawn, places)
    push_to(repository, purged=True)
    add(repository, str(mirror), "mirror")
    if has_fetched:
        refused = {row.root: row.reason for row in fetch_from(repository, remote="mirror").conversations if row.reason}
        assert "push --purged --remote mirror" in refused[drawn.root]
    assert statuses(push_to(repository, remote="mirror", purged=True)) == {drawn.conversation: "updated"}
    collect_garbage(mirror)
    assert find_word(WORD, mirror) == []
    assert fetch_from(repository, remote="mirror").exit_code == 0
    assert push_to(repository, remote="mirror", purged=True).conversations == ()


def test_a_new_clone_of_the_pushed_copy_has_no_byte_of_it(repository, drawn, places, bare, tmp_path):
    purge_word(repository, drawn, places)
    push_to(repository, drawn.conversation)
    clone_to(tmp_path / "clone.git", bare, (drawn.root,))
    clone = open_store(tmp_path / "clone.git")
    assert find_word(WORD, clone.path) == []
    assert texts(clone, "conv-001/main") == ["a", "[purged]", "b"]
    say(clone, "conv-001/main", "later")
    assert statuses(push_to(clone)) == {"conv-001": "updated"}
    assert fetch_from(clone).notes == ()


def test_a_purged_conversation_is_deleted_on_the_remote(repository, drawn, places, bare):
    purge(repository, PurgeRequest((drawn.conversation,)), places)
    there = git(bare, "for-each-ref")
    preview = push_to(repository, purged=True, dry_run=True)
    would = f"1 purged conversation would be deleted on the remote: {drawn.root[:12]}"
    assert ([note.text for note in preview.notes], preview.purged) == ([would], (drawn.root,))
    assert git(bare, "for-each-ref") == there
    pushed = push_to(repository, purged=True)
    assert pushed.purged == preview.purged
    assert f"1 purged conversation was deleted on the remote: {pushed.purged[0][:12]}" in [
        note.text for note in pushed.notes
    ]
    assert len(git(bare, "for-each-ref", "refs/scopes/v1/c").splitlines()) == 1
    collect_garbage(bare)
    assert find_word(WORD, bare, repository.path) == []
    assert read_values(repository.path) == {}


def test_a_fetch_before_the_push_does_not_return_it(repository, drawn, places):
    purge_word(repository, drawn, places)
    rows = fetch_from(repository).conversations
    assert [row.status for row in rows] == ["unacceptable"]
    assert "was purged here" in rows[0].reason
    assert find_word(WORD, repository.path) == []


def test_a_purged_conversation_is_not_fetched_again(repository, drawn, places):
    purge(repository, PurgeRequest((drawn.conversation,)), places)
    assert [row.status for row in fetch_from(repository).conversations] == ["unacceptable"]
    assert conversation_ids(repository) == ["conv-002"]


def test_others_are_offered_it_and_nothing_happens_by_itself(repository, drawn, theirs, places):
    purge_word(repository, drawn, places)
    push_to(repository, purged=True)
    fetched = fetch_from(theirs)
    assert fetched.notes[-1].text == "1 message was purged elsewhere, and not here"
    assert "scopes purge --accept" in fetched.notes[-1].hint
    assert texts(theirs, "conv-001/main") == ["a", WORD, "b"]
    assert [each.message for each in plan_accept(theirs).messages] == [drawn.ids[WORD]]


def test_who_accepts_has_the_same_commits_as_who_purged(repository, drawn, theirs, places, tmp_path):
    purge_word(repository, drawn, places)
    push_to(repository, purged=True)
    fetch_from(theirs)
    done = accept_purges(theirs, places_of(tmp_path, "theirs-index"))
    assert (done.messages, done.left) == (1, ())
    assert list_branch_tips(theirs, "conv-001") == list_branch_tips(repository, drawn.conversation)
    assert find_word(WORD, theirs.path) == []
    assert verify(theirs).exit_code == 0
    assert fetch_from(theirs).notes == ()
    with pytest.raises(NotFound, match="nothing that was purged elsewhere is here"):
        plan_accept(theirs)


def test_who_has_not_accepted_cannot_push_it_back(repository, drawn, theirs, places, bare):
    purge_word(repository, drawn, places)
    push_to(repository, purged=True)
    say(theirs, "conv-001/main", "later")
    pushed = push_to(theirs, "conv-001")
    assert statuses(pushed) == {"conv-001": "refused"}
    assert "purge --accept" in pushed.conversations[0].reason
    assert statuses(push_to(theirs, "conv-001", force=True)) == {"conv-001": "refused"}
    collect_garbage(bare)
    assert find_word(WORD, bare) == []


def test_who_has_not_accepted_cannot_push_a_purged_conversation_back(repository, drawn, theirs, places, bare):
    purge(repository, PurgeRequest((drawn.conversation,)), places)
    push_to(repository, purged=True)
    say(theirs, "conv-001/main", "later")
    assert statuses(push_to(theirs, "conv-001")) == {"conv-001": "refused"}
    assert len(git(bare, "for-each-ref", "refs/scopes/v1/c").splitlines()) == 1


@pytest.mark.cases(1)
@pytest.mark.parametrize("names", [(), ("conv-001",)])
@pytest.mark.slow
def test_force_sends_no_conversation_that_was_purged_elsewhere(repository, drawn, theirs, places, bare, names):
    purge(repository, PurgeRequest((drawn.conversation,)), places)
    push_to(repository, purged=True)
    collect_garbage(bare)
    pushed = push_to(theirs, *names, force=True)  # they have not fetched since
    assert statuses(pushed) == {"conv-001": "refused"}
    assert "purge --accept" in pushed.conversations[0].reason
    assert any("conv-001" in note.text and "purged elsewhere" in note.text for note in pushed.notes)
    assert find_word(WORD, bare) == []
    accept_purges(theirs, places)
    assert find_word(WORD, theirs.path) == []


def test_messages_that_came_meanwhile_survive_once_their_machine_accepts(repository, drawn, theirs, places, tmp_path):
    say(theirs, "conv-001/main", "later")
    push_to(theirs)
    purge_word(repository, drawn, places)
    pushed = push_to(repository, purged=True)
    assert statuses(pushed) == {drawn.conversation: "refused"}
    assert "scopes pull conv-001 --purged" in pushed.conversations[0].reason
    fetch_from(theirs)
    accept_purges(theirs, places_of(tmp_path, "theirs-index"))
    assert statuses(push_to(theirs, purged=True)) == {"conv-001": "updated"}
    fetch_from(repository)
    assert texts(repository, f"{drawn.conversation}/main") == ["a", "[purged]", "b", "later"]
    assert list_branch_tips(repository, drawn.conversation) == list_branch_tips(theirs, "conv-001")


def test_a_third_machine_learns_of_it_from_the_list_alone(repository, drawn, places, bare, tmp_path):
    other = machine(tmp_path / "third.git", bare)
    fetch_from(other, drawn.root)
    fetch_from(other)
    delete(other, "conv-002")
    purge_word(repository, drawn, places)
    push_to(repository, "conv-002")
    assert "purged elsewhere" in fetch_from(other, "conv-001").notes[-1].text


def test_the_list_on_the_remote_is_a_ref_of_this_machine_with_hashes(repository, drawn, places, bare):
    purge_word(repository, drawn, places)
    push_to(repository, purged=True)
    (ref,) = git(bare, "for-each-ref", "--format=%(refname)", ON_REMOTE).split()
    names = git(bare, "ls-tree", "-r", "--name-only", ref).split()
    assert len(names) == 1
    assert is_entry(names[0])
    assert drawn.ids[WORD] not in git(bare, "cat-file", "-p", f"{ref}:{names[0]}")
    before = git(bare, "for-each-ref")
    push_to(repository)
    assert git(bare, "for-each-ref") == before


def test_a_bad_list_is_left_out_and_the_conversations_are_taken(repository, drawn, bare, tmp_path):
    tree = git(bare, "hash-object", "-t", "tree", "-w", "/dev/null").strip()
    blob = subprocess.run(
        ["git", "-C", bare, "hash-object", "-w", "--stdin"], input=b"x", capture_output=True, check=True
    ).stdout.decode()
    made = subprocess.run(
        ["git", "-C", bare, "mktree"],
        input=f"100644 blob {blob.strip()}\tother\n".encode(),
        capture_output=True,
        check=True,
    )
    commit = git(
        bare, "-c", "user.name=x", "-c", "user.email=x@y", "commit-tree", "-m", "x", made.stdout.decode().strip()
    )
    git(bare, "update-ref", f"{ON_REMOTE}0123456789ab", commit.strip())
    other = machine(tmp_path / "other.git", bare)
    fetched = fetch_from(other)
    assert len(conversation_ids(other)) == 2
    assert "not a conversation" in fetched.notes[0].text
    assert tree


def test_a_list_with_a_parent_is_not_acceptable(repository):
    good = write_purged(repository, purged_of({"a" * 26: None, "b" * 26: frozenset({0, 2})}, ["c" * 40]))
    assert len(check_list(repository, MACHINE, good)[0]) > 4
    drawn = history(repository, "main: a")
    with pytest.raises(Corrupt, match="without parents"):
        check_list(repository, MACHINE, drawn.oids["a"])
    with pytest.raises(Corrupt, match="not the name of a machine"):
        check_list(repository, "a/b", good)


def test_a_purge_that_was_interrupted_stops_push_and_fetch(repository, drawn):
    begin(repository, read_purged(repository))
    for act in (push_to, fetch_from):
        with pytest.raises(Refused, match="interrupted"):
            act(repository)
    assert os.path.exists(repository.path)


@pytest.mark.parametrize(
    ("address", "word"),
    [
        ("git@github.com:team/talks.git", "GitHub"),
        ("https://github.com/team/talks.git", "GitHub"),
        ("ssh://git@gitlab.com:22/team/talks.git", "housekeeping"),
        ("https://git.example.org/github.com/talks.git", "git gc"),
        ("/srv/github.com/talks.git", "git gc"),
    ],
)
def test_a_host_that_is_known_has_its_own_step(repository, address, word):
    write_entries(repository.path, {"origin": (address, False)})
    (copy,) = list_copies(repository.path, also={"origin": 1})
    assert word in copy.server


def test_a_purged_first_prompt_goes_from_manifests_and_lists_here_and_there(repository, bare, tmp_path):
    """Whoever lists the remote afterwards sees what the list here shows; another prompt is there as before."""
    add(repository, bare)
    made = history(repository, f"main: {WORD} b")
    later = history(repository, "main: first other")
    push_to(repository)
    listing = str(tmp_path / "index")
    assert [row.title for row in list_anew(repository, listing)] == ["first", WORD]
    purge(repository, PurgeRequest(conversation=later.conversation, messages=(later.ids["other"],)), Places(listing))
    purge(repository, PurgeRequest(conversation=made.conversation, messages=(made.ids[WORD],)), Places(listing))
    assert find_word(WORD, repository.path, listing) == []
    push_to(repository, purged=True)
    other = machine(tmp_path / "other.git", bare, author="dave")
    assert [row.title for row in list_anew(other, str(tmp_path / "other-index"))] == ["first", "[purged]"]
    assert [row.heading for row in list_conversations(repository).conversations] == ["first", "[purged]"]
    git(bare, "gc", "-q", "--prune=now")
    assert find_word(WORD, bare) == []


def list_anew(store, index):
    """Ask the remote for its manifests, and list them."""
    remote = resolve_remote(store, None)
    fetch_manifests(store, remote, EVERYTHING, connection(), index)
    return list_remote(store, [remote], index).conversations
