"""Storage of the allow-list: a ref of its own, with a file for each id that a person has allowed.

    allowed/<id>.json    a false alarm, or a secret that may leave

The history can be read with plain git. Every change is an operation, so undo works, file by file. A file has the rule,
who allowed it, when, and the reason, but no part of the secret.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from scopes.errors import Corrupt
from scopes.ids import Oid
from scopes.model import canonical_json
from scopes.model.canonical_json import without_none
from scopes.store.objects import read_blob, read_commit, walk_blobs
from scopes.store.refs import SECRETS
from scopes.store.repository import Repository

_DIRECTORY, _SUFFIX = "allowed/", ".json"


@dataclass(frozen=True, slots=True)
class AllowedSecret:
    """A secret that may leave: its id and rule, who allowed it, when and why."""

    id: str
    rule: str
    actor: str
    time: str
    reason: str | None = None


def read_allowed(repository: Repository) -> Mapping[str, AllowedSecret]:
    """Return the allow-list by id; files that cannot be read are ignored."""
    value = repository.find_ref(SECRETS)
    found: dict[str, AllowedSecret] = {}
    if value is not None:
        for path, oid in walk_blobs(repository, read_commit(repository, Oid(value)).tree):
            name = name_of(path)
            with suppress(Corrupt):
                if path == file_of(name):
                    found[name] = decode_allowed(name, read_blob(repository, oid))
    return found


def file_of(name: str) -> str:
    """Return the file of an entry."""
    return f"{_DIRECTORY}{name}{_SUFFIX}"


def name_of(path: str) -> str:
    """Return the id of the entry in a file."""
    return path.removeprefix(_DIRECTORY).removesuffix(_SUFFIX)


def decode_allowed(name: str, data: bytes) -> AllowedSecret:
    """Decode an entry.

    Raises:
        Corrupt: it is not one.
    """
    match canonical_json.load(data):
        case {"rule": str(rule), "actor": str(actor), "time": str(time), **rest}:
            reason = rest.get("reason")
            return AllowedSecret(name, rule, actor, time, reason if isinstance(reason, str) else None)
    raise Corrupt("an entry of the allow-list is damaged", hint="see: scopes verify")


def encode_allowed(allowed: AllowedSecret) -> bytes:
    """Encode an entry."""
    document = without_none(v=1, rule=allowed.rule, actor=allowed.actor, time=allowed.time, reason=allowed.reason)
    return json.dumps(document, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
