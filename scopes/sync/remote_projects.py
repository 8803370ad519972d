"""Read the directories of the projects of a remote: the refs have only a hash of each.

The root of one conversation of each project contains its directory, which must match the hash. Most roots are here
already. The others are fetched alone if the server supports it (git protocol 2), otherwise with the conversation; none
of their objects are stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from scopes.errors import Corrupt, Inaccessible, NotFound
from scopes.ids import Oid
from scopes.store.git_program import Quarantine, ReceivedObjects
from scopes.store.objects import Objects, read_commit
from scopes.store.repository import Repository
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.git_transport import INCOMING
from scopes.sync.names import ON_REMOTE, RemoteName, project_digest, read_root_document
from scopes.sync.remotes import Remote
from scopes.sync.second_check import check_packs, check_sizes


def read_directories(
    repository: Repository, remote: Remote, connection: Connection, names: Iterable[RemoteName]
) -> dict[str, str]:
    """Return the directories of the projects of some conversations of a remote, by the hashes in their names.

    Projects without a directory are left out, and so are those whose root does not match the hash.

    Raises:
        Inaccessible, Corrupt: the remote does not answer, or what it sent is not acceptable.
    """
    found: dict[str, str] = {}
    unknown: dict[str, RemoteName] = {}
    for name in names:
        if name.project == project_digest(None) or name.project in found:
            continue
        directory = _directory_of(repository, name) if repository.has(name.root) else None
        if directory is None:
            unknown.setdefault(name.project, name)
        else:
            found[name.project] = directory
    asked = {project: name for project, name in unknown.items() if project not in found}
    return found | (_ask(repository, remote, connection, asked) if asked else {})


def _directory_of(objects: Objects, name: RemoteName) -> str | None:
    with suppress(Corrupt, NotFound):
        directory = read_root_document(objects, read_commit(objects, name.root)).cwd
        return directory if project_digest(directory) == name.project else None
    return None


def _ask(
    repository: Repository, remote: Remote, connection: Connection, asked: Mapping[str, RemoteName]
) -> dict[str, str]:
    names = list(asked.values())
    try:
        return _read(repository, remote, connection, names, whole=False)
    except Inaccessible:  # a server of protocol 0 sends only the commits of its refs by id
        return _read(repository, remote, connection, names, whole=True)


def _read(
    repository: Repository, remote: Remote, connection: Connection, names: list[RemoteName], *, whole: bool
) -> dict[str, str]:
    """Fetch the roots, or with `whole` the conversations, and return their directories by the hash of the project."""
    with quarantine_of(repository, knows_remotes=False) as quarantine:
        transport = connection.open(quarantine, remote.address)
        if whole:
            transport.fetch([f"{name.ref}:{INCOMING}{name.ref.removeprefix(ON_REMOTE)}" for name in names])
        else:
            transport.fetch_alone([Oid(name.root) for name in names])
        if transport.changes_checks():
            check_packs(quarantine, connection.limits)
        received = _checked(repository, quarantine)
        directories = {name.project: _directory_of(received, name) for name in names}
    return {project: directory for project, directory in directories.items() if directory is not None}


def _checked(repository: Repository, quarantine: Quarantine) -> ReceivedObjects:
    received = ReceivedObjects(repository, quarantine)
    check_sizes(received)
    return received
