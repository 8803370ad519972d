"""One run of a conversation at a time: two at once would run every agent twice for the same keys.

    <store>/runs/<hash of the uuid of the conversation>    an empty file, locked while a run lasts

The uuid itself may be any text in the store of another person, `../../x` too. The kernel releases the lock when a
process dies. Programs belong to one machine, so this is a file and not a ref.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from shlex import quote

from scopes.errors import Busy, Inaccessible
from scopes.history.handles import read_uuid
from scopes.ids import ConversationId
from scopes.store.repository import Repository

_DIRECTORY, _DIGITS = "runs", 32


@contextmanager
def claim_run(repository: Repository, conversation: ConversationId) -> Iterator[None]:
    """Be the only process that runs agents for a conversation.

    Raises:
        Busy: another one does that now.
        Inaccessible: the file cannot be written or locked.
    """
    uuid = read_uuid(repository, conversation).encode("utf-8", "surrogatepass")
    path = os.path.join(repository.path, _DIRECTORY, hashlib.sha256(uuid).hexdigest()[:_DIGITS])
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError as error:
        raise _inaccessible(path, error) from error
    try:
        _lock(path, descriptor, conversation)
        yield
    finally:
        os.close(descriptor)


def _lock(path: str, descriptor: int, conversation: ConversationId) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno != errno.EWOULDBLOCK:
            raise _inaccessible(path, error) from error
        hint = f"wait for its end, then see what it did: scopes facts log {quote(conversation)}"
        raise Busy(f"another process runs the agents of {conversation} now", hint=hint) from error


def _inaccessible(path: str, error: OSError) -> Inaccessible:
    text = f"cannot lock a run: {os.strerror(error.errno or 0)} ({path})"
    return Inaccessible(text, hint="check the permissions and the free space")
