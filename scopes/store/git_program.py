"""Run the git program for what libgit2 cannot do (repacking), hardened against the configuration of the store.

The configuration of a store that somebody else made can name commands that git runs on gc, fetch and push. With these
options and a cleaned environment git runs none of them.
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
    # By default git does not sync packed-refs, but removes the loose refs that it wrote there.
    "-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync", "--no-pager",
)  # fmt: skip


def find_git() -> str | None:
    """Return the path of the git program, or None."""
    return shutil.which("git")


def run_git(store: str, *arguments: str, settings: Sequence[str] = ()) -> str:
    """Run git on a store and return its output; `settings` are `key=value` pairs for this run.

    Raises:
        Inaccessible: the git program is not installed, or it failed.
    """
    program = find_git()
    if program is None:
        raise Inaccessible("the git program is not installed", hint="install git; it is needed for gc")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_NO_LAZY_FETCH": "1",  # the configuration may name a remote to fetch missing objects from
        "GIT_ALLOW_PROTOCOL": "",
        "LC_ALL": "C",
    }
    options = [word for setting in settings for word in ("-c", setting)]
    command = [program, *_HARDENED, *options, f"--git-dir={store}", *arguments]
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
        last_line = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Inaccessible(f"git {arguments[0]} failed: {last_line}", hint="check the disk's space; nothing was lost")
    return done.stdout
