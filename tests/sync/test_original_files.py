"""`push --originals`: the bytes of imported files leave on request, and are the same on the other machine."""

from __future__ import annotations

import pytest

from scopes.conversation.new_rename_delete import delete
from scopes.conversation.undo import undo
from scopes.conversation.verify import verify
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.importers.import_sources import import_sources
from scopes.store.refs import FETCHED_SOURCES, REMOTE_SOURCES
from scopes.sync.bundles import create_bundle, import_bundle, verify_bundle
from scopes.sync.change_remotes import remove_remote
from scopes.sync.delete_on_remote import delete_on_remote
from scopes.sync.edit_remotes import rename_remote
from scopes.sync.local_conversations import Selection
from scopes.sync.remotes import resolve_remote
from tests.importers.test_import_source import Several, write_several
from tests.support.every_byte import find_word
from tests.support.original_files import PROMPT, exported, files_there, import_session, keys_of, record_of
from tests.support.remotes import EVERYTHING, add, clone_to, connection, fetch_from, machine, make_bare, push_to
from tests.support.store import assert_sound, git, open_store, state_of


@pytest.fixture
def alice(repository, bare, tmp_path):
    """A store with an imported session, which knows the remote."""
    add(repository, bare)
    import_session(repository, tmp_path / "session.jsonl", "a b c")
    return repository


@pytest.fixture
def bob(bare, tmp_path):
    return machine(tmp_path / "bob", bare, "bob")


@pytest.fixture
def carol(repository, bare, tmp_path):
    """A store with a file that has two sessions, which became two conversations."""
    add(repository, bare)
    import_sources(repository, [write_several(tmp_path, "p q", "x y z")], (Several(),))
    return repository


def send(store, *names, **options):
    """Push all that there is, with original files, and messages that may still grow."""
    return push_to(store, *names, with_sources=True, **options)


def sources_of(pushed):
    return [(row.conversation, row.status, row.files) for row in pushed.sources]


def test_no_original_byte_leaves_without_the_option(alice, bare):
    push_to(alice)
    assert files_there(bare) == []
    assert find_word(PROMPT, bare) == []


def test_with_the_option_the_other_machine_has_the_same_bytes(alice, bob, bare, tmp_path):
    pushed = send(alice)
    assert (sources_of(pushed), pushed.exit_code) == ([("conv-001", "new", 1)], 0)
    fetched = fetch_from(bob)
    assert exported(bob) == exported(alice) == {"s1": (tmp_path / "session.jsonl").read_bytes()}
    assert "original files of 1 conversation came, too: conv-001" in fetched.notes[0].text


def test_the_records_of_a_message_are_the_same_there(alice, bob):
    send(alice)
    fetch_from(bob)
    assert record_of(bob) == record_of(alice)
    assert record_of(bob)["say"] == "say c"


def test_where_the_file_was_does_not_leave(alice, bare, tmp_path):
    send(alice)
    assert find_word("session.jsonl", bare) == []
    assert find_word(str(tmp_path), bare) == []


def test_stores_and_remote_are_sound_for_git(alice, bob, bare):
    send(alice)
    fetch_from(bob)
    assert_sound(alice)
    assert_sound(bob)
    assert git(bare, "fsck", "--strict", "--full", "--no-dangling") == ""


def test_a_second_push_sends_nothing(alice, bare):
    send(alice)
    before = git(bare, "for-each-ref")
    assert send(alice).sources == ()
    assert git(bare, "for-each-ref") == before


def test_a_second_fetch_changes_nothing(alice, bob):
    send(alice)
    fetch_from(bob)
    before = state_of(bob)
    assert fetch_from(bob).operation is None
    assert state_of(bob) == before


def test_files_can_follow_a_conversation_that_left_before(alice, bob):
    push_to(alice)
    fetch_from(bob)
    assert exported(bob) == {}
    assert sources_of(send(alice)) == [("conv-001", "new", 1)]
    fetched = fetch_from(bob)
    assert fetched.unchanged == 1
    assert fetched.operation is not None
    assert exported(bob) == exported(alice)


def test_a_file_that_has_grown_is_sent_again_on_request(alice, bob, bare, tmp_path):
    send(alice)
    before = files_there(bare)
    import_session(alice, tmp_path / "session.jsonl", "a b c d")
    assert push_to(alice).sources == ()
    assert sources_of(send(alice)) == [("conv-001", "updated", 1)]
    assert files_there(bare) == before
    fetch_from(bob)
    assert exported(bob) == {"s1": (tmp_path / "session.jsonl").read_bytes()}


def test_earlier_versions_of_a_file_do_not_leave(alice, bare, tmp_path):
    import_session(alice, tmp_path / "session.jsonl", "a b c d")
    send(alice)
    (ref,) = files_there(bare)
    assert len(git(bare, "rev-list", ref).split()) == 2  # all of them, and the only one


def test_a_dry_run_says_what_would_leave_and_sends_nothing(alice, bare):
    before = state_of(alice)
    assert sources_of(send(alice, dry_run=True)) == [("conv-001", "new", 1)]
    assert state_of(alice) == before
    assert files_there(bare) == []


def test_undo_of_the_fetch_takes_the_files_back(alice, bob):
    send(alice)
    before = bob.list_refs(FETCHED_SOURCES, REMOTE_SOURCES)
    fetch_from(bob)
    assert len(bob.list_refs(FETCHED_SOURCES, REMOTE_SOURCES)) == 2
    undo(bob)
    assert bob.list_refs(FETCHED_SOURCES, REMOTE_SOURCES) == before == {}
    fetch_from(bob)
    assert exported(bob) == exported(alice)


def test_a_clone_has_the_files(alice, bare, tmp_path):
    send(alice)
    clone_to(tmp_path / "clone", bare)
    assert exported(open_store(tmp_path / "clone")) == exported(alice)


def test_a_fetch_of_one_conversation_gets_its_files_only(alice, bob, tmp_path):
    import_session(alice, tmp_path / "other.jsonl", "x y", session="s2")
    send(alice)
    root = min(alice.list_refs(REMOTE_SOURCES)).rpartition("/")[2]
    fetch_from(bob, root)
    assert bob.list_refs(FETCHED_SOURCES).keys() == {f"{FETCHED_SOURCES}{root}"}


def test_who_imports_the_same_file_later_has_one_conversation_and_both_records(alice, bob, tmp_path):
    send(alice)
    fetch_from(bob)
    import_session(bob, tmp_path / "copy.jsonl", "a b c")
    assert (conversation_ids(bob), [*list_branch_tips(bob, "conv-001")]) == (["conv-001"], ["main"])
    assert exported(bob) == exported(alice)
    assert send(bob).sources == ()


def test_of_two_versions_of_a_file_the_longer_one_stays_on_the_remote(alice, bob, tmp_path):
    import_session(bob, tmp_path / "short.jsonl", "a b")
    import_session(alice, tmp_path / "session.jsonl", "a b c d")
    send(alice)
    assert send(bob).sources == ()
    assert exported(bob) == exported(alice)
    assert send(alice).sources == ()


def test_files_of_two_machines_are_there_together(alice, bob, tmp_path):
    send(alice)
    fetch_from(bob)
    import_session(bob, tmp_path / "part.jsonl", "p q", part="helper")
    send(bob)
    fetch_from(alice)
    assert exported(alice) == exported(bob)
    assert len(exported(alice)) == 2
    assert send(alice).sources == ()


def test_deleting_a_conversation_on_the_remote_deletes_its_files_there_only(alice, bob, bare):
    send(alice)
    fetch_from(bob)
    delete_on_remote(bob, resolve_remote(bob, None), ["conv-001"], connection())
    assert git(bare, "for-each-ref") == ""
    assert bob.list_refs(REMOTE_SOURCES) == {}
    assert exported(bob) == exported(alice)


def test_a_removed_remote_takes_no_files_with_it(alice, bob):
    send(alice)
    fetch_from(bob)
    rename_remote(bob, "origin", "work")
    assert [ref.split("/")[3] for ref in bob.list_refs(REMOTE_SOURCES)] == ["work"]
    remove_remote(bob, "work")
    assert bob.list_refs(REMOTE_SOURCES) == {}
    assert exported(bob) == exported(alice)


def test_who_has_fetched_files_can_send_them_on(alice, bob, tmp_path):
    send(alice)
    fetch_from(bob)
    second = make_bare(tmp_path / "second.git")
    add(bob, second, "second")
    assert sources_of(send(bob, remote="second")) == [("conv-001", "new", 1)]
    carol = machine(tmp_path / "carol", second)
    fetch_from(carol)
    (ref,) = carol.list_refs(FETCHED_SOURCES)
    assert keys_of(carol, ref) == ["s1"]
    assert exported(carol) == exported(alice)


@pytest.mark.slow
def test_what_another_machine_has_sent_meanwhile_is_fetched_first(alice, bob, tmp_path):
    send(alice)
    fetch_from(bob)
    import_session(bob, tmp_path / "part.jsonl", "p q", part="helper")
    send(bob)
    import_session(alice, tmp_path / "session.jsonl", "a b c d")
    send(alice)
    fetch_from(bob)
    assert exported(bob) == exported(alice)
    assert len(exported(bob)) == 2


def test_files_that_somebody_else_has_sent_meanwhile_are_not_refused(alice, bob, tmp_path):
    push_to(alice)
    fetch_from(bob)
    import_session(bob, tmp_path / "copy.jsonl", "a b c")
    send(bob)
    pushed = send(alice)
    assert (pushed.sources, pushed.exit_code) == ((), 0)
    assert exported(alice) == exported(bob)


def test_a_file_of_several_conversations_leaves_with_all_of_them(carol, bob):
    pushed = send(carol, "conv-001")
    assert (pushed.sources, exported(carol).keys()) == ((), {"s0"})
    assert "1 original file of several conversations was not pushed: s0" in pushed.notes[0].text
    assert sources_of(send(carol, "conv-002")) == [("conv-002", "new", 1)]
    assert sources_of(send(carol, "conv-001")) == [("conv-001", "new", 1)]
    fetch_from(bob)
    assert exported(bob, "conv-002") == exported(bob, "conv-001") == exported(carol)


def bundle(store, path, *names, **options):
    chosen = Selection(names) if names else EVERYTHING
    return create_bundle(store, str(path), chosen, connection(), with_sources=True, **options)


def test_a_bundle_carries_the_same_bytes(alice, bob, tmp_path):
    done = bundle(alice, tmp_path / "a.bundle")
    assert (sources_of(done), done.exit_code) == ([("conv-001", "new", 1)], 0)
    import_bundle(bob, str(tmp_path / "a.bundle"), Selection(), connection())
    assert exported(bob) == exported(alice)


def test_a_bundle_without_the_option_has_no_original_byte(alice, tmp_path):
    create_bundle(alice, str(tmp_path / "a.bundle"), EVERYTHING, connection())
    bundle(alice, tmp_path / "b.bundle")
    heads = [git(alice, "bundle", "list-heads", str(tmp_path / f"{name}.bundle")) for name in "ab"]
    assert [head.count("refs/scopes/v1/s/") for head in heads] == [0, 1]


def test_a_bundle_has_a_file_of_several_conversations_only_with_all_of_them(carol, tmp_path):
    assert bundle(carol, tmp_path / "a.bundle", "conv-001").sources == ()
    assert len(bundle(carol, tmp_path / "b.bundle").sources) == 2


def test_a_bundle_with_files_that_are_not_acceptable_says_so(alice, bare, tmp_path):
    send(alice)
    (ref,) = files_there(bare)
    tip = git(bare, "for-each-ref", "--format=%(objectname)", "refs/scopes/v1/c").strip()
    git(bare, "update-ref", ref, tip)
    git(bare, "bundle", "create", "-q", str(tmp_path / "a.bundle"), "--all")
    found = verify_bundle(alice, str(tmp_path / "a.bundle"), connection())
    assert [row.status for row in found.conversations] == ["known"]
    assert "are not acceptable" in found.notes[0].text


def test_a_fetched_store_has_no_findings(alice, bob):
    send(alice)
    fetch_from(bob)
    assert verify(bob).findings == ()
    assert verify(alice).findings == ()


def test_a_conversation_that_was_deleted_here_does_not_come_back_with_its_files(alice, bob):
    push_to(alice)
    fetch_from(bob)
    delete(bob, "conv-001")
    send(alice)
    fetch_from(bob)
    assert conversation_ids(bob) == []
