"""Copies of a directory from memory, for what many tests begin with, and the removal of a directory."""

from __future__ import annotations

import os
import shutil
from typing import NamedTuple


class Snapshot(NamedTuple):
    """The directories and files below a directory, which come first and have their modes and contents."""

    directories: list[tuple[str, int]]
    files: list[tuple[str, int, bytes]]

    def write(self, path: str) -> None:
        """Write the copy; `path` must not exist."""
        for name, mode in self.directories:
            os.mkdir(path + name, mode)
        for name, mode, content in self.files:
            descriptor = os.open(path + name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            os.write(descriptor, content)
            os.close(descriptor)


def remove_tree(path: str) -> None:
    """Remove a directory; `shutil.rmtree` takes longer, because it is safe from others who change the directory."""
    try:
        with os.scandir(path) as entries:
            found = list(entries)
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                remove_tree(entry.path)
            else:
                os.unlink(entry.path)
        os.rmdir(path)
    except OSError:
        shutil.rmtree(path, ignore_errors=True)


def take_snapshot(path: str) -> Snapshot:
    """Read a directory of small files."""
    directories, files = [], []
    for top, _, names in os.walk(path):
        directories.append((top.removeprefix(path), os.stat(top).st_mode & 0o777))
        for name in names:
            file = os.path.join(top, name)
            with open(file, "rb") as opened:
                files.append((file.removeprefix(path), os.stat(file).st_mode & 0o777, opened.read()))
    return Snapshot(directories, files)
