"""P18: laws of joining: whoever joins what in which order, machines that have all changes have the same metadata.

Three machines, each with a store of its own, change, undo and join at random, as people do; at the end all have all.
"""

from __future__ import annotations

import shutil
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.conversation.branch import branch, delete_tag, tag
from scopes.conversation.new_rename_delete import delete_branch, new, rename_branch, rename_title
from scopes.conversation.undo import undo
from scopes.errors import ScopesError
from scopes.history.metadata import read_metadata_at
from scopes.history.names import find_root_commit
from scopes.history.transaction import RefTransaction
from scopes.ids import Oid
from scopes.store.objects import COMMIT, TREE, parse_commit, parse_tree, read_commit
from scopes.store.refs import REMOTES, meta_ref
from scopes.store.transactions import exclusive_write
from scopes.sync.join import join_metadata, shared_tree, write_received
from scopes.sync.registers import join_states, read_state, without_registers, write_state
from tests.support.examples import examples
from tests.support.random_ids import spread_ids
from tests.support.store import git, make_store, open_store

__all__ = ["spread_ids"]
CONV = "conv-001"
NAMES = st.sampled_from(["fix", "try", "fix/deep", "Fix"])
WORDS = st.sampled_from(["one", "two", ""])
STEPS = st.one_of(
    st.tuples(st.just("title"), WORDS),
    st.tuples(st.just("tag"), NAMES),
    st.tuples(st.just("untag"), NAMES),
    st.tuples(st.just("branch"), NAMES),
    st.tuples(st.just("rename"), NAMES, NAMES),
    st.tuples(st.just("delete"), NAMES),
    st.tuples(st.just("undo")),
    st.tuples(st.just("join"), st.integers(0, 2)),
)
HISTORIES = st.lists(st.tuples(st.integers(0, 2), STEPS), max_size=14)
SLOW = settings(max_examples=examples(96), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def undo_change(store, conversation):
    """Undo the newest change, but not the creation of the conversation."""
    if undo(store, conversation=conversation, dry_run=True).target.kind != "new":
        undo(store, conversation=conversation)


COMMANDS = {
    "undo": undo_change,
    "title": rename_title,
    "tag": tag,
    "untag": delete_tag,
    "branch": lambda store, conversation, name: branch(store, conversation, name=name),
    "rename": rename_branch,
    "delete": delete_branch,
}


@pytest.fixture
def machines(tmp_path):
    """Return a function that makes three stores with the same conversation, each with its own machine id."""
    numbers = iter(range(1000))

    def make():
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        first = make_store(folder / "0.git")
        new(first, title="zero")
        for number in (1, 2):
            shutil.copytree(first.path, folder / f"{number}.git")
        stores = [open_store(folder / f"{number}.git") for number in range(3)]
        root = find_root_commit(stores[0], CONV)
        git(stores[0], "update-ref", f"{REMOTES}origin/{root}", root)  # its undo is a new change
        return stores

    return make


def head(store):
    """Return the metadata commit of the conversation."""
    return Oid(store.find_ref(meta_ref(CONV)))


def run(stores, machine, step):
    """Let a machine do one thing; what the store refuses changes nothing."""
    verb, *arguments = step
    if verb == "join":
        take(stores[machine], stores[arguments[0]])
    else:
        with suppress(ScopesError):
            COMMANDS[verb](stores[machine], CONV, *arguments)


def copy_objects(store, other):
    """Copy the metadata of another store, as a fetch does."""
    waiting = [head(other)]
    while waiting:
        oid = waiting.pop()
        if not store.has(oid):
            kind, data = other.read(oid)
            store.write(kind, data)
            if kind == COMMIT:
                commit = parse_commit(oid, data)
                waiting += [commit.tree, *commit.parents]
            elif kind == TREE:
                waiting += [entry.oid for entry in parse_tree(data).values()]


def take(store, other):
    """Join the metadata of another machine into that of a store."""
    copy_objects(store, other)
    with exclusive_write(store):
        tx = RefTransaction(store)
        tx.move_ref(meta_ref(CONV), head(store), join_metadata(store, head(store), head(other)))
        if tx:
            tx.commit("fetch", "take from another machine")


def drawn(machines, history):
    """Return one store that has the metadata of three machines after a history, and their commits."""
    stores = machines()
    for machine, step in history:
        run(stores, machine, step)
    for other in stores[1:]:
        copy_objects(stores[0], other)
    return stores[0], [head(store) for store in stores]


@SLOW
@given(history=HISTORIES)
def test_machines_that_have_everything_have_the_same_commit(machines, history):
    stores = machines()
    for machine, step in history:
        run(stores, machine, step)
    for turn in range(2):
        for machine in (0, 1, 2) if turn == 0 else (2, 1, 0):
            for other in range(3):
                take(stores[machine], stores[other])
    heads = {head(store) for store in stores}
    assert len({read_commit(stores[0], oid).tree for oid in heads if stores[0].has(oid)}) == 1
    assert len(heads) == 1


@SLOW
@given(history=HISTORIES)
def test_the_order_of_joins_makes_no_difference(machines, history):
    """P18: commutative, associative and idempotent, commit by commit."""
    store, (a, b, c) = drawn(machines, history)
    left = join_metadata(store, join_metadata(store, a, b), c)
    assert join_metadata(store, c, join_metadata(store, b, a)) == left
    assert join_metadata(store, join_metadata(store, a, c), b) == left
    assert join_metadata(store, left, b) == left
    assert join_metadata(store, left, left) == left
    assert join_metadata(store, a, a) == a


@SLOW
@given(history=HISTORIES)
def test_trees_alone_join_by_the_same_laws(machines, history):
    """A manifest has the tree, and not the commits that led to it."""
    store, commits = drawn(machines, history)
    a, b, c = (read_state(store, read_commit(store, oid).tree) for oid in commits)
    joined = write_state(store, join_states(a, b, c))
    assert write_state(store, join_states(c, join_states(b, a))) == joined
    assert write_state(store, read_state(store, joined)) == joined
    received = [write_received(store, read_commit(store, oid).tree, 0) for oid in commits]
    whole = received[0]
    for oid in received[1:]:
        whole = join_metadata(store, whole, oid)
    assert read_commit(store, join_metadata(store, joined_commit(store, commits), whole)).tree == joined


def joined_commit(store, commits):
    first, second, third = commits
    return join_metadata(store, first, join_metadata(store, second, third))


@SLOW
@given(history=HISTORIES)
def test_what_goes_to_other_machines_is_the_same_for_all_of_them(machines, history):
    store, commits = drawn(machines, history)
    joined = joined_commit(store, commits)
    assert shared_tree(store, joined) == shared_tree(store, write_received(store, shared_tree(store, joined), 5))


@SLOW
@given(history=HISTORIES)
def test_no_branch_is_lost_and_none_has_the_name_of_another(machines, history):
    """P18: branches of the same name on two machines are two branches after a join."""
    store, commits = drawn(machines, history)
    before = [read_state(store, read_commit(store, oid).tree) for oid in commits]
    joined = join_states(*before)
    names = read_metadata_at(store, joined_commit(store, commits)).branches
    living = [each for each, change in joined.items() if each.startswith("branches/") and change.value is not None]
    assert len(names) == len(living)
    folded = [name.casefold() for name in names]
    assert len(set(folded)) == len(folded)
    assert not any(other.startswith(f"{name}/") for name in folded for other in folded)


@SLOW
@given(history=HISTORIES)
def test_without_removed_names_what_leaves_is_a_part_of_the_whole(machines, history):
    """A removed name that no remote has may stay here: whoever joins the rest and the whole has the whole."""
    store, commits = drawn(machines, history)
    ours, theirs, _ = (read_state(store, read_commit(store, oid).tree) for oid in commits)
    part = without_registers(ours, [register for register, change in ours.items() if change.value is None])
    assert join_states(part, ours) == ours
    assert join_states(join_states(theirs, part), ours) == join_states(theirs, ours)
    assert join_states(part, theirs).items() >= {each: theirs[each] for each in theirs.keys() - part.keys()}.items()
