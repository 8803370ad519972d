"""Keep names with a secret of tags and branches on this machine if they were removed before a remote had them.

A removed register leaves a clock with its name, which is sent so that other machines remove the register, too. If no
remote has it, there is nothing to remove. Only names that may have a secret are kept back; all other clocks are sent.
"""

from __future__ import annotations

from collections.abc import Iterator

from scopes.ids import Oid
from scopes.model.canonical_json import names_in_path
from scopes.secret_scan import prefilter
from scopes.secret_scan.scan import scan_text
from scopes.store.objects import Objects
from scopes.store.refs import REMOTES
from scopes.store.repository import Repository
from scopes.sync.manifest import read_manifest
from scopes.sync.registers import State, read_state


def choose_removed(repository: Repository, objects: Objects, root: Oid, state: State) -> frozenset[str]:
    """Return the removed registers of a conversation whose names may have a secret, and that no remote has.

    Raises:
        Corrupt, NotFound: the manifest of a remote is damaged or missing.
    """
    removed = {register for register, change in state.items() if change.value is None}
    with_secret = frozenset(register for register in removed if any(map(_has_secret, names_in_path(register))))
    if not with_secret:
        return with_secret
    return with_secret - {register for there in _walk_remote_states(repository, objects, root) for register in there}


def _walk_remote_states(repository: Repository, objects: Objects, root: Oid) -> Iterator[State]:
    """Yield the metadata that each remote had when it was last seen."""
    for ref, oid in repository.list_refs(REMOTES).items():
        if ref.endswith(f"/{root}"):
            yield read_state(objects, read_manifest(repository, Oid(oid)).meta)


def _has_secret(name: str) -> bool:
    data = name.encode("utf-8", "surrogatepass")
    return prefilter.may_hold_secret(data) and bool(scan_text(name))
