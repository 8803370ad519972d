"""Cache of the last scan of each conversation: a file beside the index, which may be deleted at any time.

An entry is valid for the tips and the metadata that were scanned, and the file for one store and one version of the
rules; a conversation that has not changed is not read again. Entries have ids of secrets, never values; entries with
ids of another key are not used.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, NamedTuple

from scopes.clock import new_id
from scopes.index.sqlite_files import identity_of, prepare
from scopes.regular_file import read_regular
from scopes.secret_scan.scan import RULES_VERSION

_FILE: Final = "secrets.json"
_MAX_BYTES: Final = 256 << 20
_VERSION: Final = 4
"""Changed with the places that a scan looks at, and with how their fields are written."""


class SecretPlace(NamedTuple):
    """Where a secret is: its id and rule, the message (empty for the title and names), the field, and the line."""

    id: str
    rule: str
    message: str
    field: str
    line: int


@dataclass(frozen=True, slots=True)
class ScannedConversation:
    """What was found in a conversation at these tips, and with this metadata."""

    tips: tuple[str, ...]
    metadata: str | None
    places: tuple[SecretPlace, ...] = field(default=())


def read_scans(directory: str, store: str, key: str) -> dict[str, ScannedConversation]:
    """Return the cached scans by conversation; empty if the file is missing, damaged, or of another store or version.

    key: the fingerprint of the key of the ids; entries without ids do not depend on it
    """
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        digest, _, data = read_regular(os.path.join(directory, _FILE), _MAX_BYTES).partition(b"\n")
        document = json.loads(data)
        if sha256(data).hexdigest().encode() == digest and document["of"] == _identity(store):
            found = {str(name): _decode(entry) for name, entry in document["conversations"].items()}
            is_same_key = document["key"] == key
            return {name: each for name, each in found.items() if is_same_key or not each.places}
    return {}


def keep_scans(directory: str, store: str, key: str, scans: Mapping[str, ScannedConversation]) -> None:
    """Write the cache for the next scan; a disk that cannot be written is not an error."""
    conversations = {name: [each.tips, each.metadata, each.places] for name, each in scans.items()}
    data = json.dumps(
        {"of": _identity(store), "key": key, "conversations": conversations}, separators=(",", ":")
    ).encode()
    path = os.path.join(directory, _FILE)
    temporary = f"{path}.{new_id()}"
    with suppress(OSError):
        prepare(directory)
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(descriptor, "wb") as file:
                file.write(sha256(data).hexdigest().encode() + b"\n" + data)
            os.replace(temporary, path)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary)


def _identity(store: str) -> list[str | int]:
    return [identity_of(store), RULES_VERSION, _VERSION]


def _decode(entry: list[Any]) -> ScannedConversation:
    tips, metadata, places = entry
    return ScannedConversation(tuple(tips), metadata, tuple(SecretPlace(*place) for place in places))
