"""Follow symbolic links on the disk, for the hook: a path is judged by where it really leads.

Nothing is opened: only `readlink` is called, for each component of a path. So no pipe or device is waited for; a
network file system that does not answer is. What is true when the hook looks can be another thing when the tool writes:
a link that something else makes or changes in between is not seen, nor are hard links and mounts. The number of links
in a path is that of the kernel, which refuses more, and the look-ups of a call are limited: more are refused.
"""

from __future__ import annotations

import os
import posixpath
import re
from typing import Final

from scopes.errors import Invalid
from scopes.lazy_patterns import compile_lazily

_MAX_LINKS: Final = 40
_MAX_LOOKUPS: Final = 50_000
_KERNEL: Final = compile_lazily(r"/(?:dev(?!/shm/)|proc)/.*", re.DOTALL)  # /dev/stdout depends on the process


class Links:
    """The links of the disk, as far as the paths of one call lead; each component is looked up once."""

    def __init__(self) -> None:
        self._targets: dict[str, str | None] = {}

    def follow(self, path: str, *, follows_last: bool = True) -> str:
        """Return an absolute path without links, `.` and `..`; without `follows_last` a link at its end stays.

        `..` behind a link is the parent of where it leads, as for the kernel. A path of Linux for its processes and
        devices is returned as it is, and so is one with too many links, which nothing can write.

        Raises:
            Invalid: the call has too many paths.
        """
        if not path.startswith("/") or _KERNEL.fullmatch(f"{posixpath.normpath(path)}/"):
            return path
        pending = [each for each in reversed(path.split("/")) if each not in {"", "."}]
        place, links = "", 0
        while pending:
            name = pending.pop()
            if name == "..":
                place = place.rpartition("/")[0]
                continue
            target = None if not pending and not follows_last else self._read(f"{place}/{name}")
            if target is None:
                place = f"{place}/{name}"
                continue
            links += 1
            if links > _MAX_LINKS:
                return path
            if _KERNEL.fullmatch(f"{target}/"):
                return posixpath.join(target, *reversed(pending))
            place = "" if target.startswith("/") else place
            pending += [each for each in reversed(target.split("/")) if each not in {"", "."}]
        return place or "/"

    def _read(self, path: str) -> str | None:
        """Return the target of a symbolic link; None if the path is not one, or does not exist."""
        if path not in self._targets:
            if len(self._targets) >= _MAX_LOOKUPS:
                raise Invalid("the call has too many paths to follow their links")
            try:
                self._targets[path] = os.readlink(path)
            except (OSError, ValueError):
                self._targets[path] = None
        return self._targets[path]
