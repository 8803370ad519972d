"""The second check of fetched objects: by git without the user's configuration, and of the sizes of objects.

Git checks every object while it receives it, unless the user's configuration relaxes the checks (`fetch.fsck.*`). If
there is such a setting, git checks every new pack again, with only the configuration of the quarantine. Sizes are read
from object headers, before any object is read; libgit2 is as fast as git at this, and needs no process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scopes.errors import Corrupt, Inaccessible
from scopes.model.message import MAX_MESSAGE_BYTES
from scopes.store.git_program import Quarantine, ReceivedObjects, find_git, git_environment
from scopes.store.objects import BLOB, COMMIT, TREE
from scopes.sync.git_process import Finished, Limits, describe_failure, run_limited

MAX_OBJECTS: Final = 20_000_000
MAX_TREE_BYTES: Final = 64 << 20
_KINDS: Final = {BLOB: MAX_MESSAGE_BYTES, COMMIT: MAX_TREE_BYTES, TREE: MAX_TREE_BYTES}  # with the largest size of each
_OPTIONS: Final = ("core.bigFileThreshold=16m", "core.packedGitWindowSize=32m", "core.packedGitLimit=256m")
_HINT: Final = "nothing of it was taken; see who wrote it to the remote"


def check_packs(quarantine: Quarantine, limits: Limits) -> None:
    """Check every new pack with git fsck: all of its objects, and the links between them.

    Raises:
        Corrupt: git does not accept an object; the message has its reason.
        Inaccessible: git took too long, or is not installed.
    """
    for pack in quarantine.list_packs():
        done = _run(quarantine, limits, ["index-pack", "--strict", f"{pack}.pack"])
        if done.code != 0:
            raise Corrupt(f"the remote sent an object that is not allowed: {describe_failure(done.errors)}", hint=_HINT)


def check_sizes(received: ReceivedObjects) -> None:
    """Check the kind and the size of every new object.

    Raises:
        Corrupt: one is too large, or is a tag.
    """
    number = len(received.new)
    if number > MAX_OBJECTS:
        raise Corrupt(f"the remote sent {number:,} objects; at most {MAX_OBJECTS:,} are taken at once", hint=_HINT)
    for oid in received.new:
        kind, size = received.read_header(oid)
        if kind not in _KINDS:
            raise Corrupt(f"the remote sent an object that is not allowed: {oid} is a {kind}", hint=_HINT)
        if size > _KINDS[kind]:
            problem = f"object {oid} has {size >> 20} MiB; the limit is {_KINDS[kind] >> 20} MiB"
            raise Corrupt(f"the remote sent an object that is too large: {problem}", hint=_HINT)


def _run(quarantine: Quarantine, limits: Limits, words: Sequence[str]) -> Finished:
    program = find_git()
    if program is None:
        raise Inaccessible("the git program is not installed", hint="install git; it checks what comes from remotes")
    options = [word for option in _OPTIONS for word in ("-c", option)]
    return run_limited(
        [program, "--no-pager", *options, *words],
        directory=quarantine.path,
        environment=git_environment(quarantine.path),
        limits=limits,
        lock=quarantine.lock,
    )
