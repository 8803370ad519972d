"""The id of this machine in a store: random, made once, kept in the configuration of the store alone.

It tells changes of several machines apart, and nothing about the machine. A clone of the store gets another one.
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING

from scopes.ids import OperationId
from scopes.lazy_patterns import compile_lazily
from scopes.store.config import MACHINE_ID
from scopes.store.config_write import read_setting, write_setting

if TYPE_CHECKING:
    from scopes.store.repository import Repository

_ID = compile_lazily(r"[0-9a-f]{12}")
_DIGITS = 12


def find_machine_id(repository: Repository) -> str | None:
    """Return the id of this machine; None if it has none yet."""
    known = read_setting(repository.config.store_level(), MACHINE_ID)
    return known if known is not None and _ID.fullmatch(known) else None


def machine_id(repository: Repository, operation: OperationId) -> str:
    """Return the id of this machine; the first time it is made, as random as the id of the operation that needs it.

    Raises:
        Busy, Inaccessible: the configuration of the store cannot be written.
    """
    known = find_machine_id(repository)
    if known is not None:
        return known
    files = repository.config.store_level()
    made = sha256(f"machine {operation}".encode()).hexdigest()[:_DIGITS]
    write_setting(files, os.path.join(repository.path, "config"), MACHINE_ID, made)
    return made
