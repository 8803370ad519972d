"""pygit2, imported without TLS: it loads every certificate of the system at once, which is 18 ms of each command.

Nothing here speaks to a network through libgit2; transport is the git program's work. So while pygit2 is imported, a
stand-in for `ssl` answers its one question, where certificates lie, with a directory that is only opened when needed.
Every module of this package has pygit2 from here; a test looks for the real `ssl` in a fresh process.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import NamedTuple

__all__ = ["pygit2"]


class DefaultVerifyPaths(NamedTuple):
    """Where certificates lie: `ssl` has more fields, of which pygit2 reads these two."""

    cafile: str | None = None
    capath: str | None = "/etc/ssl/certs"


class _StandIn(ModuleType):
    DefaultVerifyPaths = DefaultVerifyPaths
    get_default_verify_paths = DefaultVerifyPaths


_ssl = sys.modules.setdefault("ssl", _StandIn("ssl"))
try:
    import pygit2
finally:
    if isinstance(_ssl, _StandIn):
        del sys.modules["ssl"]
