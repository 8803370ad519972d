"""What machines have purged, on a remote: a ref for each machine, with the list of `history.purged`.

refs/scopes/v1/purged/<machine>

Each machine moves its own ref only, so no push waits for another one; readers join all of them. Whoever can write to a
remote can put anything on a list: it is only offered, and removes nothing by itself.
"""

from __future__ import annotations

from typing import Final

from scopes.clock import new_id
from scopes.errors import Corrupt
from scopes.history.purged import decode_parts, format_list_commit, is_entry
from scopes.ids import Oid, OperationId
from scopes.lazy_patterns import compile_lazily
from scopes.store.machine import machine_id
from scopes.store.objects import BLOB, COMMIT, TREE, list_modes, parse_commit, parse_tree
from scopes.store.refs import LOCAL, PURGED
from scopes.store.repository import Objects, Repository, read_data
from scopes.store.transactions import exclusive_write
from scopes.sync.exact_commits import check_exact
from scopes.sync.git_transport import INCOMING, GitTransport, RefUpdate

ON_REMOTE: Final = "refs/scopes/v1/purged/"
_HERE: Final = f"{INCOMING}purged/"
REFSPEC: Final = f"{ON_REMOTE}*:{_HERE}*"
SENT: Final = f"{LOCAL}purged-sent/"  # what each remote has of the list of this machine
_SHOWN: Final = 100
_LEVELS: Final = 3  # a kind, two digits, and the rest
_MODES: Final = frozenset({b"100644", b"40000"})
_MACHINE = compile_lazily(r"[0-9a-f]{12}")
_HINT: Final = "see who wrote it to the remote"


def take_lists(incoming: dict[str, Oid]) -> dict[str, Oid]:
    """Take the lists out of what was fetched, and return their commits by the names of their refs."""
    return {ref[len(_HERE) :]: incoming.pop(ref) for ref in sorted(incoming) if ref.startswith(_HERE)}


def refspec_of(machine: str) -> str:
    """Return the refspec of the list of one machine."""
    return f"{ON_REMOTE}{machine}:{_HERE}{machine}"


def check_list(objects: Objects, machine: str, commit: Oid) -> set[Oid]:
    """Check a list that came from a remote; return all its objects.

    Raises:
        Corrupt, NotFound: it is not as scopes writes it.
    """
    if _MACHINE.fullmatch(machine) is None:
        raise Corrupt(f"{machine[:_SHOWN]!a} is not the name of a machine", hint=_HINT)
    kind, data = objects.read(commit)
    if kind != COMMIT or (parsed := parse_commit(commit, data)).parents:
        raise Corrupt("a list of what was purged is no commit without parents", hint=_HINT)
    check_exact(commit, data, format_list_commit(parsed.tree))
    found: set[Oid] = {commit}
    entries: set[Oid] = set()
    waiting = [("", parsed.tree, 0)]
    while waiting:
        path, oid, depth = waiting.pop()
        found.add(oid)
        tree = read_data(objects, oid, TREE)
        if depth >= _LEVELS or not list_modes(tree) <= _MODES:
            raise Corrupt("a list of what was purged has other files", hint=_HINT)
        for entry in parse_tree(tree).values():
            if entry.is_tree:
                waiting.append((f"{path}{entry.name}/", entry.oid, depth + 1))
            elif is_entry(path + entry.name):
                entries.add(entry.oid)
            else:
                raise Corrupt("a list of what was purged has other files", hint=_HINT)
    for oid in entries:
        decode_parts(read_data(objects, oid, BLOB))
    return found | entries


def find_list(repository: Repository) -> dict[str, Oid]:
    """Return the list of this store by its ref on a remote; nothing if nothing was purged here."""
    listed = repository.find_ref(PURGED)
    if listed is None:
        return {}
    with exclusive_write(repository):
        return {f"{ON_REMOTE}{machine_id(repository, OperationId(new_id()))}": Oid(listed)}


def push_list(repository: Repository, remote: str, machine: str, transport: GitTransport) -> RefUpdate | None:
    """Send the list of this store to a remote, if it has not got it; return what the remote took.

    Raises:
        Inaccessible: as `GitTransport.push`.
    """
    listed, sent = repository.find_ref(PURGED), repository.find_ref(SENT + remote)
    if listed is None or listed == sent:
        return None
    ref = f"{ON_REMOTE}{machine}"
    before = transport.list_refs(ref).get(ref)
    update = RefUpdate(ref, before, Oid(listed))
    if before == listed or transport.push([update])[0].reason is None:
        return update
    return None
