"""The git program, for the few things that libgit2 cannot do (repacking), hardened against what a store may contain.

A received store's configuration made git run commands of its choosing on gc, fetch and push; with these switches and a
cleaned environment nothing of it ran.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from scopes.errors import Inaccessible

_HARDENED = (
    "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.alternateRefsCommand=",
    "-c", "credential.helper=", "-c", "gc.auto=0", "-c", "protocol.ext.allow=never",
    "-c", "uploadpack.packObjectsHook=", "-c", "core.sshCommand=false", "-c", "maintenance.auto=false",
    # By default git syncs no packed-refs, and removes the files of the refs that it put there all the same.
    "-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync", "--no-pager",
)  # fmt: skip


def find_git() -> str | None:
    """Return the path of the git program, or None."""
    return shutil.which("git")


def run_git(store: str, *arguments: str, settings: Sequence[str] = ()) -> str:
    """Run git on a store and return what it printed; `settings` are `key=value` that hold for this one run.

    Raises:
        Inaccessible: there is no git program, or it failed.
    """
    program = find_git()
    if program is None:
        raise Inaccessible("the git program is not installed", hint="install git; it is needed for gc")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_NO_LAZY_FETCH": "1",  # a store's configuration may name a remote that promises missing objects
        "GIT_ALLOW_PROTOCOL": "",
        "LC_ALL": "C",
    }
    chosen = [word for setting in settings for word in ("-c", setting)]
    command = [program, *_HARDENED, *chosen, f"--git-dir={store}", *arguments]
    done = subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Inaccessible(f"git {arguments[0]} failed: {last}", hint="check the disk's space; nothing was lost")
    return done.stdout
