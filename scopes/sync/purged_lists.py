"""What machines have purged, on a remote: a ref for each machine, with the list of `history.purged`.

refs/scopes/v1/purged/<machine>

Each machine moves its own ref only, so no push waits for another one; readers join all of them. Whoever can write to a
remote can put anything on a list: it is only offered, and removes nothing by itself.
"""

from __future__ import annotations

from typing import Final

from scopes.errors import Corrupt
from scopes.history.purged import Purged, format_list_commit, is_entry, read_purged_tree
from scopes.ids import Oid
from scopes.purge.accept import find_offered, read_offered
from scopes.result import Note, plural
from scopes.store.objects import COMMIT, TREE, list_modes, parse_commit, parse_tree
from scopes.store.refs import LOCAL, PURGED
from scopes.store.repository import Objects, Repository, read_data
from scopes.sync.exact_commits import check_exact
from scopes.sync.git_transport import INCOMING, GitTransport, RefUpdate

ON_REMOTE: Final = "refs/scopes/v1/purged/"
_HERE: Final = f"{INCOMING}purged/"
REFSPEC: Final = f"{ON_REMOTE}*:{_HERE}*"
SENT: Final = f"{LOCAL}purged-sent/"  # what each remote has of the list of this machine
_LEVELS: Final = 3  # a kind, two digits, and the rest
_MODES: Final = frozenset({b"100644", b"40000"})


def take_lists(incoming: dict[str, Oid]) -> list[Oid]:
    """Take the lists out of what was fetched, and return their commits."""
    return [incoming.pop(ref) for ref in sorted(incoming) if ref.startswith(_HERE)]


def check_list(objects: Objects, commit: Oid) -> tuple[Purged, set[Oid]]:
    """Check a list that came from a remote; return it, and all its objects.

    Raises:
        Corrupt, NotFound: it is not as scopes writes it.
    """
    kind, data = objects.read(commit)
    if kind != COMMIT or (parsed := parse_commit(commit, data)).parents:
        raise Corrupt("a list of what was purged is no commit without parents", hint="see who wrote it to the remote")
    check_exact(commit, data, format_list_commit(parsed.tree))
    found: set[Oid] = {commit}
    waiting = [("", parsed.tree, 0)]
    while waiting:
        path, oid, depth = waiting.pop()
        found.add(oid)
        tree = read_data(objects, oid, TREE)
        if depth >= _LEVELS or not list_modes(tree) <= _MODES:
            raise Corrupt("a list of what was purged has other files", hint="see who wrote it to the remote")
        for entry in parse_tree(tree).values():
            if entry.is_tree:
                waiting.append((f"{path}{entry.name}/", entry.oid, depth + 1))
            elif is_entry(path + entry.name):
                found.add(entry.oid)
            else:
                raise Corrupt("a list of what was purged has other files", hint="see who wrote it to the remote")
    return read_purged_tree(objects, parsed.tree), found


def note_offers(repository: Repository) -> tuple[Note, ...]:
    """Return a note if something is here that was purged elsewhere."""
    messages, conversations = find_offered(repository, read_offered(repository))
    counts = ((len(messages), "message"), (len(conversations), "conversation"))
    named = " and ".join(f"{count} {plural(count, noun)}" for count, noun in counts if count)
    if not named:
        return ()
    verb = "was" if len(messages) + len(conversations) == 1 else "were"
    hint = "see what: scopes purge --accept --dry-run; remove it here, too: scopes purge --accept"
    return (Note(f"{named} {verb} purged elsewhere, and not here", hint),)


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
