"""Write the file of a session into the folder of an agent, in two steps, and delete one that is as it was written.

A complete file waits under another name until the session is registered: a watcher that imports it at once has to know
it. A file that scopes did not write, or that the agent has gone on with, is never replaced.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import BinaryIO

from scopes.errors import Inaccessible, Refused
from scopes.part_files import lock_part, part_of, remove_parts
from scopes.regular_file import UnusableFile, open_regular
from scopes.secret_scan.clearance import Cleared

KIND = "checkout"
FILE = "handed_over"  # of the details of an operation: the file of the session, and its SHA-256
DATABASE = "handed_over_to"  # of those for an agent that has a database: its name, and the id of the session
_PART = ".scopes"  # beginning of the temporary names, which no agent takes for a session


def digest_of_file(path: str) -> str | None:
    """Return the SHA-256 of a file; None if there is none.

    Raises:
        Refused: it is not a regular file.
        Inaccessible: it cannot be read.
    """
    digest = sha256()
    with _opened(path) as file:
        if file is None:
            return None
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def begins_with(path: str, data: bytes) -> bool:
    """Return True if a file is there that begins with these bytes; raises as `digest_of_file` does."""
    with _opened(path) as file:
        return file is not None and file.read(len(data)) == data


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO | None]:
    """Open a file; None if there is none. Raises as `digest_of_file` does."""
    try:
        with open_regular(path) as file:
            yield file
    except FileNotFoundError:
        yield None
    except UnusableFile as error:
        raise Refused(f"{path} is not a file", hint="move it away") from error
    except OSError as error:
        raise Inaccessible(f"cannot read {path}: {error.strerror}", hint="check its permissions") from error


@contextmanager
def prepared_file(path: str, content: Cleared, *, replaces: bool) -> Iterator[Callable[[], None]]:
    """Write a file under another name, synced; the function that the block gets gives it its name.

    replaces: a file of that name may be there. Else one that was just made stays.

    Raises:
        Refused: the name is taken.
        Inaccessible: the file or its folder cannot be written; nothing is left there.
    """
    folder = os.path.dirname(path)
    temporary = part_of(os.path.join(folder, _PART))
    try:
        os.makedirs(folder, exist_ok=True)
        remove_parts(os.path.join(folder, _PART))
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            lock_part(file.fileno())
            file.write(content.data)
            file.flush()
            os.fsync(file.fileno())
            yield lambda: _rename(temporary, path, replaces=replaces)
    except OSError as error:
        raise Inaccessible(f"cannot write {path}: {error.strerror}", hint="nothing was left there") from error
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def delete_unchanged(path: str, digest: str) -> bool:
    """Delete a file that still has this SHA-256; return False if it has not, or is gone."""
    try:
        if digest_of_file(path) != digest:
            return False
        os.unlink(path)
    except (OSError, Refused, Inaccessible):
        return False
    return True


def _rename(temporary: str, path: str, *, replaces: bool) -> None:
    """Give a complete file its name; a hard link does not replace another file."""
    if replaces:
        os.replace(temporary, path)
        return
    try:
        os.link(temporary, path)
    except FileExistsError as error:
        raise Refused(f"{path} was made meanwhile", hint="see what it is, and try again") from error
    except OSError:
        if os.path.lexists(path):  # a file system without hard links
            raise Refused(f"{path} was made meanwhile", hint="see what it is, and try again") from None
        os.replace(temporary, path)
