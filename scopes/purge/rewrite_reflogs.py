"""Rewrite the reflogs with the new ids of commits, and drop entries of commits that are no longer reachable."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Final

from scopes.ids import Oid
from scopes.regular_file import read_regular, sync
from scopes.store.objects import one_line, translated
from scopes.store.operations import NULL_OID
from scopes.store.repository import Repository

_LINE: Final = re.compile(
    rb"(?P<old>[0-9a-f]{40}) (?P<new>[0-9a-f]{40}) (?P<who>[^\t]*)(?:\t(?P<reason>.*))?", re.DOTALL
)
_MAX_BYTES: Final = 256 << 20
_MAX_REASON: Final = 1000
_LOCK: Final = ".lock"  # what no ref may end with


class ReflogRewriter:
    """Rewrites the reflogs of a store, in place, each as a whole.

    commits: the new ids of commits by the old ones; None if removed
    kept: every commit that is reachable from refs and operations afterwards
    summaries: new reflog messages by the old ones
    with_new_prefixes: returns a line with the new prefixes of ids of operations
    """

    def __init__(
        self,
        commits: Mapping[Oid, Oid | None],
        kept: Container[Oid],
        summaries: Mapping[str, str],
        with_new_prefixes: Callable[[bytes], bytes],
    ) -> None:
        self._commits = commits
        self._kept = kept
        self._reasons = {one_line(old, _MAX_REASON).encode(): new.encode() for old, new in summaries.items()}
        self._with_new_prefixes = with_new_prefixes

    def rewrite_all(self, repository: Repository) -> None:
        """Rewrite every reflog; one that has nothing left is deleted. Repeating this is harmless.

        Raises:
            Inaccessible: a file cannot be written; the others are as they were or rewritten.
        """
        top = os.path.join(repository.path, "logs")
        with translated("rewrite the reflogs", repository.path):
            for here, _, files in os.walk(top):
                for name in files:
                    if name.endswith(_LOCK):
                        continue  # of a purge that was killed: the next rewriting of its reflog replaces it
                    self._rewrite(os.path.join(here, name), durable=repository.durable)

    def _rewrite(self, path: str, *, durable: bool) -> None:
        data = read_regular(path, _MAX_BYTES)
        new = b"".join(self._walk_lines(data))
        if new == data:
            return
        if not new:
            os.unlink(path)
            return
        unfinished = f"{path}{_LOCK}"
        with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
        if durable:
            sync(os.path.dirname(path))

    def _walk_lines(self, data: bytes) -> Iterator[bytes]:
        previous = str(NULL_OID)  # what the ref had after the last line that stays
        for line in data.split(b"\n"):
            found = _LINE.fullmatch(line)
            if found is None:
                continue
            old, new = (self._value(found[name].decode()) for name in ("old", "new"))
            if new is None:
                continue
            old = previous if old is None else old  # nothing has that commit any more
            if old == new:
                continue
            previous = new
            reason = b"" if found["reason"] is None else b"\t" + self._reason(found["reason"])
            yield b"%s %s %s%s\n" % (old.encode(), new.encode(), found["who"], reason)

    def _value(self, oid: str) -> str | None:
        """Return the new id for an id in a reflog; None if it is no longer reachable."""
        if oid == NULL_OID:
            return oid
        new = self._commits.get(Oid(oid), Oid(oid))
        return new if new is not None and new in self._kept else None

    def _reason(self, reason: bytes) -> bytes:
        for old, new in self._reasons.items():
            if reason.startswith(old):
                return new + reason[len(old) :]
        return self._with_new_prefixes(reason)
