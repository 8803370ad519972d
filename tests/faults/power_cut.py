"""Simulated power cuts: the content of an ext4 file system as if the machine had stopped at this moment.

The image behind a mounted file system contains only what was written to the disk. A copy of it, mounted,
is what the next boot finds, the journal's replay included.

    python -m tests.faults.power_cut [SECONDS ...]      the whole table, also with scopes.durability=fast
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.faults.sandbox import Sandbox, copy_store
from tests.faults.sweep import COMMAND_SEED
from tests.faults.verbs import VERBS, Verb, build_templates

IMAGE_BYTES = 48 << 20
WAITS_SECONDS = (0, 6, 12)


class Disk:
    """An ext4 file system of its own, mounted at `path`."""

    def __init__(self, directory: str) -> None:
        self._image = os.path.join(directory, "image")
        self.path = os.path.join(directory, "disk")
        self._copy = os.path.join(directory, "cut")
        self._copy_path = os.path.join(directory, "after")
        for path in (self.path, self._copy_path):
            os.makedirs(path)
        with open(self._image, "wb") as file:
            file.truncate(IMAGE_BYTES)
        _run("mkfs.ext4", "-q", "-F", self._image)
        _run("mount", "-o", "loop", self._image, self.path)

    def sync(self) -> None:
        """Write everything to the disk."""
        _run("sync", "-f", self.path)

    @contextmanager
    def cut(self) -> Iterator[str]:
        """Simulate a power cut: yield the mount point of a copy of the disk at this moment."""
        _run("cp", "--sparse=always", self._image, self._copy)
        _run("mount", "-o", "loop", self._copy, self._copy_path)
        try:
            yield self._copy_path
        finally:
            _run("umount", self._copy_path)

    def close(self) -> None:
        """Unmount the file system."""
        _run("umount", self.path)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def cut_after(sandbox: Sandbox, disk: Disk, verb: Verb, template: str | None, wait: float, *settings: str) -> list[str]:
    """Run a command, cut the power so many seconds after it returned, and return what was lost."""
    home = os.path.join(disk.path, "home")
    shutil.rmtree(home, ignore_errors=True)
    os.mkdir(home)
    store = os.path.join(home, "store.git")
    if template is not None:
        copy_store(template, store, share=False)
    disk.sync()
    options = [word for setting in settings for word in ("-c", setting)]
    outcome = sandbox.run(["--store", store, *options, *verb.arguments], seed=COMMAND_SEED, stdin=verb.stdin)
    if outcome.code != verb.code:
        return [f"exit {outcome.code}: {outcome.stderr}"]
    promised = sandbox.describe(store)
    time.sleep(wait)
    with disk.cut() as after:
        return list(_walk_losses(sandbox, promised, os.path.join(after, "home", "store.git")))


def _walk_losses(sandbox: Sandbox, promised: dict, store: str) -> Iterator[str]:
    found = sandbox.describe(store)
    if found["refused"]:
        yield f"unreadable: {found['refused']}"
        return
    lost = [ref for ref in {*promised["refs"], *found["refs"]} if promised["refs"].get(ref) != found["refs"].get(ref)]
    yield from (f"{ref}: {promised['refs'].get(ref)} became {found['refs'].get(ref)}" for ref in sorted(lost))
    if found["settings"] != promised["settings"] or found["messages"] != promised["messages"]:
        yield f"settings or messages: {found['settings']} {found['messages']}"
    yield from found["problems"]
    yield from (finding for finding in found["verify"] if finding.startswith("error"))
    yield from sandbox.fsck(store)


def main(waits: list[float]) -> None:
    """Print a table of what every command loses, with either durability."""
    directory = tempfile.mkdtemp()
    sandbox, disk = Sandbox(os.path.join(directory, "sandbox")), Disk(directory)
    try:
        templates = build_templates(sandbox, directory)
        for verb in VERBS:
            for setting in ("scopes.durability=full", "scopes.durability=fast"):
                for wait in waits:
                    losses = cut_after(sandbox, disk, verb, templates[verb.template], wait, setting)
                    print(
                        f"{verb.name:20} {setting:24} {wait:4} s  {losses[:1] if losses else 'nothing lost'}",
                        flush=True,
                    )
    finally:
        disk.close()
        sandbox.close()
        shutil.rmtree(directory)


if __name__ == "__main__":
    main([float(word) for word in sys.argv[1:]] or list(WAITS_SECONDS))
