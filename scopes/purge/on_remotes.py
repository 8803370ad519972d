"""Ref values of remotes that still have content which was purged here, in a file of the store.

The file has only ids of commits. A push replaces exactly these values, and then removes them from the file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from shlex import quote
from typing import Final, NamedTuple, TypeAlias

from scopes.clock import format_seconds
from scopes.errors import NotFound
from scopes.ids import Oid
from scopes.model.conversation import MANIFEST_FILE, decode_manifest
from scopes.model.operation import RefChange
from scopes.purge.being_sent import read_being_sent
from scopes.purge.purged_values import add_purged_values, list_replaced
from scopes.store import refs
from scopes.store.config import read_addresses, read_gone, read_json, read_texts, write_json
from scopes.store.objects import find_blob, read_commit
from scopes.store.operations import NULL_OID, walk_moves
from scopes.store.repository import Repository

FILE: Final = "purged-on-remotes.json"
Values: TypeAlias = Mapping[str, Mapping[str, str]]
"""Manifests that remotes still have, by name of the remote and ref there, which ends with the root commit."""

CONVERSATIONS: Final = "refs/scopes/v1/c/"
SOURCES_THERE: Final = "refs/scopes/v1/s/"  # the original files of a conversation, by the same names
_SOURCES_HERE: Final = "refs/scopes/sources/", refs.REMOTE_SOURCES
NO_COUNTS: Final[Mapping[str, int]] = {}
_SERVERS: Final = {
    "github.com": "ask GitHub Support to run garbage collection and to delete cached views, and delete forks",
    "gitlab.com": "run housekeeping (Settings > Repository > Repository cleanup), and delete forks",
    "bitbucket.org": "ask Atlassian Support to run garbage collection, and delete forks",
}
_OWN_SERVER: Final = "on the server: git reflog expire --expire=now --all && git gc --prune=now; and delete its backups"


class RemoteCopy(NamedTuple):
    """A remote that still has purged content: its name and address, how many conversations, and what to do there."""

    remote: str
    address: str
    conversations: int
    push: str
    server: str


def read_values(store: str) -> dict[str, dict[str, str]]:
    """Return the values with purged content that remotes still have, by name of the remote and ref there.

    Raises:
        Corrupt: the file is damaged.
    """
    return read_texts(store, FILE, "remotes")


def add_values(repository: Repository, changes: Sequence[RefChange], rewritten: Collection[Oid]) -> None:
    """Record the remotes' values of conversations whose manifests are rewritten here; older values are kept.

    Values that are being pushed are included. `rewritten` are the commits that are rewritten or removed.
    """
    known, still_there = read_values(repository.path), still_there_of(repository)
    replaced: dict[str, set[Oid]] = {}
    for change in changes:
        remote, _, root = change.ref.removeprefix(refs.REMOTES).removeprefix(refs.REMOTE_SOURCES).partition("/")
        if change.old is None or not change.ref.startswith((refs.REMOTES, refs.REMOTE_SOURCES)):
            continue
        manifest = repository.raw_ref(f"{refs.REMOTES}{remote}/{root}")
        if manifest is not None:
            ref = _ref_on_remote(repository, Oid(manifest), Oid(root))
            if change.ref.startswith(refs.REMOTE_SOURCES):
                ref = SOURCES_THERE + ref.removeprefix(CONVERSATIONS)
            earlier = _walk_earlier_sets(repository, change)
            replaced.setdefault(ref, set()).update(list_replaced(repository, change.old, change.new), earlier)
            if still_there(change.ref):
                known.setdefault(remote, {}).setdefault(ref, change.old)
    has_sources = any(change.ref.startswith(_SOURCES_HERE) for change in changes)
    for remote, sent in read_being_sent(repository.path).items():
        for ref, value in sent.items():
            if (has_sources and ref.startswith(SOURCES_THERE)) or _is_above(repository, Oid(value), rewritten):
                replaced.setdefault(ref, set()).add(Oid(value))
                known.setdefault(remote, {}).setdefault(ref, value)
    add_purged_values(repository, replaced)
    _write(repository, known)


def _is_above(repository: Repository, value: Oid, rewritten: Collection[Oid]) -> bool:
    """Return True if a manifest without a ref has a rewritten commit in its history, or is missing."""
    try:
        return any(parent in rewritten for parent in read_commit(repository, value).parents)
    except NotFound:
        return True


def keep_value(repository: Repository, remote: str, ref: str, value: Oid) -> None:
    """Record a value that a remote accepted and that was purged meanwhile; call it under the exclusive lock."""
    add_purged_values(repository, {ref: [value]})
    known = read_values(repository.path)
    known.setdefault(remote, {})[ref] = value
    _write(repository, known)


def _walk_earlier_sets(repository: Repository, change: RefChange) -> Iterator[Oid]:
    """Yield earlier values of original files on a remote, from the reflog: a set does not name the one before it."""
    if change.ref.startswith(refs.REMOTE_SOURCES):
        yield from (move.new for move in walk_moves(repository, change.ref) if move.new not in {change.new, NULL_OID})


def still_there_of(repository: Repository) -> Callable[[str], bool]:
    """Return a function that is True for a tracking ref whose conversation or original files the remote still has.

    It is False for a manifest if a fetch has seen that the conversation was deleted there.
    """
    gone = {f"{refs.REMOTES}{name}/{root}" for name, roots in read_gone(repository.path).items() for root in roots}
    return lambda ref: ref.startswith((refs.REMOTES, refs.REMOTE_SOURCES)) and ref not in gone


def roots_in(on_remote: Iterable[str]) -> set[str]:
    """Return the root commits at the end of refs of a remote."""
    return {ref.rpartition("/")[2] for ref in on_remote}


def _ref_on_remote(repository: Repository, manifest: Oid, root: Oid) -> str:
    """Return the ref of a conversation on every remote; the purge may remove the data that it is computed from."""
    data = find_blob(repository, read_commit(repository, manifest).tree, MANIFEST_FILE) or b"null"
    began = format_seconds(read_commit(repository, root).time)
    return f"{CONVERSATIONS}{decode_manifest(data).project}/{began[:4]}{began[5:7]}/{root}"


def forget_values(repository: Repository, remote: str, on_remote: Iterable[str]) -> None:
    """Remove the values of refs that a push has replaced; call it under the exclusive lock."""
    known = read_values(repository.path)
    found = [ref for ref in on_remote if known.get(remote, {}).pop(ref, None) is not None]
    if found:
        _write(repository, known)


def rename_values(repository: Repository, remote: str, new: str) -> None:
    """Move the values of a remote to its new name; call it under the exclusive lock."""
    known = read_values(repository.path)
    if remote in known:
        known[new] = known.pop(remote)
        _write(repository, known)


def _write(repository: Repository, known: Values) -> None:
    kept = {name: values for name, values in known.items() if values}
    if kept or read_json(repository.path, FILE) is not None:
        write_json(repository.path, FILE, {"v": 1, "remotes": kept} if kept else None)


def list_copies(store: str, also: Mapping[str, int] = NO_COUNTS) -> tuple[RemoteCopy, ...]:
    """Return the remotes with purged content, and what to do about each; `also` has further counts, by remote."""
    addresses, values = read_addresses(store), read_values(store)
    counts = {
        name: len(roots_in(values.get(name, ()))) + also.get(name, 0) for name in {*values, *also} & addresses.keys()
    }
    return tuple(
        RemoteCopy(
            name,
            addresses[name],
            counts[name],
            f"scopes push {quote(name)} --purged",
            _server_step(addresses[name]),
        )
        for name in sorted(counts)
    )


def _server_step(address: str) -> str:
    _, url, rest = address.rpartition("://")
    host = rest.partition("/")[0].rpartition("@")[2].partition(":")[0] if url or "@" in rest else ""
    return next((step for name, step in _SERVERS.items() if host == name or host.endswith(f".{name}")), _OWN_SERVER)
