"""The purge lists on a remote: one ref for each machine, with its list of what was purged (`history.purged`).

refs/scopes/v1/purged/<machine>

Each machine moves only its own ref, so no push waits for another one; readers join all lists. Whoever can write to a
remote can put anything on a list, so lists are only offers and remove nothing by themselves. The lists of a remote have
size limits, and no list has a directory twice, so reading one takes work in proportion to what was sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from scopes.clock import new_id
from scopes.errors import Corrupt, NotFound
from scopes.history.sources import decode_parts, format_list_commit, is_entry
from scopes.ids import Oid, OperationId
from scopes.lazy_patterns import compile_lazily
from scopes.store.config import machine_id
from scopes.store.git_program import ReceivedObjects
from scopes.store.objects import BLOB, COMMIT, TREE, Objects, list_modes, parse_commit, parse_tree, read_data
from scopes.store.refs import LOCAL, PURGED
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write
from scopes.sync.exact_commits import check_exact
from scopes.sync.git_transport import INCOMING, GitTransport, RefUpdate

ON_REMOTE: Final = "refs/scopes/v1/purged/"
_HERE: Final = f"{INCOMING}purged/"
REFSPEC: Final = f"{ON_REMOTE}*:{_HERE}*"
MAX_ENTRIES: Final = 1_000_000  # of all lists of a remote: they are read as a whole, some hundred bytes for each entry
MAX_MACHINES: Final = 200  # each list is a ref here that every command looks at
SENT: Final = f"{LOCAL}purged-sent/"  # what each remote has of the list of this machine
_SHOWN: Final = 100
_LEVELS: Final = 3  # a kind, two digits, and the rest
_MODES: Final = frozenset({b"100644", b"40000"})
_MACHINE = compile_lazily(r"[0-9a-f]{12}")
_HINT: Final = "see who wrote it to the remote"


def take_lists(incoming: dict[str, Oid]) -> dict[str, Oid]:
    """Remove the lists from the fetched refs, and return their commits by the names of their refs."""
    return {ref[len(_HERE) :]: incoming.pop(ref) for ref in sorted(incoming) if ref.startswith(_HERE)}


def refspec_of(machine: str) -> str:
    """Return the refspec of the list of one machine."""
    return f"{ON_REMOTE}{machine}:{_HERE}{machine}"


class CheckedLists(NamedTuple):
    """The objects of the lists that passed the checks, and the errors of the others by machine."""

    objects: set[Oid]
    refused: dict[str, Corrupt]


def check_lists(received: ReceivedObjects, lists: Mapping[str, Oid], known: Mapping[str, str | None]) -> CheckedLists:
    """Check the lists of a remote, by machine; `known` are those that it had before, which are read first.

    They are read again only if there is a new one, because all of them together have a limit.
    """
    found = CheckedLists(set(), {})
    new = {machine for machine, oid in lists.items() if oid != known.get(machine) or received.is_new(oid)}
    left = MAX_ENTRIES
    for number, machine in enumerate(sorted(lists, key=lambda each: (each in new, each))):
        if number >= MAX_MACHINES:
            problem = f"more than {MAX_MACHINES} machines have lists of what was purged"
            found.refused[machine] = Corrupt(problem, hint=_HINT)
            continue
        if not new:
            continue
        try:
            objects, entries = check_list(received, machine, lists[machine], left)
            found.objects.update(objects)
            left -= entries
        except (Corrupt, NotFound) as error:
            found.refused[machine] = error if isinstance(error, Corrupt) else Corrupt(error.message)
    return found


def check_list(objects: Objects, machine: str, commit: Oid, most: int = MAX_ENTRIES) -> tuple[set[Oid], int]:
    """Check a list from a remote; return the ids of all its objects, and the number of its entries.

    Raises:
        Corrupt, NotFound: it is not as scopes writes it, or has more entries than `most`.
    """
    if _MACHINE.fullmatch(machine) is None:
        raise Corrupt(f"{machine[:_SHOWN]!a} is not the name of a machine", hint=_HINT)
    kind, data = objects.read(commit)
    if kind != COMMIT or (parsed := parse_commit(commit, data)).parents:
        raise Corrupt("a list of what was purged is no commit without parents", hint=_HINT)
    check_exact(commit, data, format_list_commit(parsed.tree))
    trees: set[Oid] = set()
    blobs: set[Oid] = set()
    entries = 0
    waiting = [("", parsed.tree, 0)]
    while waiting:
        path, oid, depth = waiting.pop()
        for name, child, is_tree in parse_tree(_read_level(objects, oid, depth, trees)).values():
            if is_tree:
                waiting.append((f"{path}{name}/", child, depth + 1))
                continue
            blobs.add(child)
            entries += 1
            if not is_entry(path + name):
                raise Corrupt("a list of what was purged has other files", hint=_HINT)
            if entries > most:
                raise Corrupt(f"the lists of what was purged have more than {MAX_ENTRIES:,} entries", hint=_HINT)
    for oid in blobs:
        decode_parts(read_data(objects, oid, BLOB))
    return {commit} | trees | blobs, entries


def _read_level(objects: Objects, oid: Oid, depth: int, seen: set[Oid]) -> bytes:
    """Read a tree of a list and add it to `seen`; no two trees of a valid list are equal."""
    data = read_data(objects, oid, TREE)
    if oid in seen or depth >= _LEVELS or (depth and not data) or not list_modes(data) <= _MODES:
        raise Corrupt("a list of what was purged has other files, or a directory twice", hint=_HINT)
    seen.add(oid)
    return data


def find_list(repository: Repository) -> dict[str, Oid]:
    """Return the commit of the list of this store by its ref on a remote; empty if nothing was purged here."""
    listed = repository.find_ref(PURGED)
    if listed is None:
        return {}
    with exclusive_write(repository):
        return {f"{ON_REMOTE}{machine_id(repository.config, OperationId(new_id()))}": Oid(listed)}


def push_list(repository: Repository, machine: str, transport: GitTransport) -> RefUpdate | None:
    """Push the list of this store to a remote unless it already has it; return the update, made or not needed.

    Return None if this store has no list, or if the remote refused it.

    The remote is contacted: it may have lost the list, because it was emptied or restored.

    Raises:
        Inaccessible: as `GitTransport.push`.
    """
    listed = repository.find_ref(PURGED)
    if listed is None:
        return None
    ref = f"{ON_REMOTE}{machine}"
    before = transport.list_refs(ref).get(ref)
    update = RefUpdate(ref, before, Oid(listed))
    if before == listed or transport.push([update])[0].reason is None:
        return update
    return None
