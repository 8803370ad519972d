"""Count the possible secrets in what an import or an append writes: one note, never a reason to refuse it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from scopes.model import canonical_json
from scopes.result import Note, plural
from scopes.secret_scan import prefilter
from scopes.secret_scan.clearance import Identify
from scopes.secret_scan.scan import scan_document
from scopes.secrets.allowed import read_allowed
from scopes.secrets.identity import identify_with
from scopes.store.repository import Repository

SETTING: Final = "scopes.secrets.onImport"
_AT_ONCE: Final = 1 << 18  # bytes
_SLOW_BYTES: Final = 1 << 20  # of an import that are searched without RE2, which takes a third of a second
LIST_HINT: Final = "see: scopes secrets list"
NOT_SCANNED: Final = Note(
    "not all messages were scanned for secrets: without RE2 that takes long",
    "scan them: scopes secrets list; to install RE2: pip install 'scopes-ai[secrets]'",
)


def is_wanted(repository: Repository) -> bool:
    """Return True unless the setting turns counting off."""
    return repository.config.find_boolean(SETTING, default=True)


class SearchLimit:
    """How many bytes of an import may still be searched; unlimited with RE2.

    Attributes:
        is_reached: Whether something was not searched because of the limit.
    """

    def __init__(self, size: int | None = None) -> None:
        self._left = size
        self.is_reached = False

    def take(self, size: int) -> bool:
        """Return True if this many bytes may be searched, and count them."""
        if self._left is None:
            return True
        if size > self._left:
            self._left, self.is_reached = 0, True
            return False
        self._left -= size
        return True


class NewSecrets:
    """Collects the ids of the secrets in the new messages of a session; many messages are searched at once."""

    def __init__(self, identify: Identify, limit: SearchLimit | None = None) -> None:
        self._identify = identify
        self._limit = limit or SearchLimit()
        self._ids: set[str] = set()
        self._waiting: list[bytes] = []
        self._size = 0

    def add(self, data: bytes) -> None:
        """Take a message, as its stored JSON line."""
        if not self._limit.take(len(data)):
            return
        self._waiting.append(data)
        self._size += len(data)
        if self._size >= _AT_ONCE:
            self._search()

    def ids(self) -> frozenset[str]:
        """Return the ids of all that was found so far."""
        self._search()
        return frozenset(self._ids)

    def _search(self) -> None:
        for data in prefilter.choose_suspicious(self._waiting):
            found = (each.found for each in scan_document(canonical_json.load(data)))
            self._ids |= {self._identify(each.rule, each.value) for each in found}
        self._waiting, self._size = [], 0


class SecretFinder:
    """Counts the secrets of each session of an import, with one limit for all."""

    def __init__(self, identify: Identify) -> None:
        self._identify = identify
        self._limit = SearchLimit(None if prefilter.is_fast() else _SLOW_BYTES)

    def begin(self) -> NewSecrets:
        """Return a new counter for another session."""
        return NewSecrets(self._identify, self._limit)

    @property
    def is_incomplete(self) -> bool:
        """Return True if messages were not searched, since that would have taken long."""
        return self._limit.is_reached

    def note_incomplete(self) -> None:
        """Record that another process of the import has not searched all of its messages."""
        self._limit.is_reached = True


def secret_finder(repository: Repository) -> SecretFinder | None:
    """Return the counter of secrets for an import; None if counting is turned off."""
    return SecretFinder(identify_with(repository)) if is_wanted(repository) else None


def import_note(repository: Repository, found: Iterable[Iterable[str]]) -> tuple[Note, ...]:
    """Return one note about the secrets of all conversations that were imported; none if all are allowed."""
    allowed = read_allowed(repository)
    counts = [len({*ids} - {*allowed}) for ids in found]
    count, conversations = sum(counts), sum(map(bool, counts))
    if not count:
        return ()
    where = f"{conversations} {plural(conversations, 'conversation')}"
    return (Note(f"{count} possible {plural(count, 'secret')} in {where}", LIST_HINT),)


def append_note(repository: Repository, lines: Sequence[bytes], where: str = "text") -> tuple[Note, ...]:
    """Return one note about the secrets in messages that were appended, as JSON lines; none if all are allowed.

    where: what the lines are
    """
    suspicious = prefilter.choose_suspicious(lines) if is_wanted(repository) else []
    if not suspicious:
        return ()
    rules: dict[str, str] = {}
    identify = identify_with(repository)
    for data in suspicious:
        for each in scan_document(canonical_json.load(data)):
            rules[identify(each.found.rule, each.found.value)] = each.found.rule
    found = [rule for name, rule in rules.items() if name not in read_allowed(repository)]
    if not found:
        return ()
    named = ", ".join(sorted(set(found)))
    return (Note(f"{len(found)} possible {plural(len(found), 'secret')} in the {where}: {named}", LIST_HINT),)


def title_note(repository: Repository, title: str) -> tuple[Note, ...]:
    """Return one note about the secrets in a title that the user has set; none if all are allowed."""
    return append_note(repository, [canonical_json.dump({"title": title})], "title")
