"""Run the git program for what libgit2 cannot do (packing), on a store that another person may have made.

Git runs programs that a repository's configuration and hooks name, and new versions add new keys. So git never reads
the store's configuration: it runs in a private directory with a configuration written here, and reaches only the
objects, refs and reflogs of the store.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from scopes.errors import Inaccessible, Refused
from scopes.loading import load
from scopes.store.error_translation import translated

PRIVATE_PREFIX = "scopes-git-"
_DIRECTORIES = ("objects", "refs", "logs")
_PACKED_REFS = "packed-refs"
_DETACHED_BYTES = 40
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


def run_git(store: str, *arguments: str, settings: Sequence[str] = (), lock: int | None = None) -> str:
    """Run git on a store and return its output; `settings` are `key=value` pairs for this run.

    `lock` is the descriptor of the held lock. Git inherits it: if this process is killed, the store stays locked until
    git has ended.

    Raises:
        Inaccessible: the git program is not installed, or it failed.
        Refused: a directory of the store is a link to somewhere else.
    """
    program = find_git()
    if program is None:
        raise Inaccessible("the git program is not installed", hint="install git; it is needed for gc")
    options = [word for setting in settings for word in ("-c", setting)]
    with private_directory(store) as directory:
        done = subprocess.run(
            [program, "--no-pager", *options, *arguments],
            cwd=directory,
            env=git_environment(directory),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            pass_fds=() if lock is None else (lock,),
        )
    if done.returncode != 0:
        last_line = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Inaccessible(f"git {arguments[0]} failed: {last_line}", hint="check the disk's space; nothing was lost")
    return done.stdout


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
def private_directory(store: str) -> Iterator[str]:
    """Create a git directory that has the objects, refs and reflogs of a store, and nothing else of it.

    It is in the store, so that the next gc finds it if this process is killed.

    Raises:
        Refused: a directory of the store is a link to somewhere else.
        Inaccessible: it cannot be created.
    """
    with translated("prepare a directory for git", store):
        with suppress(FileExistsError):
            os.mkdir(os.path.join(store, "logs"), 0o700)
        _require_own_files(store)
        path: str = load("tempfile:mkdtemp")(prefix=PRIVATE_PREFIX, dir=store)
    try:
        with translated("prepare a directory for git", store):
            _write(os.path.join(path, "config"), _CONFIG)
            _write(os.path.join(path, "HEAD"), _read_head(store))
            for name in (*_DIRECTORIES, _PACKED_REFS):
                os.symlink(os.path.join(os.pardir, name), os.path.join(path, name))
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _require_own_files(store: str) -> None:
    """Raise Refused if git would read or write outside the store."""
    for name in _DIRECTORIES:
        if not stat.S_ISDIR(os.lstat(os.path.join(store, name)).st_mode):
            raise Refused(f"{name} of the store {store} is not a directory", hint="copy the store with its files")
    path = os.path.join(store, _PACKED_REFS)
    if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
        raise Refused(f"{path} is not a regular file", hint="copy the store with its files")


def _read_head(store: str) -> str:
    """Return the HEAD for the private directory: a detached HEAD of the store, because git keeps its commit."""
    with suppress(OSError, UnicodeDecodeError):
        descriptor = os.open(os.path.join(store, "HEAD"), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            text = os.read(descriptor, _DETACHED_BYTES).decode("ascii")
        finally:
            os.close(descriptor)
        if len(text) == _DETACHED_BYTES and set(text) <= set("0123456789abcdef"):
            return f"{text}\n"
    return "ref: refs/heads/scopes-none\n"


def _write(path: str, text: str) -> None:
    with open(path, "x", encoding="ascii") as file:
        file.write(text)
