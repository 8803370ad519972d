"""Find in the operation log when a merge or the notice of a resolution was written, and what was merged into what.

The commits of these messages have the time of the newest merged message, so that the same merge is the same commit on
every machine; for the same reason their texts do not name branches. Readers show the time of the operation and the
names in it instead, if the log still has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from scopes.clock import known_seconds
from scopes.errors import Corrupt, NotFound
from scopes.history.messages import MessageHeader, identity_of
from scopes.ids import Oid
from scopes.store.objects import Commit
from scopes.store.operation_log import walk_operation_commits
from scopes.store.refs import HEADS
from scopes.store.repository import Repository, read_commit, read_operation

_AUTHOR: Final = "scopes"
OWN_ADDRESS: Final = identity_of(_AUTHOR, "system").email
_MERGE: Final = "merge"
_STOPPED: Final = "-conflict"  # the end of the kind: a merge, rebase or cherry-pick stopped
_FAST_FORWARD: Final = " (fast-forward)"  # the end of the summary
_RESOLVED: Final = ", its conflicts resolved"  # the end of the summary of a merge that was continued
_SUMMARY: Final = re.compile(r"(?:begin to )?merge (?P<source>\S+) into [^/\s]+/(?P<target>[^\s,]+)(?:, .*)?")
_TITLE: Final = "Merge branch '"
_OWN_TEXT: Final = re.compile(r"Merge [0-9]+ messages?")
_NOTICE: Final = "system"
_KINDS: Final = frozenset({_MERGE, _NOTICE})
_DAY_SECONDS: Final = 86_400  # clocks of agents may be ahead of ours by this much


class RecordedTimes:
    """The times at which operations wrote commits; the log is read only as far back as a lookup needs."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._known: dict[Oid, int] = {}
        self._first: dict[Oid, int] = {}
        self._titles: dict[Oid, str] = {}
        self._reached: int | None = None  # the time of the oldest operation read so far
        self._steps: Iterator[None] = self._read_log()

    def find(self, oid: Oid, stored: int) -> int | None:
        """Return when a commit was written, in seconds since 1970; None if the log has no operation that wrote it.

        `stored` is the time in the commit: operations that are older by more than a day are not read.
        """
        return self._find_in(self._known, oid, stored)

    def find_newest(self, commits: Iterable[tuple[Oid, int, str]]) -> int | None:
        """Return the latest time at which one of some commits was written, if it was not the time in the commit.

        Each is given with its time and the mail address of its author; only those of scopes are looked up.
        """
        own = [self.find(oid, stored) for oid, stored, author_email in commits if author_email == OWN_ADDRESS]
        return max(filter(None, own), default=None) if own else None

    def find_text(self, commit: Commit) -> str | None:
        """Return when a commit was written as RFC 3339; None if the log has no operation that wrote it.

        Of a merge that stopped on conflicts it is the time when it stopped; `find` returns when it was continued.
        """
        found = self._find_in(self._first, commit.oid, commit.time)
        return None if found is None else known_seconds(found)

    def find_source(self, commit: Commit) -> str:
        """Return the name of what a merge commit merged, also from another conversation; empty if it is not known."""
        self.find(commit.oid, commit.time)
        title = self._titles.get(commit.oid, "")
        return title.removeprefix(_TITLE).partition("' into ")[0] if title else ""

    def add_to(self, head: MessageHeader) -> MessageHeader:
        """Return the header of a merge or notice of scopes with the time at which it was written, others unchanged."""
        if head.author_kind != "system" or head.kind not in _KINDS or head.author != _AUTHOR:
            return head
        found = self.find(head.oid, head.time)
        if found is None:
            return head
        names = self._titles.get(head.oid) if _OWN_TEXT.fullmatch(head.subject) else None
        title = None if names is None else f"{names} ({head.subject.removeprefix('Merge ')})"
        return head._replace(recorded=found, title=title)

    def _find_in(self, times: Mapping[Oid, int], oid: Oid, stored: int) -> int | None:
        while oid not in times and (self._reached is None or self._reached >= stored - _DAY_SECONDS):
            try:
                next(self._steps)
            except (StopIteration, Corrupt, NotFound):
                break
        return times.get(oid)

    def _read_log(self) -> Iterator[None]:
        """Read one operation at each step, the newest first."""
        for commit in walk_operation_commits(self._repository):
            kind = commit.subject.partition(":")[0]
            if (kind == _MERGE and not commit.subject.endswith(_FAST_FORWARD)) or kind.endswith(_STOPPED):
                operation = read_operation(self._repository, commit)  # the subject is the start of the summary
                continued = operation.summary.endswith(_RESOLVED)
                title = _title_of(operation.summary)
                for change in () if operation.summary.endswith(_FAST_FORWARD) else operation.changes:
                    if change.ref.startswith(HEADS) and change.new is not None:
                        self._add(Oid(change.new), change.old, commit.time, title)
                        if continued and change.old is not None:
                            self._add_continued(Oid(change.new), Oid(change.old), commit.time, title)
            self._reached = commit.time
            yield

    def _add_continued(self, new: Oid, old: Oid, time: int, title: str | None) -> None:
        """Add the merge commit that a branch got when a stopped merge was continued: it was finished only then."""
        oid = new
        while oid != old and self._repository.has(oid):
            commit = read_commit(self._repository, oid)
            if not commit.parents:
                return
            if commit.kind == _MERGE:
                self._known.setdefault(oid, time)
                if title is not None:
                    self._titles.setdefault(oid, title)
                return
            oid = commit.parents[0]

    def _add(self, new: Oid, old: str | None, time: int, title: str | None) -> None:
        """Add the commit that a branch was moved to, if it was made on top of the old one, and a notice below it."""
        if not self._repository.has(new):
            return
        commit = read_commit(self._repository, new)
        if not commit.parents or old not in {None, commit.parents[0]}:
            return
        self._add_time(new, time)
        if title is not None:
            self._titles.setdefault(new, title)
        below = read_commit(self._repository, commit.parents[0])
        if old is None and below.kind == _NOTICE:
            self._add_time(below.oid, time)

    def _add_time(self, oid: Oid, time: int) -> None:
        self._known.setdefault(oid, time)
        self._first.setdefault(oid, time)


def _title_of(summary: str) -> str | None:
    """Return the title of a merge as git words it, from the summary of its operation; None for other operations."""
    found = _SUMMARY.fullmatch(summary)
    return None if found is None else f"{_TITLE}{found['source']}' into {found['target']}"
