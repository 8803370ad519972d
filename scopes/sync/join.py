"""Join the metadata of two machines: the newest change of every register wins, in any order and however often.

The joined commit depends only on the commits that it joins: its parents are sorted, its time is the latest of them, and
its subject is fixed.
A join of joins is the join of all of them, so machines that have the same commits have the same join.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from scopes.clock import now_milliseconds
from scopes.errors import Corrupt
from scopes.history.metadata import BRANCHES, Clock, register_of_branch
from scopes.ids import BranchName, Oid
from scopes.model.canonical_json import decode_component
from scopes.model.conversation import CONFLICT_RESOLUTION, branch_id, decode_branch_entry
from scopes.store.objects import COMMIT, Commit, Identity, Objects, format_commit, read_commit
from scopes.sync.local_fields import follow_renames
from scopes.sync.registers import (
    LocalBranch,
    State,
    choose_names,
    join_states,
    read_local_branches,
    read_state,
    without_jumps,
    without_registers,
    write_state,
)

LOCAL: Final = ("directory",)  # where the conversation was started: a path of this machine
_AUTHOR: Final = Identity("scopes", "scopes@systems.scopes")
_JOIN: Final = "join metadata"
RECEIVED: Final = "metadata from a remote"
_LOCAL_NAMES: Final = "names of branches on this machine"


class Replaced(NamedTuple):
    """A value that a newer one has replaced; `clock` is that of the older one, `after` is None if it was removed."""

    register: str
    clock: Clock
    before: bytes
    after: bytes | None


class JoinedMetadata(NamedTuple):
    """The metadata after a join, the local names of its branches by id, and the values that were replaced.

    ahead: the registers whose clocks were not accepted, because they are in the future
    clocks: the clocks that the branches had here before, by id
    """

    commit: Oid
    names: Mapping[str, BranchName]
    replaced: tuple[Replaced, ...] = ()
    ahead: tuple[str, ...] = ()
    clocks: Mapping[str, Clock] = MappingProxyType({})


def shared_tree(
    objects: Objects, metadata: Oid, *, choose_local: Callable[[State], Iterable[str]] = lambda _state: ()
) -> Oid:
    """Return the metadata tree for other machines: without local names of branches and other local values.

    Local values are the directory, `local_fields` of the entries of branches, the working branches of conflicts, and
    the registers that `choose_local` returns for the state.
    """
    state = read_state(objects, _tree_of(objects, metadata))
    working = {each for each, change in state.items() if each.startswith(BRANCHES) and _is_working_state(change.value)}
    return write_state(objects, without_registers(state, {*LOCAL, *working, *choose_local(state)}))


def _is_working_state(entry: bytes | None) -> bool:
    """Return True for the entry of a working branch of conflicts, which only the machine that resolves them has."""
    try:
        return entry is not None and decode_branch_entry(entry).purpose == CONFLICT_RESOLUTION
    except Corrupt:
        return False


def write_received(objects: Objects, tree: Oid, time: int) -> Oid:
    """Write metadata from a remote as a commit for `join_metadata`; equal arguments give the same commit."""
    return _write(objects, tree, (), time, RECEIVED)


def join_metadata(objects: Objects, ours: Oid, theirs: Oid) -> Oid:
    """Return the commit with the newest change of every register of two metadata commits.

    The order does not matter. If one of the two contains the other, it is returned. Branches have the names that they
    have on every machine, see `receive_metadata` for those of this one.

    Raises:
        Corrupt, NotFound: one of them is damaged.
    """
    leaves = {leaf.oid: leaf for commit in (ours, theirs) for leaf in _list_leaves(objects, commit)}
    states = {oid: read_state(objects, leaf.tree) for oid, leaf in leaves.items()}
    kept = sorted(_drop_contained(objects, leaves, states))
    joined = join_states(*states.values())
    if len(kept) == 1 and states[kept[0]] == joined:
        return kept[0]
    latest = max(leaves[oid].time for oid in kept)
    return _write(objects, write_state(objects, joined), kept, latest, _JOIN)


def receive_metadata(
    objects: Objects, ours: Oid | None, theirs: Oid, time: int, branches: Collection[BranchName]
) -> JoinedMetadata:
    """Join the metadata that a remote has with that of a conversation here; return `ours` if nothing is new in it.

    Branches keep the names that they have here, unless they were renamed elsewhere. A branch that exists here keeps its
    entry even if it was deleted elsewhere: a fetch deletes no branch. Clocks in the future are not accepted, see
    `without_jumps`.

    Args:
        objects: where the new commit is written.
        ours: the metadata commit; None for a conversation that is new here.
        theirs: the tree in the manifest.
        time: that of the manifest, in seconds.
        branches: the branches that the conversation has here.

    Raises:
        Corrupt, NotFound: one of them is damaged.
    """
    known = {} if ours is None else read_state(objects, _tree_of(objects, ours))
    received = without_registers(read_state(objects, theirs), LOCAL)
    received, ahead = without_jumps(known, received, now_milliseconds())
    local = {} if ours is None else read_local_branches(objects, _tree_of(objects, ours))
    here = {register: branch.name for register, branch in local.items()}
    without_entry = {*branches} - {*here.values()}
    here = {register_of_branch(branch_id(name, None)): name for name in without_entry} | here
    kept = {register: name for register, name in here.items() if name in branches}
    state = _keep_entries(join_states(known, received), known, kept)
    stay = {r: name for r, name in kept.items() if r in state and (r not in known or state[r].name == known[r].name)}
    names = choose_names(state, stay, [name for register, name in kept.items() if register not in state])
    tree = write_state(objects, state, _with_names(local, names))
    if ours is not None and tree == _tree_of(objects, ours):
        return JoinedMetadata(ours, _by_branch(names), ahead=ahead)
    replaced = tuple(_list_replaced(known, state))
    commit = write_received(objects, write_state(objects, received), time)
    joined = commit if ours is None else join_metadata(objects, ours, commit)
    if tree != _tree_of(objects, joined):
        joined = _write(objects, tree, (joined,), read_commit(objects, joined).time, _LOCAL_NAMES)
    clocks = {decode_component(r[len(BRANCHES) :]): known[r].clock for r in known if r.startswith(BRANCHES)}
    return JoinedMetadata(joined, _by_branch(names), replaced, ahead, clocks)


def _list_replaced(known: State, state: State) -> Iterator[Replaced]:
    for register, (clock, value, _) in sorted(known.items()):
        if value is not None and not register.startswith(BRANCHES) and state[register].value != value:
            yield Replaced(register, clock, value, state[register].value)


def _keep_entries(state: State, known: State, registers: Iterable[str]) -> State:
    """Return the state with the entries of branches that exist here and were removed elsewhere."""
    removed = [each for each in registers if each in known and known[each].value and state[each].value is None]
    return {**state, **{each: known[each]._replace(clock=state[each].clock) for each in removed}}


def _with_names(local: Mapping[str, LocalBranch], names: Mapping[str, BranchName]) -> dict[str, LocalBranch]:
    """Return the local names and fields of branches, after some of them were renamed."""
    renamed = {local[each].name: name for each, name in names.items() if each in local and local[each].name != name}
    fields = {register: follow_renames(branch.fields, renamed) for register, branch in local.items()}
    return {register: LocalBranch(name, fields.get(register, {})) for register, name in names.items()}


def _by_branch(names: Mapping[str, BranchName]) -> dict[str, BranchName]:
    return {decode_component(register[len(BRANCHES) :]): name for register, name in names.items()}


def _list_leaves(objects: Objects, commit: Oid) -> list[Commit]:
    """Return a commit, or what it joins if it is a join."""
    found = read_commit(objects, commit)
    if found.subject != _JOIN or not found.parents:
        return [found]
    return [leaf for parent in found.parents for leaf in _list_leaves(objects, parent)]


def _drop_contained(objects: Objects, leaves: Mapping[Oid, Commit], states: Mapping[Oid, State]) -> set[Oid]:
    """Return the commits that no other one contains: as an ancestor or, if it came from a remote, in its state."""
    kept = leaves.keys() - _walk_ancestors(objects, leaves.values())
    received = {oid for oid in kept if leaves[oid].subject == RECEIVED and not leaves[oid].parents}

    def contains(other: Oid, oid: Oid) -> bool:
        if join_states(states[other], states[oid]) != states[other]:
            return False
        return other not in received or states[other] != states[oid] or other < oid

    return {
        oid for oid in kept if oid not in received or not any(contains(other, oid) for other in kept if other != oid)
    }


def _walk_ancestors(objects: Objects, commits: Iterable[Commit]) -> set[Oid]:
    """Return all commits below some commits."""
    found: set[Oid] = set()
    waiting = [parent for commit in commits for parent in commit.parents]
    while waiting:
        oid = waiting.pop()
        if oid not in found:
            found.add(oid)
            waiting += read_commit(objects, oid).parents
    return found


def _tree_of(objects: Objects, commit: Oid) -> Oid:
    return read_commit(objects, commit).tree


def _write(objects: Objects, tree: Oid, parents: Iterable[Oid], time: int, subject: str) -> Oid:
    data = format_commit(tree=tree, parents=parents, author=_AUTHOR, time=time, subject=subject)
    return objects.write(COMMIT, data)
