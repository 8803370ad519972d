"""Find the registered agents and the entries of inboxes that cannot be read, for `verify`."""

from __future__ import annotations

from collections.abc import Iterator

from scopes.agents.agent import decode_agent
from scopes.agents.inbox import decode_entry
from scopes.agents.registry import file_of
from scopes.errors import Corrupt, Invalid, ScopesError
from scopes.ids import Oid
from scopes.store.objects import read_blob, read_commit, walk_blobs
from scopes.store.refs import AGENTS
from scopes.store.repository import Repository
from scopes.store.verify import Finding


def walk_agent_defects(repository: Repository) -> Iterator[Finding]:
    """Yield a finding for each file of the registry that cannot be read; those of unknown places are left out."""
    value = repository.find_ref(AGENTS)
    if value is None:
        return
    try:
        for path, oid in walk_blobs(repository, read_commit(repository, Oid(value)).tree):
            try:
                _check(path, read_blob(repository, oid))
            except (Corrupt, Invalid) as error:
                cure = f"see what it was: git -C {repository.path} log -p {AGENTS} -- {path}"
                yield Finding("error", f"{AGENTS}:{path}", error.message, cure)
    except ScopesError as error:
        yield Finding("error", AGENTS, error.message, error.hint)


def _check(path: str, data: bytes) -> None:
    """Decode a file by its place.

    Raises:
        Corrupt, Invalid: it cannot be decoded.
    """
    match path.split("/"):
        case ["agents", name]:
            if file_of(decode_agent(data).number) != name:
                raise Corrupt("an agent has another number than its file")
        case ["inbox", _, name]:
            decode_entry(data, name)
        case ["next" | "sequence"]:
            if not data.strip().isdigit():
                raise Corrupt("it is not a number")
