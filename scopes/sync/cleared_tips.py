"""Cache the tips of histories without secrets, so that a push to another remote does not search them again.

The id of a commit depends on everything that it reaches. If that has no secret, it has none until the rules change. So
the tips of such histories are kept, in a file beside the index that may be deleted at any time. It belongs to one store
and one version of the rules, and never leaves this machine. Metadata are not cached: they are always searched. Neither
is a history with an allowed secret, because the allow-list may change.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from typing import Final

from scopes.clock import new_id
from scopes.ids import Oid
from scopes.index.sqlite_files import identity_of, prepare
from scopes.regular_file import read_regular
from scopes.secret_scan.scan import RULES_VERSION
from scopes.store.objects import Commit
from scopes.store.repository import Repository
from scopes.sync.outgoing import Outgoing

_FILE: Final = "cleared-tips.json"
_MAX_BYTES: Final = 256 << 20


class ClearedTips:
    """The tips of histories without secrets, by the roots of their conversations."""

    def __init__(self, repository: Repository) -> None:
        self._directory = repository.caller.index_directory
        self._of: list[str | int] = [identity_of(repository.path), RULES_VERSION]
        self._is_kept = True

    @cached_property
    def _tips(self) -> dict[Oid, tuple[Oid, ...]]:
        return {} if self._directory is None else _read(os.path.join(self._directory, _FILE), self._of)

    def choose_unsearched(self, outgoing: Outgoing) -> Sequence[Commit]:
        """Return the new commits of a conversation that must be searched, in their order."""
        cleared = self._tips.get(outgoing.name.root, ())
        if not cleared:
            return outgoing.new
        new = {commit.oid: commit for commit in outgoing.new}
        chosen: set[Oid] = set()
        waiting = [branch.tip for branch in outgoing.manifest.branches.values()]
        while waiting:
            oid = waiting.pop()
            if oid in new and oid not in chosen and oid not in cleared:
                chosen.add(oid)
                waiting += new[oid].parents
        return [commit for commit in outgoing.new if commit.oid in chosen]

    def add(self, outgoing: Outgoing) -> None:
        """Remember that nothing was found in what `choose_unsearched` returned of a conversation.

        Commits that a remote has are left out: they may have come from there, and may never have been searched here.
        """
        there = {} if outgoing.previous is None else outgoing.previous.manifest.branches
        cleared = self._tips.get(outgoing.name.root, ())
        if all(branch.tip in cleared for branch in there.values()):
            self._tips[outgoing.name.root] = tuple(branch.tip for branch in outgoing.manifest.branches.values())
            self._is_kept = False

    def keep(self) -> None:
        """Keep what was added for the next push; a disk that cannot be written is no error."""
        if self._directory is not None and not self._is_kept:
            with suppress(OSError):
                _write(self._directory, json.dumps({"of": self._of, "tips": self._tips}, separators=(",", ":")))
                self._is_kept = True


def _read(path: str, of: list[str | int]) -> dict[Oid, tuple[Oid, ...]]:
    """Return what is kept; nothing if the file is missing, damaged, or of another store or version of the rules."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        digest, _, data = read_regular(path, _MAX_BYTES).partition(b"\n")
        document = json.loads(data)
        if sha256(data).hexdigest().encode() == digest and document["of"] == of:
            return {Oid(root): _as_oids(tips) for root, tips in document["tips"].items()}
    return {}


def _as_oids(tips: Iterable[str]) -> tuple[Oid, ...]:
    return tuple(map(Oid, tips))


def _write(directory: str, text: str) -> None:
    data, path = text.encode("ascii"), os.path.join(directory, _FILE)
    temporary = f"{path}.{new_id()}"
    prepare(directory)
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(sha256(data).hexdigest().encode() + b"\n" + data)
        os.replace(temporary, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
