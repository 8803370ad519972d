"""Run the git program for what libgit2 cannot do (packing), without the configuration and hooks of the store.

Git runs programs that a repository's configuration and hooks name, and new versions add new keys. So git never reads
the store's configuration: it runs in a private directory with a configuration written here, and reaches only the
objects, refs and reflogs of the store.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from scopes.errors import Inaccessible
from scopes.store.init import HEAD
from scopes.store.libgit2 import translated

PRIVATE_PREFIX = "scopes-git-"
_DIRECTORIES = ("objects", "refs", "logs")
_PACKED_REFS = "packed-refs"
_CONFIG = """\
[core]
	repositoryFormatVersion = 0
	bare = true
	logAllRefUpdates = always
	hooksPath = /dev/null
	attributesFile = /dev/null
	fsmonitor = false
	# By default git does not sync packed-refs, but removes the loose refs that it wrote there.
	fsync = all
	fsyncMethod = fsync
[gc]
	auto = 0
	writeCommitGraph = false
[maintenance]
	auto = false
[protocol]
	allow = never
"""


def find_git() -> str | None:
    """Return the path of the git program, or None.

    Only absolute directories of PATH are searched: the current one may be a project that somebody else wrote.
    """
    directories = filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep))
    return shutil.which("git", path=os.pathsep.join(directories))


def run_git(
    store: str,
    *arguments: str,
    settings: Sequence[str] = (),
    lock: int | None = None,
    check: bool = True,
    reads: bool = False,
    stdin: str = "",
    actor: tuple[str | None, str | None] = (None, None),
) -> str:
    """Run git on a store and return its output; `settings` are `key=value` pairs for this run.

    `actor` are name and address for the reflogs. `lock` is the descriptor of the held lock. Git inherits it: if this
    process is killed, the store stays locked until git has ended.

    `reads` leaves the store as it is, which may be on a full or read-only disk. Without `check` the output includes
    what git reports on standard error, and git may fail.

    Raises:
        Inaccessible: the git program is not installed, or it failed.
    """
    program = find_git()
    if program is None:
        raise Inaccessible("the git program is not installed", hint="install git; it is needed for gc")
    options = [word for setting in settings for word in ("-c", setting)]
    with private_directory(store, in_store=not reads) as directory:
        done = subprocess.run(
            [program, "--no-pager", *options, *arguments],
            cwd=directory,
            env=git_environment(directory) | _identity(actor),
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            pass_fds=() if lock is None else (lock,),
        )
    if not check:
        return done.stdout + done.stderr
    if done.returncode != 0:
        last_line = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Inaccessible(f"git {arguments[0]} failed: {last_line}", hint="check the disk's space; nothing was lost")
    return done.stdout


def _identity(actor: tuple[str | None, str | None]) -> dict[str, str]:
    name, address = actor
    return {"GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": address} if name and address else {}


def git_environment(directory: str) -> dict[str, str]:
    """Return the environment in which git reads no other configuration than that in its private directory."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return environment | {
        "GIT_DIR": directory,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",  # a ref below refs/replace may make git read another object
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "LC_ALL": "C",
    }


@contextmanager
def private_directory(store: str, *, in_store: bool = True) -> Iterator[str]:
    """Create a git directory that has the objects, refs and reflogs of a store, and not its configuration or hooks.

    It is in the store, so that the next gc finds it if this process is killed, or among the temporary files.

    Raises:
        Inaccessible: it cannot be created.
    """
    with translated("prepare a directory for git", store):
        from tempfile import mkdtemp

        if in_store:
            with suppress(FileExistsError):
                os.mkdir(os.path.join(store, "logs"), 0o700)
        path: str = mkdtemp(prefix=PRIVATE_PREFIX, dir=store if in_store else None)
    try:
        with translated("prepare a directory for git", store):
            _write(os.path.join(path, "config"), _CONFIG)
            _write(os.path.join(path, "HEAD"), HEAD)
            for name in (*_DIRECTORIES, _PACKED_REFS):
                os.symlink(os.path.join(os.path.abspath(store), name), os.path.join(path, name))
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _write(path: str, text: str) -> None:
    with open(path, "x", encoding="ascii") as file:
        file.write(text)
