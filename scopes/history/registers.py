"""Metadata as registers, each with a clock and the machine that wrote it last, so that two machines can be joined.

A register is a file of the metadata, such as `title`, or a branch: the entry of a branch belongs to the id of the
branch, because its name can change. Beside the files is `clocks/<file>`, for a branch `clocks/branches/<id>`, with one
line: the clock and the machine. A change has the time in milliseconds since 1970 as its clock, or that of the change
before plus 1 if that is greater: so the newest change counts if the clocks of the machines are right, and one that has
seen another in any case. A register without a clock has clock 0 and no machine: an import wrote it, or the command that
created its conversation or branch, which nobody else can have written. A clock without a value means that the value was
removed.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from typing import NamedTuple

from scopes.clock import now_milliseconds
from scopes.errors import Corrupt
from scopes.ids import BranchName, Oid
from scopes.lazy_patterns import compile_lazily
from scopes.model.conversation import branch_id, decode_branch_entry, is_random_branch_id
from scopes.model.path_encoding import decode_component, encode_component
from scopes.store.objects import BLOB, is_hash_of
from scopes.store.repository import Objects, read_tree
from scopes.store.trees import BlobChange, find_blob, find_entry, read_blob, update_tree, walk_blobs

CLOCKS = "clocks"
BRANCHES = "branches/"
_NOBODY = "0" * 12
_LINE = compile_lazily(rb"(0|[1-9][0-9]{0,17}) ([0-9a-f]{12})\n")


class Clock(NamedTuple):
    """When a register was changed, in milliseconds, and the machine that did it last; empty if no machine is known."""

    number: int
    machine: str


NO_CLOCK = Clock(0, "")


def encode_clock(clock: Clock) -> bytes:
    """Encode a clock as the content of its file."""
    return f"{clock.number} {clock.machine}\n".encode()


def decode_clock(data: bytes) -> Clock:
    """Decode the content of a clock file.

    Raises:
        Corrupt: it is damaged.
    """
    match = _LINE.fullmatch(data)
    if match is None:
        raise Corrupt("a clock of the metadata is damaged")
    return Clock(int(match[1]), match[2].decode())


def walk_values(objects: Objects, tree: Oid) -> Iterator[tuple[str, Oid]]:
    """Yield path and blob of every file of a metadata tree but the clocks, which most readers do not need."""
    for entry in read_tree(objects, tree).values():
        if not entry.is_tree:
            yield entry.name, entry.oid
        elif entry.name != CLOCKS:
            yield from walk_blobs(objects, entry.oid, f"{entry.name}/")


def read_clocks(objects: Objects, tree: Oid) -> dict[str, Clock]:
    """Return the clocks of a metadata tree by register.

    Raises:
        Corrupt: one is damaged.
    """
    entry = find_entry(objects, tree, CLOCKS)
    blobs = walk_blobs(objects, entry.oid) if entry is not None and entry.is_tree else ()
    found: dict[str, Clock] = {}
    for path, oid in blobs:
        try:
            found[path] = decode_clock(read_blob(objects, oid))
        except Corrupt as error:
            raise Corrupt(f"the clock of {path!a} is damaged", hint="change its value: it gets a new clock") from error
    return found


def register_of_branch(branch: str) -> str:
    """Return the register of a branch, by its id."""
    return BRANCHES + encode_component(branch)


def branch_of_file(path: str, data: bytes) -> str:
    """Return the id of the branch whose entry is in a file; one that cannot be read has that of its name."""
    name = BranchName(decode_component(path[len(BRANCHES) :]))
    try:
        return branch_id(name, decode_branch_entry(data))
    except Corrupt:
        return branch_id(name, None)


def has_branch(objects: Objects, tree: Oid, branch: str) -> bool:
    """Return True if a metadata tree has an entry with the id of a branch that was renamed.

    What renames a branch writes a clock; without clocks no file is read.
    """
    if find_entry(objects, tree, f"{CLOCKS}/{BRANCHES.rstrip('/')}") is None:
        return False
    entry = find_entry(objects, tree, BRANCHES.rstrip("/"))
    blobs = walk_blobs(objects, entry.oid, BRANCHES) if entry is not None and entry.is_tree else ()
    return any(branch_of_file(path, read_blob(objects, oid)) == branch for path, oid in blobs)


def clocks_of_edit(
    objects: Objects,
    tree: Oid | None,
    changes: Mapping[str, BlobChange],
    machine: Callable[[], str],
    *,
    original: Container[str] = (),
) -> dict[str, BlobChange]:
    """Return the clock files for changes that this machine makes to a metadata tree; None for no tree yet.

    The values of the paths in `original` come from a source, or create the conversation: every machine has the same, so
    their registers have a clock only if they had one before. So it is for a branch that is created with its own id.
    """
    written: dict[str, BlobChange] = {}
    for register, is_edit in sorted(_changed_registers(objects, tree, changes, original).items()):
        file = f"{CLOCKS}/{register}"
        data = None if tree is None else find_blob(objects, tree, file)
        if data is not None or is_edit:
            before = _decode_any_clock(data)
            written[file] = encode_clock(Clock(max(before.number + 1, now_milliseconds()), machine()))
    return written


def advance_clocks(objects: Objects, tree: Oid, folder: str, changed: Container[Oid]) -> Oid:
    """Return a tree in which the registers of a folder that have one of some blobs have a clock greater by 1.

    Whoever changes a value in the same way writes the same clock, and the value before does not come back with a join.

    folder: it may be below others, and the clocks are beside it
    """
    entry = find_entry(objects, tree, folder.rstrip("/"))
    above, _, name = folder.rstrip("/").rpartition("/")
    changes: dict[str, BlobChange] = {}
    for path, blob in walk_blobs(objects, entry.oid) if entry is not None and entry.is_tree else ():
        if blob in changed:
            file = "/".join(filter(None, (above, CLOCKS, name, path)))
            clock = _decode_any_clock(find_blob(objects, tree, file))
            changes[file] = encode_clock(Clock(clock.number + 1, clock.machine or _NOBODY))
    return update_tree(objects, tree, changes) if changes else tree


def advance_clock(objects: Objects, tree: Oid, register: str, *, top: str = "") -> Oid:
    """Return a tree in which a register has a clock greater by 1, as `advance_clocks` does.

    top: the folder that the metadata are in, with a slash
    """
    file = f"{top}{CLOCKS}/{register}"
    clock = _decode_any_clock(find_blob(objects, tree, file))
    return update_tree(objects, tree, {file: encode_clock(Clock(clock.number + 1, clock.machine or _NOBODY))})


def _decode_any_clock(data: bytes | None) -> Clock:
    """Decode a clock that is written anew; a damaged one must not keep the user from changing the value."""
    match = None if data is None else _LINE.fullmatch(data)
    return NO_CLOCK if match is None or data is None else decode_clock(data)


def _changed_registers(
    objects: Objects, tree: Oid | None, changes: Mapping[str, BlobChange], original: Container[str]
) -> dict[str, bool]:
    """Return the registers whose values change, and for each whether it needs a clock if it had none."""
    found: dict[str, bool] = {}
    created: list[str] = []
    for path, change in changes.items():
        entry = None if tree is None else find_entry(objects, tree, path)
        old = None if entry is None or entry.is_tree else entry.oid
        if _is_same(old, change):
            continue
        if not path.startswith(BRANCHES):
            found[path] = path not in original
            continue
        if old is not None:
            found[register_of_branch(branch_of_file(path, read_blob(objects, old)))] = path not in original
        if change is not None:
            data = change if isinstance(change, bytes) else read_blob(objects, change)
            branch = branch_of_file(path, data)
            register = register_of_branch(branch)
            if is_random_branch_id(branch):
                created.append(register)  # unless another path had it, from which it was renamed
            else:
                found[register] = found.get(register, False) or path not in original
    return dict.fromkeys(created, False) | found


def _is_same(old: Oid | None, change: BlobChange) -> bool:
    if old is None or change is None:
        return old is change
    return is_hash_of(old, BLOB, change) if isinstance(change, bytes) else change == old
