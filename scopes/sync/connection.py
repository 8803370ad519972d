"""Settings of the user for talking to a remote: environment, terminal, limits and progress."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from scopes.ids import Oid
from scopes.store.git_program import Quarantine, list_abandoned, open_quarantine
from scopes.store.locks import remove_orphans
from scopes.store.refs import PURGE_OFFERS, REMOTE_SOURCES, REMOTES
from scopes.store.repository import Repository
from scopes.sync.addresses import Address
from scopes.sync.git_process import Limits, Progress
from scopes.sync.git_transport import GitTransport

_KNOWN: Final = {REMOTES: "refs/in/", PURGE_OFFERS: "refs/purged/", REMOTE_SOURCES: "refs/sources/"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How to talk to a remote.

    environ: the environment of the user; git gets only the variables about connections
    terminal: whether git may ask for a password
    on_wait: called with a text such as `connecting to ADDRESS` if git says nothing for half a second
    credential_cache: the socket of git's credential cache, see `sync.credential_cache`
    settings: what the user's configuration says about kinds of connections and about checks, for all transports
    """

    environ: Mapping[str, str]
    terminal: bool = False
    limits: Limits = field(default_factory=Limits)
    on_progress: Progress | None = None
    on_wait: Callable[[str], None] | None = None
    credential_cache: str | None = None
    settings: dict[str, str] = field(default_factory=dict, compare=False)

    def report(self, label: str, done: int, total: int) -> None:
        """Report the progress of work in this process, before or after git runs."""
        if self.on_progress is not None:
            self.on_progress(label, done, total)

    def open(self, quarantine: Quarantine, address: Address) -> GitTransport:
        """Return the transport to an address."""
        return GitTransport(
            quarantine,
            address,
            self.environ,
            terminal=self.terminal,
            limits=self.limits,
            on_progress=self.on_progress,
            on_wait=self.on_wait,
            credential_cache=self.credential_cache,
            settings=self.settings,
        )


@contextmanager
def quarantine_of(repository: Repository, *, knows_remotes: bool = True) -> Iterator[Quarantine]:
    """Create a quarantine, by default with the tracking refs of the store; those of dead processes are removed.

    knows_remotes: whether the quarantine has tracking refs. A push needs none: the remote lists its refs. Over HTTP git
        compares every ref that it sends with every ref of the quarantine, which took most of the time of a first push.
        A list of conversations needs none either.

    Raises:
        Inaccessible: the disk failed.
        TooNew, Refused: the store cannot be written.
    """
    repository.require_writable()
    remove_orphans(os.path.join(repository.path, name) for name in list_abandoned(repository.path))
    known = list_known(repository) if knows_remotes else {}
    with open_quarantine(repository.path, known) as quarantine:
        yield quarantine


def list_known(repository: Repository, last: Container[str] | None = None) -> dict[str, Oid]:
    """Return the values that remotes had when they were last seen, by refs that a quarantine has of them.

    last: the last parts of the refs, such as the roots of conversations; by default all are returned
    """
    return {
        _KNOWN[prefix] + ref.removeprefix(prefix): Oid(oid)
        for prefix in _KNOWN
        for ref, oid in repository.list_refs(prefix).items()
        if last is None or ref.rpartition("/")[2] in last
    }
