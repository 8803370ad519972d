"""The files by which processes see that a session of an agent is being recorded now: `scopes acp` locks them.

They are below the store, one for each agent and session; the kernel releases the lock when a process dies.
"""

from __future__ import annotations

import fcntl
import os
from hashlib import sha256
from typing import Final

DIRECTORY: Final = "acp-sessions"
FLAGS: Final = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_NAME_LENGTH: Final = 32


def session_lock_path(store: str, names: tuple[str, ...]) -> str:
    """Return the file of a session: of an agent and its session, or of a branch without one."""
    name = sha256("\0".join(names).encode("utf-8", "surrogatepass")).hexdigest()[:_NAME_LENGTH]
    return os.path.join(os.path.realpath(store), DIRECTORY, name)


def is_session_locked(path: str) -> bool:
    """Return True if a process has locked the file of a session."""
    try:
        descriptor = os.open(path, FLAGS)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
