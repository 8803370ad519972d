"""Metadata that comes from a remote: what wins, what branches are called here, and what is refused."""

from __future__ import annotations

import pytest

from scopes import clock
from scopes.clock import now_milliseconds
from scopes.conversation.branch import branch, delete_tag, tag
from scopes.conversation.new_rename_delete import delete_branch, rename_branch, rename_title
from scopes.errors import Corrupt
from scopes.history.metadata import read_clocks, read_metadata, read_metadata_at, write_metadata
from scopes.history.names import list_branch_tips
from scopes.ids import BranchName, Oid
from scopes.model.conversation import branch_id
from scopes.store.objects import read_commit
from scopes.store.refs import meta_ref
from scopes.sync.join import join_metadata, receive_metadata, shared_tree
from scopes.sync.registers import MAX_CLOCK_AHEAD
from tests.support.random_ids import spread_ids
from tests.support.store import git
from tests.sync.test_join_laws import CONV, copy_objects, head, machines

__all__ = ["machines", "spread_ids"]
MACHINE = "0123456789ab"


@pytest.fixture
def pair(machines):
    """Two machines with the same conversation."""
    return machines()[:2]


def send(source, target):
    """Receive the metadata of one machine on another one; return what the target has then."""
    tree = shared_tree(source, head(source))
    copy_objects(target, source)
    copy_tree(source, target, tree)
    done = receive_metadata(target, head(target), tree, 7, set(list_branch_tips(target, CONV)))
    git(target, "update-ref", meta_ref(CONV), done.commit)
    return done


def copy_tree(source, target, oid):
    kind, data = source.read(oid)
    target.write(kind, data)
    for line in git(source, "ls-tree", "-r", "-t", oid).splitlines():
        target.write(*source.read(Oid(line.split()[2])))


def ids(store):
    return {name: branch_id(name, entry) for name, entry in read_metadata(store, CONV).branches.items()}


def test_the_last_change_wins_on_both_machines(pair):
    """P18."""
    first, second = pair
    rename_title(first, CONV, "a")
    send(first, second)
    rename_title(second, CONV, "b")
    send(second, first)
    assert [read_metadata(store, CONV).title for store in pair] == ["b", "b"]


def test_two_changes_at_once_end_with_the_same_one_everywhere(pair):
    first, second = pair
    rename_title(first, CONV, "a")
    rename_title(second, CONV, "b")
    send(first, second)
    send(second, first)
    assert len({read_metadata(store, CONV).title for store in pair}) == 1


def test_a_removed_tag_does_not_come_back(pair):
    first, second = pair
    tag(first, CONV, "v1")
    send(first, second)
    delete_tag(first, CONV, "v1")
    send(second, first)
    send(first, second)
    assert [read_metadata(store, CONV).tags for store in pair] == [{}, {}]


def test_what_says_nothing_new_changes_nothing(pair):
    first, second = pair
    tag(first, CONV, "v1")
    send(first, second)
    before = head(first), head(second)
    send(second, first)
    send(first, second)
    assert (head(first), head(second)) == before


def test_a_conversation_that_is_new_here_has_the_metadata_of_the_remote(pair):
    first, second = pair
    rename_title(first, CONV, "a")
    tree = shared_tree(first, head(first))
    copy_tree(first, second, tree)
    done = receive_metadata(second, None, tree, 7, ())
    assert read_metadata_at(second, done.commit).title == "a"
    assert done.names == {"name:main": "main"}


def test_branches_of_one_name_are_two_branches_and_each_machine_keeps_its_own_name(pair):
    """P18: no name of a branch here is taken by one from elsewhere."""
    for store in pair:
        branch(store, CONV, name="fix")
    own = [ids(store)["fix"] for store in pair]
    for source, target in (pair, pair[::-1]):
        send(source, target)
    for store, mine, other in zip(pair, own, own[::-1], strict=True):
        found = ids(store)
        assert found["fix"] == mine
        (name,) = [name for name, branch in found.items() if branch == other]
        assert name.startswith("fix-")
    assert shared_tree(pair[0], head(pair[0])) == shared_tree(pair[1], head(pair[1]))


def test_other_machines_know_a_branch_by_its_own_name(pair, machines):
    """The name that a branch has on one machine alone does not leave it."""
    first, second = pair
    for store in pair:
        branch(store, CONV, name="fix")
    send(first, second)
    local = next(name for name in ids(second) if name.startswith("fix-"))
    assert read_metadata(second, CONV).branches[local].name == "fix"
    third = machines()[2]
    copy_tree(second, third, shared_tree(second, head(second)))
    done = receive_metadata(third, None, shared_tree(second, head(second)), 7, ())
    assert sorted(name[:3] for name in done.names.values()) == ["fix", "fix", "mai"]


def test_a_rename_of_a_branch_that_has_a_name_of_this_machine_alone_is_for_all(pair):
    first, second = pair
    for store in pair:
        branch(store, CONV, name="fix")
    send(first, second)
    local = next(name for name in ids(second) if name.startswith("fix-"))
    git(second, "update-ref", f"refs/heads/conv-001/{local}", "refs/heads/conv-001/main")
    rename_branch(second, CONV, local, "better")
    assert "better" in send(second, first).names.values()


@pytest.mark.parametrize(("here", "there"), [("fix", "fix/deep"), ("fix/deep", "fix"), ("fix", "Fix")])
def test_names_that_conflict_as_refs_are_resolved_too(pair, here, there):
    first, second = pair
    branch(first, CONV, name=there)
    branch(second, CONV, name=here)
    done = send(first, second)
    assert here in done.names.values()
    assert there not in done.names.values()


def test_a_rename_elsewhere_renames_the_branch_here(pair):
    first, second = pair
    branch(first, CONV, name="fix")
    send(first, second)
    rename_branch(first, CONV, "fix", "better")
    done = send(first, second)
    assert set(done.names.values()) == {"main", "better"}
    assert ids(second) == ids(first)


def test_a_rename_on_both_machines_ends_with_one_name(pair):
    first, second = pair
    branch(first, CONV, name="fix")
    send(first, second)
    git(second, "update-ref", "refs/heads/conv-001/fix", "refs/heads/conv-001/main")
    rename_branch(first, CONV, "fix", "one")
    rename_branch(second, CONV, "fix", "two")
    send(first, second)
    send(second, first)
    assert ids(first).keys() == ids(second).keys()
    assert len(ids(first)) == 2


def test_a_branch_that_was_deleted_elsewhere_keeps_its_entry_where_it_exists(pair):
    first, second = pair
    branch(first, CONV, name="fix", purpose="analysis", switch=False)
    send(first, second)
    git(second, "update-ref", "refs/heads/conv-001/fix", "refs/heads/conv-001/main")
    delete_branch(first, CONV, "fix")
    send(first, second)
    assert read_metadata(second, CONV).branches["fix"].purpose == "analysis"


def test_a_branch_without_an_entry_keeps_its_name(pair):
    """A git command made it."""
    first, second = pair
    git(second, "update-ref", "refs/heads/conv-001/fix", "refs/heads/conv-001/main")
    branch(first, CONV, name="fix")
    done = send(first, second)
    assert "fix" not in done.names.values()


def test_the_directory_of_this_machine_stays_here(pair):
    first, second = pair
    for store, directory in zip(pair, ("/home/anna", "/home/bert"), strict=True):
        changed = write_metadata(store, head(store), {"directory": f"{directory}\n".encode()}, "x")
        git(store, "update-ref", meta_ref(CONV), changed)
    send(first, second)
    assert read_metadata(second, CONV).directory == "/home/bert"
    assert "anna" not in git(first, "ls-tree", "-r", shared_tree(first, head(first)))
    assert "directory" not in git(first, "ls-tree", "-r", "--name-only", shared_tree(first, head(first)))


def with_clock(store, number, register="title"):
    """Return metadata with a clock that somebody wrote."""
    changes = {"title": b"evil\n", f"clocks/{register}": f"{number} {MACHINE}\n".encode()}
    return read_commit(store, write_metadata(store, head(store), changes, "x")).tree


def test_a_clock_of_the_future_is_not_taken(pair):
    """Else nobody could change the value until then; a value that is not known here is taken without it."""
    first, _ = pair
    limit = now_milliseconds() + MAX_CLOCK_AHEAD
    good = receive_metadata(first, head(first), with_clock(first, limit), 0, ())
    assert (good.ahead, read_metadata_at(first, good.commit).title) == ((), "evil")
    late = with_clock(first, limit + 10**6)
    known = receive_metadata(first, head(first), late, 0, ())
    assert (known.commit, known.ahead) == (head(first), ("title",))
    new = receive_metadata(first, None, late, 0, ())
    assert (new.ahead, read_metadata_at(first, new.commit).title) == (("title",), "evil")
    assert "title" not in read_clocks(first, read_commit(first, new.commit).tree)
    assert receive_metadata(first, new.commit, late, 0, ()).commit == new.commit


def test_a_removal_of_the_future_of_what_was_never_here_is_nothing(pair):
    first, _ = pair
    tree = with_clock(first, now_milliseconds() + 2 * MAX_CLOCK_AHEAD, "tags/unknown")
    assert "tags" not in git(first, "ls-tree", "-r", receive_metadata(first, None, tree, 0, ()).commit)


def test_a_clock_of_the_future_that_is_known_already_is_kept(pair):
    """A machine whose clock was wrong once does not keep the others from joining."""
    first, _ = pair
    late = now_milliseconds() + 2 * MAX_CLOCK_AHEAD
    known = write_metadata(first, head(first), {"title": b"x\n", "clocks/title": f"{late} {MACHINE}\n".encode()}, "x")
    assert receive_metadata(first, known, with_clock(first, late), 0, ()).ahead == ()


def test_the_newest_of_two_titles_counts_whatever_the_machines_are_called(machines, monkeypatch):
    for newest in (0, 1):
        pair = machines()[:2]
        for moment, number in enumerate((1 - newest, newest)):
            monkeypatch.setattr(clock, "read_clock", lambda moment=moment: 10**18 + moment * 10**9)
            rename_title(pair[number], CONV, f"title {moment}")
        send(*pair)
        send(*pair[::-1])
        assert [read_metadata(store, CONV).title for store in pair] == ["title 1", "title 1"]


def test_a_change_that_has_seen_another_one_counts_though_its_clock_is_slow(pair, monkeypatch):
    first, second = pair
    rename_title(first, CONV, "early")
    send(first, second)
    monkeypatch.setattr(clock, "read_clock", lambda: 10**15)
    rename_title(second, CONV, "late")
    monkeypatch.undo()
    send(second, first)
    assert read_metadata(first, CONV).title == "late"


def test_clocks_of_older_versions_count_less_than_any_change_since(pair):
    first, second = pair
    old = write_metadata(first, head(first), {"title": b"old\n", "clocks/title": b"999 ffffffffffff\n"}, "x")
    git(first, "update-ref", meta_ref(CONV), old)
    rename_title(second, CONV, "new")
    send(first, second)
    assert read_metadata(second, CONV).title == "new"


def test_values_that_were_replaced_are_named_with_what_they_were(pair):
    first, second = pair
    rename_title(first, CONV, "first")
    rename_title(second, CONV, "second")
    tag(second, CONV, "v1", "main")
    delete_tag(second, CONV, "v1")
    found = send(second, first).replaced
    assert [(each.register, each.before, each.after) for each in found] == [("title", b"first\n", b"second\n")]


def test_a_damaged_clock_is_refused(pair):
    first, _ = pair
    tree = read_commit(first, write_metadata(first, head(first), {"clocks/title": b"many\n"}, "x")).tree
    with pytest.raises(Corrupt):
        receive_metadata(first, head(first), tree, 0, ())


def test_an_entry_that_cannot_be_read_is_kept_as_it_is(pair):
    first, _ = pair
    odd = write_metadata(first, head(first), {"branches/odd": b"[]"}, "x")
    assert git(first, "show", f"{shared_tree(first, odd)}:branches/odd") == "[]"
    assert join_metadata(first, odd, head(first)) == odd


def test_join_of_metadata_without_clocks_is_a_union(pair):
    """So are those of older versions and of imports."""
    first, _ = pair
    one = write_metadata(first, head(first), {"tags/a": b"x"}, "x")
    other = write_metadata(first, head(first), {"tags/b": b"x"}, "x")
    tree = read_commit(first, join_metadata(first, one, other)).tree
    assert {"tags/a", "tags/b"} <= set(git(first, "ls-tree", "-r", "--name-only", tree).split())
    assert BranchName("main") in read_metadata_at(first, join_metadata(first, one, other)).branches
