"""The metadata of a conversation as a state that can be joined: registers, each with a value and a clock.

Machines that know the same changes have the same state, whatever their local names of branches are. The register of a
branch is named by its id. Its value is its name and its entry, so that renames can be joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple, TypeAlias

from scopes.errors import Corrupt
from scopes.history.metadata import (
    BRANCHES,
    CLOCKS,
    NO_CLOCK,
    Clock,
    encode_clock,
    read_clocks,
    register_of_branch,
    walk_values,
)
from scopes.history.names import LONG_FORMS, is_whole_id
from scopes.ids import BranchName, Oid
from scopes.model.canonical_json import decode_component, encode_component
from scopes.model.conversation import branch_id, decode_branch_entry, encode_branch_entry, is_random_branch_id
from scopes.store.objects import BlobChange, Objects, read_blob, update_tree
from scopes.store.refs import RefNameConflicts
from scopes.sync.local_fields import LocalFields, add_local_fields, split_entry

MAX_CLOCK_AHEAD = 24 * 3_600_000  # milliseconds
_SHORT_ID = 6


class Register(NamedTuple):
    """The newest change of a register; when two are joined, the greater one wins.

    value: None if it was removed, which is less than any value
    name: for a branch, its name on every machine on which no other branch had that name first
    """

    clock: Clock
    value: bytes | None
    name: str = ""

    @property
    def order(self) -> tuple[Clock, bool, str, bytes]:
        """The sort key by which two changes of one register are compared."""
        return self.clock, self.value is not None, self.name, self.value or b""


State: TypeAlias = Mapping[str, Register]


class LocalBranch(NamedTuple):
    """The local values of a branch: its name on this machine, and the local fields of its entry."""

    name: BranchName
    fields: LocalFields


def read_state(objects: Objects, tree: Oid | None) -> dict[str, Register]:
    """Return the state that a metadata tree holds.

    Raises:
        Corrupt, NotFound: an object is damaged or missing.
    """
    if tree is None:
        return {}
    clocks = read_clocks(objects, tree)
    found = {register: Register(clock, None) for register, clock in clocks.items()}
    for path, oid in walk_values(objects, tree):
        register, value, name = path, read_blob(objects, oid), ""
        if path.startswith(BRANCHES):
            branch, name, value = _read_branch(path, value)
            register = register_of_branch(branch)
        change = Register(clocks.get(register, NO_CLOCK), value, name)
        found[register] = max(found.get(register, change), change, key=_order)
    return found


def _order(register: Register) -> tuple[Clock, bool, str, bytes]:
    return register.order


def _read_branch(path: str, data: bytes) -> tuple[str, BranchName, bytes]:
    """Return the id of a branch, its name on every machine, and its entry without that name and local fields."""
    name = BranchName(decode_component(path[len(BRANCHES) :]))
    try:
        stored = decode_branch_entry(data)
    except Corrupt:  # kept as it is
        return branch_id(name, None), name, data
    entry, local = split_entry(stored)
    shared = entry.name or name
    if entry.name is None and not local:
        return branch_id(shared, entry), shared, data
    return branch_id(shared, entry), shared, encode_branch_entry(replace(entry, name=None))


def join_states(*states: State) -> dict[str, Register]:
    """Return the state with the newest change of each register; the order and repetition of states do not matter."""
    joined: dict[str, Register] = {}
    for state in states:
        for register, change in state.items():
            joined[register] = max(joined.get(register, change), change, key=_order)
    return joined


def read_local_branches(objects: Objects, tree: Oid) -> dict[str, LocalBranch]:
    """Return the local names and fields of the branches of a metadata tree, by register."""
    found: dict[str, LocalBranch] = {}
    for path, oid in walk_values(objects, tree):
        if path.startswith(BRANCHES):
            data = read_blob(objects, oid)
            register = register_of_branch(_read_branch(path, data)[0])
            found[register] = LocalBranch(BranchName(decode_component(path[len(BRANCHES) :])), _read_local_fields(data))
    return found


def _read_local_fields(data: bytes) -> LocalFields:
    try:
        return split_entry(decode_branch_entry(data))[1]
    except Corrupt:
        return {}


def write_state(objects: Objects, state: State, here: Mapping[str, LocalBranch] | None = None) -> Oid:
    """Write a state as a metadata tree; `here` has the local names and fields of branches, by register.

    Equal arguments give the same tree.
    """
    files: dict[str, BlobChange] = {}
    if here is None:
        here = {register: LocalBranch(name, {}) for register, name in choose_names(state, {}).items()}
    for register, (clock, value, name) in state.items():
        if clock != NO_CLOCK:
            files[f"{CLOCKS}/{register}"] = encode_clock(clock)
        if value is not None and register in here:
            local = here[register]
            files[BRANCHES + encode_component(local.name)] = _with_local(value, name, local)
        elif value is not None:
            files[register] = value
    return update_tree(objects, None, files)


def _with_local(data: bytes, name: str, local: LocalBranch) -> bytes:
    """Return the entry of a branch with its local fields, and with its name on other machines if that differs."""
    if name == local.name and not local.fields:
        return data
    entry = add_local_fields(decode_branch_entry(data), local.fields)
    return encode_branch_entry(replace(entry, name=None if name == local.name else BranchName(name)))


def choose_names(state: State, names: Mapping[str, BranchName], taken: Iterable[str] = ()) -> dict[str, BranchName]:
    """Return a name for each branch of a state, by register; no two names conflict as refs.

    A branch keeps the name that it has in `names`. Others get their own name; if that conflicts with another one, or
    could be mistaken for a message id, the first digits of their id are added. Branches without an id of their own are
    named first, then the others in the order of their ids.
    """
    branches = {register: change for register, change in state.items() if _is_branch(register, change)}
    chosen = {register: names[register] for register in branches if register in names}
    conflicts = RefNameConflicts({*chosen.values(), *taken})
    for register in sorted(branches.keys() - chosen.keys(), key=lambda each: (branches[each].name, _rank(each))):
        chosen[register] = _free_name(BranchName(branches[register].name), register, conflicts)
        conflicts.add(chosen[register])
    return chosen


def _is_branch(register: str, change: Register) -> bool:
    return register.startswith(BRANCHES) and change.value is not None


def _rank(register: str) -> tuple[bool, str]:
    branch = decode_component(register[len(BRANCHES) :])
    return is_random_branch_id(branch), branch


def _free_name(name: BranchName, register: str, conflicts: RefNameConflicts) -> BranchName:
    if conflicts.find(name) is None and not is_misleading(name):
        return name
    digits = sha256(register.encode()).hexdigest()
    for length in range(_SHORT_ID, len(digits)):
        candidate = f"{name.replace('/', '-')}-{digits[:length]}"
        if conflicts.find(candidate) is None:
            return BranchName(candidate)
    raise Corrupt(f"no name is left for the branch {name!a}")


def branch_names(state: State) -> dict[str, BranchName]:
    """Return the names of the branches of a state, as they are on every machine, by id."""
    branches = (register for register, change in state.items() if _is_branch(register, change))
    return {decode_component(each[len(BRANCHES) :]): BranchName(state[each].name) for each in branches}


def without_jumps(known: State, received: State, now: int) -> tuple[dict[str, Register], tuple[str, ...]]:
    """Return a received state without clocks in the future, and the registers that had one, sorted.

    With such a clock nobody could change the value before that time. If the register is known here, the known value is
    kept; otherwise the value is accepted without a clock, so that every later change wins.

    known: the state that is here; a clock in the future that is already known is accepted
    now: in milliseconds
    """
    ahead = find_ahead(received, now)
    jumps = sorted(each for each in ahead if each not in known or received[each].clock > known[each].clock)
    taken = {each: received[each]._replace(clock=NO_CLOCK) for each in jumps if each not in known}
    return {**without_registers(received, jumps), **taken}, tuple(jumps)


def find_ahead(state: State, now: int) -> list[str]:
    """Return the registers of a state that were changed more than MAX_CLOCK_AHEAD after `now`, in milliseconds."""
    return [register for register, change in state.items() if change.clock.number > now + MAX_CLOCK_AHEAD]


def without_registers(state: State, registers: Iterable[str]) -> dict[str, Register]:
    """Return a state without these registers, which are local to this machine."""
    left_out = frozenset(registers)
    return {register: change for register, change in state.items() if register not in left_out}


def is_misleading(name: str) -> bool:
    """Return True for a name that no branch should have: of the form of a whole id, or of one of the long forms."""
    return is_whole_id(name) or name.startswith(LONG_FORMS)
