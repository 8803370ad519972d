"""Push, fetch and clone through a bare directory."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch, rewind, switch, tag
from scopes.conversation.new_rename_delete import delete, delete_branch, new, rename_branch, rename_title
from scopes.conversation.undo import undo
from scopes.errors import NotFound, Refused
from scopes.history.metadata import read_metadata
from scopes.history.names import list_branch_tips, read_active_branch
from scopes.secret_scan import prefilter
from scopes.store.git_program import ReceivedObjects
from scopes.store.refs import REMOTES, RefFiles
from scopes.sync import push as push_module
from scopes.sync.git_transport import PushStatus, RefUpdate
from scopes.sync.local_conversations import list_roots
from scopes.sync.push_batches import MAX_BATCH, send
from scopes.sync.remotes import list_remotes
from tests.support.history import history, say, texts
from tests.support.planted import KINDS
from tests.support.recalled import recalled
from tests.support.remotes import add, clone_to, fetch_from, machine, make_bare, push_to
from tests.support.store import assert_sound, git, make_store, open_store, refs, state_of

SECRET = KINDS[1][1]


@pytest.fixture
@recalled
def theirs(ours, bare, tmp_path):
    """Another machine, which has what was pushed."""
    push_to(ours)
    other = machine(tmp_path / "theirs", bare, "dave")
    fetch_from(other)
    return other


def states(fetched):
    """Return the states of the branches of what was fetched, by name."""
    return {branch.name: branch.state for row in fetched.conversations for branch in row.branches}


def test_a_pushed_conversation_is_cloned_commit_by_commit(ours, bare, tmp_path):
    rename_title(ours, "conv-001", "Login")
    tag(ours, "conv-001", "v1", "main")
    pushed = push_to(ours, "conv-001")
    assert [(row.status, row.branches, row.messages) for row in pushed.conversations] == [("new", 2, 3)]
    cloned = clone_to(tmp_path / "other", bare)
    assert [(row.status, row.conversation) for row in cloned.fetched.conversations] == [("new", "conv-001")]
    other = open_store(tmp_path / "other")
    assert list_branch_tips(other, "conv-001") == list_branch_tips(ours, "conv-001")
    assert read_metadata(other, "conv-001").title == "Login"
    assert read_metadata(other, "conv-001").tags == read_metadata(ours, "conv-001").tags
    assert texts(other, "conv-001/fix") == texts(ours, "conv-001/fix")
    assert read_active_branch(other, "conv-001") == "main"


def test_a_conversation_that_is_undone_while_others_are_pushed_is_left_out(ours, bare, monkeypatch):
    """A push of all beside `new; undo` in another process ended with "has no root"."""
    gone = new(ours).id
    choose = push_module._choose

    def choose_and_undo(*arguments):
        chosen = choose(*arguments)
        undo(ours)
        return chosen

    monkeypatch.setattr(push_module, "_choose", choose_and_undo)
    pushed = push_to(ours)
    assert [(row.conversation, row.status) for row in pushed.conversations] == [("conv-001", "new")]
    assert gone not in git(bare, "for-each-ref")


def test_both_stores_and_the_remote_are_sound_for_git(theirs, ours, bare):
    for store in (theirs, ours):
        assert_sound(store)
    assert git(bare, "fsck", "--strict", "--full", "--no-dangling") == ""


def test_a_push_of_what_the_remote_has_sends_nothing(ours, bare):
    push_to(ours)
    before = git(bare, "for-each-ref")
    pushed = push_to(ours)
    assert (pushed.conversations, pushed.unchanged, pushed.exit_code) == ((), 1, 0)
    assert git(bare, "for-each-ref") == before


def test_a_fetch_of_nothing_new_changes_nothing(theirs):
    before = state_of(theirs)
    fetched = fetch_from(theirs)
    assert (fetched.conversations, fetched.unchanged, fetched.operation) == ((), 1, None)
    assert state_of(theirs) == before


def test_new_messages_move_a_branch_forward(ours, theirs):
    say(ours, "conv-001/main", "d")
    assert [row.messages for row in push_to(ours).conversations] == [1]
    assert states(fetch_from(theirs)) == {"main": "moved", "fix": "same"}
    assert list_branch_tips(theirs, "conv-001") == list_branch_tips(ours, "conv-001")


def test_a_branch_with_own_messages_stays_and_is_noted(ours, theirs):
    say(ours, "conv-001/main", "d")
    say(theirs, "conv-001/main", "e")
    own = list_branch_tips(theirs, "conv-001")["main"]
    push_to(ours)
    fetched = fetch_from(theirs)
    assert states(fetched)["main"] == "diverged"
    assert list_branch_tips(theirs, "conv-001")["main"] == own
    assert "conv-001/main" in fetched.notes[0].text


def test_a_branch_that_is_ahead_stays(ours, theirs):
    say(theirs, "conv-001/main", "e")
    rename_title(ours, "conv-001", "Login")
    push_to(ours)
    assert states(fetch_from(theirs))["main"] == "ahead"


def test_messages_go_both_ways(ours, theirs):
    say(theirs, "conv-001/fix", "e")
    push_to(theirs)
    assert states(fetch_from(ours)) == {"main": "same", "fix": "moved"}
    assert texts(ours, "conv-001/fix")[-1] == "e"


def test_a_new_branch_comes_with_its_entry(ours, theirs):
    branch(theirs, "conv-001", name="idea", purpose="analysis")
    push_to(theirs)
    assert states(fetch_from(ours))["idea"] == "created"
    assert read_metadata(ours, "conv-001").branches["idea"].purpose == "analysis"
    assert read_active_branch(ours, "conv-001") == "main"


def test_a_push_fetches_first_what_somebody_else_has_pushed(ours, theirs):
    say(ours, "conv-001/main", "d")
    say(theirs, "conv-001/fix", "e")
    push_to(ours)
    assert [row.status for row in push_to(theirs).conversations] == ["updated"]
    fetch_from(ours)
    assert list_branch_tips(theirs, "conv-001") == list_branch_tips(ours, "conv-001")


def test_a_push_leaves_a_branch_that_has_other_messages_on_the_remote(ours, theirs):
    say(ours, "conv-001/main", "d")
    say(theirs, "conv-001/main", "e")
    push_to(ours)
    pushed = push_to(theirs)
    assert ([row.diverged for row in pushed.conversations], pushed.exit_code) == ([("main",)], 1)
    assert states(fetch_from(ours)) == {}


def test_a_forced_push_moves_a_branch_and_keeps_the_history_of_the_remote(ours, theirs, bare):
    say(ours, "conv-001/main", "d")
    say(theirs, "conv-001/main", "e")
    push_to(ours)
    fetch_from(theirs)  # what was never seen is not left out
    assert push_to(theirs, force=True, drops_unmerged=True).exit_code == 0
    tip = list_branch_tips(ours, "conv-001")["main"]
    assert tip in git(bare, "rev-list", "--all")
    assert states(fetch_from(ours))["main"] == "diverged"


def test_a_branch_that_was_moved_back_here_is_not_moved_back_there(ours, theirs):
    rewind(ours, "conv-001", to="main~1")
    rename_title(ours, "conv-001", "Login")
    push_to(ours)
    assert states(fetch_from(theirs)) == {"main": "same", "fix": "same"}


def test_a_branch_that_was_deleted_here_does_not_come_back(ours, theirs):
    delete_branch(theirs, "conv-001", "fix", force=True)
    say(ours, "conv-001/fix", "more")
    push_to(ours)
    assert states(fetch_from(theirs))["fix"] == "deleted"
    assert "fix" not in list_branch_tips(theirs, "conv-001")


def test_a_push_keeps_a_branch_of_the_remote_that_is_not_here(ours, theirs):
    delete_branch(theirs, "conv-001", "fix", force=True)
    push_to(theirs)
    fetch_from(ours)
    assert "fix" in list_branch_tips(ours, "conv-001")


def test_a_conversation_that_was_deleted_here_does_not_come_back(ours, theirs):
    delete(theirs, "conv-001")
    say(ours, "conv-001/main", "d")
    push_to(ours)
    assert [(row.status, row.conversation) for row in fetch_from(theirs).conversations] == [("deleted", None)]
    assert list_roots(theirs) == {}


def test_a_foreign_conversation_gets_the_next_number_here(ours, bare, tmp_path):
    push_to(ours)
    other = machine(tmp_path / "other", bare)
    history(other, "main: own")
    assert [row.conversation for row in fetch_from(other).conversations] == ["conv-002"]
    assert texts(other, "conv-001") == ["own"]


def test_one_undo_takes_back_a_whole_fetch(ours, theirs):
    before = refs(theirs)
    say(ours, "conv-001/main", "d")
    history(ours, "main: x")
    push_to(ours)
    assert len(fetch_from(theirs).conversations) == 2
    undo(theirs)
    assert refs(theirs) == before
    assert len(fetch_from(theirs).conversations) == 2


def test_the_title_goes_to_who_has_not_changed_it(ours, theirs):
    rename_title(ours, "conv-001", "Login")
    push_to(ours)
    fetch_from(theirs)
    assert read_metadata(theirs, "conv-001").title == "Login"
    rename_title(theirs, "conv-001", "Login on Safari")
    push_to(theirs)
    fetch_from(ours)
    assert read_metadata(ours, "conv-001").title == "Login on Safari"


def test_names_of_refs_and_manifests_are_the_same_on_every_machine(ours, theirs, tmp_path):
    first, second = make_bare(tmp_path / "1.git"), make_bare(tmp_path / "2.git")
    for store, path in ((ours, first), (theirs, second)):
        add(store, path, "again")
        push_to(store, remote="again")
    assert git(first, "for-each-ref") == git(second, "for-each-ref") != ""


def test_the_directory_of_a_conversation_stays_at_home(repository, bare):
    from scopes.conversation.new_rename_delete import new

    new(repository, directory="/home/carol/secret-project")
    add(repository, bare)
    push_to(repository)
    objects = git(bare, "cat-file", "--batch-all-objects", "--batch")
    assert "secret-project" not in objects
    assert "manifest" in objects


def test_what_stays_at_home_is_kept_by_a_fetch(repository, bare, tmp_path):
    from scopes.conversation.new_rename_delete import new

    new(repository, directory="/home/carol/shop")
    add(repository, bare)
    push_to(repository)
    other = machine(tmp_path / "other", bare)
    fetch_from(other)
    rename_title(other, "conv-001", "Login")
    push_to(other)
    fetch_from(repository)
    metadata = read_metadata(repository, "conv-001")
    assert (metadata.title, metadata.directory) == ("Login", "/home/carol/shop")


@pytest.mark.parametrize("place", ["message", "title", "tag", "branch"])
def test_a_conversation_that_may_have_a_secret_is_not_sent(ours, bare, place):
    {
        "message": lambda: say(ours, "conv-001", f"use {SECRET}"),
        "title": lambda: rename_title(ours, "conv-001", SECRET),
        "tag": lambda: tag(ours, "conv-001", SECRET, "main"),
        "branch": lambda: branch(ours, "conv-001", name=SECRET),
    }[place]()
    history(ours, "main: x")
    pushed = push_to(ours)
    assert {row.conversation: row.status for row in pushed.conversations} == {"conv-001": "refused", "conv-002": "new"}
    assert "github-token" in pushed.conversations[0].reason
    assert SECRET not in str(pushed) + git(bare, "cat-file", "--batch-all-objects", "--batch")


def test_what_the_remote_has_is_not_searched_again(ours, theirs, monkeypatch):
    searched = []
    say(theirs, "conv-001/main", "news")
    monkeypatch.setattr(prefilter, "choose_suspicious", lambda texts: searched.extend(texts) or [])
    push_to(theirs)
    messages = [data for data in searched if b'"parts"' in data]
    assert len(messages) == 1
    assert b"news" in messages[0]


def test_the_operation_log_and_other_refs_of_the_store_stay_at_home(ours, bare):
    push_to(ours)
    names = git(bare, "for-each-ref", "--format=%(refname)").split()
    assert len(names) == 1
    assert names[0].startswith("refs/scopes/v1/c/")
    assert git(ours, "rev-parse", "refs/scopes/operations").strip() not in git(bare, "rev-list", "--all")


def test_one_conversation_of_several_is_fetched_by_the_start_of_its_root(ours, bare, tmp_path):
    history(ours, "main: x")
    push_to(ours)
    other = machine(tmp_path / "other", bare)
    root = next(root for root, name in list_roots(ours).items() if name == "conv-002")
    assert [row.root for row in fetch_from(other, root[:9]).conversations] == [root]
    assert [row.root for row in fetch_from(other, "conv-001").conversations] == []


def test_a_conversation_that_the_remote_lacks_is_not_found(ours):
    for name in ("conv-001", "0123456789"):
        with pytest.raises(NotFound, match=f"origin does not have {name}") as caught:
            fetch_from(ours, name)
        assert "nothing was pushed there yet" in caught.value.hint


def test_the_error_about_one_that_the_remote_lacks_names_a_few_that_it_has(ours):
    for _ in range(7):
        history(ours, "main: x")
    push_to(ours, *(f"conv-00{number}" for number in range(2, 9)))
    with pytest.raises(NotFound, match="origin does not have conv-001") as caught:
        fetch_from(ours, "conv-002", "conv-001")
    there = sorted(root for root, name in list_roots(ours).items() if name != "conv-001")
    assert f"it has: {', '.join(root[:12] for root in there[:5])} and 2 more conversations" in caught.value.hint


def test_a_clone_into_a_store_with_conversations_is_refused(ours, bare, tmp_path):
    push_to(ours)
    clone_to(tmp_path / "other", bare)
    with pytest.raises(Refused, match="has conversations already") as caught:
        clone_to(tmp_path / "other", bare)
    assert caught.value.hint == "get what is new: scopes fetch origin"


def test_a_clone_that_fails_takes_its_remote_back_from_a_store_that_was_there(ours, bare, tmp_path):
    push_to(ours)
    store = str(tmp_path / "other")
    make_store(store)
    with pytest.raises(NotFound):
        clone_to(store, str(tmp_path / "missing.git"))
    assert list_remotes(open_store(store)) == ()
    assert [row.status for row in clone_to(store, bare).fetched.conversations] == ["new"]


def test_a_clone_into_a_store_with_another_remote_of_that_name_says_how_to_move_it(ours, bare, tmp_path):
    push_to(ours)
    store = str(tmp_path / "other")
    make_store(store)
    add(open_store(store), str(tmp_path / "missing.git"))
    with pytest.raises(Refused, match="has another remote origin") as caught:
        clone_to(store, bare)
    assert f"scopes remote set-url origin {bare}" in caught.value.hint
    assert [each.address.text for each in list_remotes(open_store(store))] == [str(tmp_path / "missing.git")]


def test_a_clone_that_fails_leaves_no_store(tmp_path):
    with pytest.raises(NotFound):
        clone_to(tmp_path / "other", str(tmp_path / "missing.git"))
    assert not (tmp_path / "other").exists()


def test_remotes_do_not_know_of_each_other(ours, tmp_path):
    add(ours, make_bare(tmp_path / "backup.git"), "backup")
    push_to(ours, remote="origin")
    push_to(ours, remote="backup")
    assert {ref.split("/")[3] for ref in ours.list_refs(REMOTES)} == {"origin", "backup"}


def test_different_metadata_of_both_sides_are_joined(ours, theirs):
    rename_title(ours, "conv-001", "Login")
    tag(theirs, "conv-001", "v1", "main")
    branch(theirs, "conv-001", name="idea")
    push_to(ours)
    assert [row.status for row in push_to(theirs).conversations] == ["updated"]
    fetch_from(ours)
    for store in (ours, theirs):
        metadata = read_metadata(store, "conv-001")
        assert (metadata.title, set(metadata.tags)) == ("Login", {"v1"})
        assert {"main", "fix", "idea"} <= metadata.branches.keys()
    assert push_to(ours).unchanged == push_to(theirs).unchanged == 1


def test_of_two_titles_everybody_has_the_same_in_the_end(ours, theirs):
    rename_title(ours, "conv-001", "Login")
    rename_title(theirs, "conv-001", "Logout")
    rename_title(theirs, "conv-001", "Logout on Safari")
    push_to(ours)
    assert [row.status for row in push_to(theirs).conversations] == ["updated"]
    fetch_from(ours)
    for store in (ours, theirs):
        assert read_metadata(store, "conv-001").title == "Logout on Safari"
    assert push_to(ours).unchanged == push_to(theirs).unchanged == 1


def test_a_branch_that_was_renamed_elsewhere_is_renamed_here(ours, theirs):
    switch(theirs, "conv-001", "fix")
    rename_branch(ours, "conv-001", "fix", "repair")
    say(ours, "conv-001/repair", "more")
    push_to(ours)
    assert states(fetch_from(theirs))["repair"] == "moved"
    assert list_branch_tips(theirs, "conv-001") == list_branch_tips(ours, "conv-001")
    assert read_active_branch(theirs, "conv-001") == "repair"
    assert push_to(theirs).unchanged == 1


def test_two_branches_of_one_name_are_both_kept(ours, theirs):
    for store in (ours, theirs):
        branch(store, "conv-001", name="idea")
    say(ours, "conv-001/idea", "from carol")
    say(theirs, "conv-001/idea", "from dave")
    own = list_branch_tips(theirs, "conv-001")["idea"]
    push_to(ours)
    fetch_from(theirs)
    assert list_branch_tips(theirs, "conv-001")["idea"] == own
    push_to(theirs)
    fetch_from(ours)
    for store in (ours, theirs):
        tips = list_branch_tips(store, "conv-001")
        assert len(tips) == 4
        assert {texts(store, f"conv-001/{name}")[-1] for name in tips if name.startswith("idea")} == {
            "from carol",
            "from dave",
        }
    assert push_to(ours).unchanged == push_to(theirs).unchanged == 1


def test_a_fetch_reads_the_new_messages_and_not_the_old_ones(ours, bare, tmp_path, monkeypatch):
    history(ours, "main: " + " ".join(f"m{number}" for number in range(40)))
    push_to(ours)
    other = machine(tmp_path / "other", bare)
    fetch_from(other)
    say(ours, "conv-002/main", "news")
    push_to(ours)
    read = []
    original = ReceivedObjects.read
    monkeypatch.setattr(ReceivedObjects, "read", lambda self, oid: [read.append(oid), original(self, oid)][1])
    fetch_from(other)
    old = set(git(other, "rev-list", "conv-002/main~2").split())
    assert len(old & set(read)) == 1  # the root


def test_the_refs_of_many_conversations_are_read_once(ours, monkeypatch):
    for number in range(10):
        history(ours, f"main: c{number}")
    listed = []
    original = RefFiles.list_refs
    monkeypatch.setattr(
        RefFiles, "list_refs", lambda self, prefixes: [listed.append(prefixes), original(self, prefixes)][1]
    )
    assert len(push_to(ours).conversations) == 11
    assert len(listed) < 10


class _Batches:
    """Takes every batch, or refuses those with some refs, and has their sizes."""

    def __init__(self, refused=()):
        self.sizes = []
        self._refused = {f"refs/x/{each}" for each in refused}

    def push(self, batch):
        self.sizes.append(len(batch))
        return [PushStatus(each, "no" if each.ref in self._refused else None) for each in batch]


def _updates(number):
    return [RefUpdate(f"refs/x/{each}", None, "a" * 40) for each in range(number)]


@pytest.mark.parametrize(
    ("number", "sizes"),
    [
        (1, [1]),
        (400, [400]),
        (401, [400, 1]),
        (1000, [400, 600]),
        (10_000, [400, 800, 1600, 3200, 3200, 800]),
    ],
)
def test_batches_grow_because_each_push_looks_at_all_refs_of_the_remote(number, sizes):
    transport = _Batches()
    assert sum(map(len, send(transport, _updates(number)))) == number
    assert transport.sizes == sizes


def test_after_a_refusal_batches_are_small_again():
    transport = _Batches(refused=[500])
    statuses = [each for batch in send(transport, _updates(1800)) for each in batch]
    assert transport.sizes == [400, 800, 400, 200]
    assert [each.update.ref for each in statuses if each.reason] == ["refs/x/500"]


def test_the_words_of_the_largest_batch_fit_into_a_command():
    ref = f"refs/heads/scopes/v1/c/{'0' * 12}/202601/{'0' * 40}"
    update = len(f"--force-with-lease={ref}:{'0' * 40}") + len(f"{'0' * 40}:{ref}") + 2 * (1 + 8)  # ends and pointers
    assert MAX_BATCH * update < 1 << 20
