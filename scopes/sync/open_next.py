"""Close a repository that is full, and open the next one beside it.

The next repository is created before the full one is marked as closed: a process that is killed in between leaves an
empty repository, which the next push finds and uses.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from contextlib import suppress
from typing import Final

from scopes.clock import random_bytes
from scopes.errors import Inaccessible, NotFound, Refused
from scopes.ids import Oid
from scopes.sanitize import clean_line
from scopes.store.config import find_next
from scopes.store.git_program import Quarantine, find_git
from scopes.store.objects import translated
from scopes.store.repository import Repository
from scopes.sync.addresses import Address
from scopes.sync.closed import CLOSED, write_mark
from scopes.sync.connection import Connection
from scopes.sync.family import is_closed
from scopes.sync.git_transport import RefUpdate
from scopes.sync.remotes import Remote
from scopes.sync.wrong_remotes import refuse_store

_SHARING: Final = re.compile(r"group|all|world|everybody|true|false|umask|[0-7]{1,4}")
_OURS: Final = ("refs/scopes/", "refs/heads/scopes/")


def open_next(before: Address, address: Address, quarantine: Quarantine, connection: Connection) -> dict[str, Oid]:
    """Make sure that the repository at `address` exists, and return its refs; in a directory it is created.

    Raises:
        Refused: it does not exist, and somebody has to create it; or it is a scopes store, or has other branches.
        Inaccessible: the directory cannot be created.
    """
    refuse_store(address)
    if address.transport == "directory" and not os.path.isdir(address.text):
        _create(address.text, before.text)
    try:
        found = connection.open(quarantine, address).list_refs("*")
    except (Inaccessible, NotFound) as error:
        raise Refused(f"{address.text} is not there: {error.message}", hint=how_to_create(address)) from error
    if any(not ref.startswith(_OURS) for ref in found):
        problem = f"{address.text} has other branches or tags"
        raise Refused(problem, hint=f"rename it, and {how_to_create(address)}")
    return found


def how_to_create(address: Address) -> str:
    """Return a hint: which repository has to be created, and how to continue then."""
    where = f"an empty repository {address.text}"
    return f"create {where}, with the rights of the one before it; then push again: scopes push --all"


def close(repository: Repository, remote: Remote, quarantine: Quarantine, connection: Connection) -> str | None:
    """Mark a repository as closed, unless another machine has done so; return why that was refused, else None."""
    following = find_next(remote.address.text)
    if following is None:
        return "its name cannot be numbered"
    mark = write_mark(repository, following.number)
    transport = connection.open(quarantine, remote.address)
    status = transport.push([RefUpdate(CLOSED, None, mark)])[0]
    if status.reason is None or is_closed(remote, transport.list_refs(CLOSED)):
        return None
    return status.reason


def _create(path: str, before: str) -> None:
    """Create a bare repository with the permissions of `before`; it may also be created by another process."""
    unfinished = f"{path}.{random_bytes(4).hex()}.new"
    try:
        _make_like(before, unfinished)
        _run_git("init", "--quiet", "--bare", "--template=", f"--shared={_read_sharing(before)}", "--", unfinished)
        if _read_setting(before, "receive.denyNonFastForwards") != "true":
            _run_git("config", "--file", os.path.join(unfinished, "config"), "receive.denyNonFastForwards", "false")
        with suppress(OSError):  # another process has created it
            os.rename(unfinished, path)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _make_like(before: str, path: str) -> None:
    with translated("create the next repository", path):
        known = os.stat(before)
        os.mkdir(path, 0o700)
        with suppress(PermissionError):
            os.chown(path, -1, known.st_gid)
        os.chmod(path, stat.S_IMODE(known.st_mode))


def _read_sharing(path: str) -> str:
    found = _read_setting(path, "core.sharedRepository")
    return found if _SHARING.fullmatch(found) else "umask"


def _read_setting(path: str, key: str) -> str:
    """Return a setting of a repository that others may have written; its includes are not followed."""
    return _run_git("config", "--file", os.path.join(path, "config"), "--no-includes", "--default", "", "--get", key)


def _run_git(*words: str) -> str:
    program = find_git()
    if program is None:
        raise Inaccessible("the git program is not installed", hint="install git; it creates repositories")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    done = subprocess.run([program, *words], env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = clean_line(done.stderr.strip().rpartition("\n")[2][:300])
        raise Inaccessible(
            f"the next repository cannot be created: {reason}", hint="check its directory and your rights"
        )
    return done.stdout.strip()
