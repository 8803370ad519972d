"""The ids of secrets: keyed hashes. The key is a file of the store and in no object, so it never leaves.

Without the key nobody can test whether an id, from a list, a report or the allow-list, is that of a guessed secret.
"""

from __future__ import annotations

import hmac
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from typing import Final

from scopes import clock
from scopes.regular_file import read_regular
from scopes.secret_scan.clearance import Identify
from scopes.store.repository import Repository

KEY_FILE: Final = "scopes.secret-key"
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_KEY_BYTES: Final = 32
_ID_LENGTH: Final = 32  # hexadecimal digits


def identify_with(repository: Repository) -> Identify:
    """Return the function that gives ids to the secrets of a store."""
    read = _lazily(repository)

    def identify(rule: str, value: str) -> str:
        text = f"{rule}\0{value}".encode("utf-8", "surrogatepass")
        return hmac.digest(read(), text, "sha256").hex()[:_ID_LENGTH]

    return identify


def fingerprint(repository: Repository) -> str:
    """Return a hash of the key, to compare keys; empty if no secret was found yet, so that there is no key."""
    key = _read_key(repository.path)
    return "" if key is None else sha256(key).hexdigest()


def _lazily(repository: Repository) -> Callable[[], bytes]:
    """Return a function that reads the key once: most stores have no secret, and need none."""
    found: list[bytes] = []

    def read() -> bytes:
        if not found:
            found.append(_read_key(repository.path) or _make_key(repository.path))
        return found[0]

    return read


def _read_key(directory: str) -> bytes | None:
    with suppress(OSError):
        key = read_regular(os.path.join(directory, KEY_FILE), _KEY_BYTES)
        return key if len(key) == _KEY_BYTES else None
    return None


def _make_key(directory: str) -> bytes:
    """Create the key, readable by its owner alone; in a store that cannot be written it lasts for this command.

    The file is linked into place when it is complete: of two commands that create it, both use the first one's.
    """
    key = clock.random_bytes(_KEY_BYTES)
    path = os.path.join(directory, KEY_FILE)
    temporary = f"{path}.{os.getpid()}"
    with suppress(OSError):
        descriptor = os.open(temporary, _NEW, stat.S_IRUSR | stat.S_IWUSR)
        try:
            with open(descriptor, "wb") as file:
                file.write(key)
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):
                os.link(temporary, path)
        finally:
            os.unlink(temporary)
        return _read_key(directory) or key
    return key
