"""`secrets list`: look for secrets in every message of conversations, and in their titles and names."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Final, NamedTuple

from scopes.errors import Corrupt, ScopesError
from scopes.history.handles import list_tips_by_time
from scopes.history.messages import MessageHeader, read_stored_body, walk_headers_oldest_first
from scopes.history.metadata import read_metadata
from scopes.history.names import conversation_ids, resolve_conversation
from scopes.ids import ConversationId, Oid
from scopes.model import canonical_json
from scopes.result import Column, Note, Result, counted, short_id, shown
from scopes.secret_scan import prefilter
from scopes.secret_scan.clearance import Gate, Identify
from scopes.secret_scan.members import Path
from scopes.secret_scan.repeated_keys import EVERY_VALUE
from scopes.secret_scan.scan import scan_document
from scopes.secrets.allowed import AllowedSecret, read_allowed
from scopes.secrets.identity import fingerprint, identify_with
from scopes.secrets.scan_cache import ScannedConversation, SecretPlace, keep_scans, read_scans
from scopes.store import refs
from scopes.store.repository import Repository

Progress = Callable[[int, int], None]
INSTALL_HINT = "twice as fast with RE2: pip install 'scopes-ai[secrets]'"
NAMES: Final = "title or names"
"""Where a secret is that is in no message."""
_SLOW_BYTES = 20_000_000


class SecretRow(NamedTuple):
    """A place of a possible secret: its id and rule, where it is, and whether it is allowed."""

    id: str
    rule: str
    conversation: ConversationId
    message: str | None
    field: str
    line: int
    allowed: bool

    @property
    def where(self) -> str:
        """The message, or that it is in none."""
        return self.message or NAMES


class FoundSecret(NamedTuple):
    """A secret with its first place, and the number of places."""

    first: SecretRow
    places: int

    @property
    def first_in(self) -> str:
        """The conversation and the message of the first place, as a person reads it."""
        return f"{self.first.conversation} {short_id(self.first.message) if self.first.message else NAMES}"


class ScannedMessages(NamedTuple):
    """The messages of a conversation whose texts were scanned.

    heads: all of them
    known_tips: the tips of the branches at the last scan; empty if everything is scanned
    with_secrets: the ids of messages that have a secret
    """

    heads: Sequence[MessageHeader]
    known_tips: Sequence[Oid]
    with_secrets: Container[str]


FindElsewhere = Callable[[Repository], Iterable[SecretRow]]
FindOutside = Callable[[Repository, ConversationId, ScannedMessages, Gate], Iterable[SecretPlace]]
COMMIT_FIELD: Final = "commit"
"""The field of places that are in a commit or in its state, and not in its message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretsScanned(Result):
    """What a scan found.

    conversations: how many were scanned or known. unchanged: those known from an earlier scan.
    messages, size_bytes: what was read now.
    """

    rows_in = "secrets"
    rows_seen = "found"
    is_one_row = True
    columns = (
        Column("id", "ID", on="pipe"),
        Column("rule", on="pipe"),
        Column("conversation", on="pipe"),
        Column("where", "Message", on="pipe"),
        Column("field", on="pipe"),
        Column("line", on="pipe"),
        Column("allowed", on="pipe"),
        Column("first.id", "ID", "id", on="terminal"),
        Column("first.rule", on="terminal"),
        Column("places", form="count", on="terminal"),
        Column("first_in", on="terminal"),
        Column("first.allowed", on="terminal"),
    )

    conversations: int
    unchanged: int
    messages: int
    size_bytes: int
    secrets: tuple[SecretRow, ...]

    @property
    @shown
    def not_allowed(self) -> int:
        """How many places are not allowed."""
        return sum(not row.allowed for row in self.secrets)

    @property
    def found(self) -> list[FoundSecret]:
        """Each secret once."""
        places: dict[str, list[SecretRow]] = {}
        for row in self.secrets:
            places.setdefault(row.id, []).append(row)
        return [FoundSecret(rows[0], len(rows)) for rows in places.values()]

    @property
    def sentence(self) -> str:
        """How many secrets are not allowed, and where was searched."""
        still = len({row.id for row in self.secrets if not row.allowed})
        found = f"{counted(still, 'possible secret')} not allowed" if still else "No secret that is not allowed"
        unchanged = f", {self.unchanged} of them unchanged" if self.unchanged else ""
        return f"{found} in {counted(self.conversations, 'conversation')}{unchanged}."

    @property
    def next_step(self) -> list[str]:
        """How to see the places, and what to do about them."""
        still = {row.id for row in self.secrets if not row.allowed}
        if not still:
            return []
        name = quote(short_id(next(iter(still)))) if len(still) == 1 else "ID"
        return [
            f"all places of one: scopes secrets list --rules {name}",
            f"if one is real, revoke it; if it is none: scopes secrets allow {name} --reason TEXT",
        ]

    @property
    def exit_code(self) -> int:
        """1 if there is a secret that is not allowed, otherwise 0."""
        return 1 if self.not_allowed else 0


def scan(
    repository: Repository,
    names: Sequence[str] = (),
    *,
    index_directory: str,
    find_outside: FindOutside = lambda *_: (),
    on_progress: Progress = lambda _done, _all: None,
) -> SecretsScanned:
    """Scan conversations, by default all; those that have not changed since the last scan are not read again.

    find_outside: returns secrets that a push sends outside of messages; all scans of a store must use the same one

    Raises:
        NotFound, Ambiguous, Invalid: there is no such conversation, or several.
    """
    chosen = [resolve_conversation(repository, name) for name in names] or conversation_ids(repository)
    scanner = _Scanner(repository, find_outside)
    prefilter.is_fast()  # loads RE2 for many small texts
    known = read_scans(index_directory, repository.path, fingerprint(repository))
    found: dict[str, ScannedConversation] = {}
    for number, conversation in enumerate(dict.fromkeys(chosen)):
        on_progress(number, len(chosen))
        found[conversation] = scanner.scan(conversation, known.get(conversation))
    if any(known.get(name) is not each for name, each in found.items()):
        present = {*conversation_ids(repository)}
        kept = {name: each for name, each in {**known, **found}.items() if name in present}
        keep_scans(index_directory, repository.path, fingerprint(repository), kept)
    is_slow = scanner.size_bytes > _SLOW_BYTES and not prefilter.is_fast()
    return SecretsScanned(
        conversations=len(found),
        unchanged=sum(known.get(name) is each for name, each in found.items()),
        messages=scanner.messages,
        size_bytes=scanner.size_bytes,
        secrets=tuple(list_rows(found, read_allowed(repository))),
        notes=(*scanner.notes, *((Note("the scan was slow", INSTALL_HINT),) if is_slow else ())),
    )


def list_rows(scans: Mapping[str, ScannedConversation], allowed: Mapping[str, AllowedSecret]) -> Iterator[SecretRow]:
    """Yield a row for each place, by conversation."""
    for name, scanned in sorted(scans.items()):
        for place in scanned.places:
            conversation, message = ConversationId(name), place.message or None
            yield SecretRow(place.id, place.rule, conversation, message, place.field, place.line, place.id in allowed)


class _Scanner:
    """Scans conversations, and counts what it reads."""

    def __init__(self, repository: Repository, find_outside: FindOutside) -> None:
        self._repository = repository
        self._find_outside = find_outside
        self.identify: Identify = identify_with(repository)
        self.messages = 0
        self.size_bytes = 0
        self.notes: list[Note] = []

    def scan(self, conversation: ConversationId, known: ScannedConversation | None) -> ScannedConversation:
        """Return the secrets of a conversation; if it has grown, only the new messages are read."""
        tips = list_tips_by_time(self._repository, conversation)
        metadata = self._repository.find_ref(refs.meta_ref(conversation))
        if known is not None and (known.tips, known.metadata) == (tuple(tips), metadata):
            return known
        heads = list(walk_headers_oldest_first(self._repository, tips))
        earlier = self._scanned_before(heads, known)
        places = [place for head in heads if head.oid not in earlier for place in self._scan_message(head)]
        kept = [place for place in known.places if place.message] if known is not None and earlier else []
        texts = [*(place for place in kept if place.field != COMMIT_FIELD), *places]
        found = [*self._scan_names(conversation), *texts]
        before = () if known is None or not earlier else tuple(map(Oid, known.tips))
        scanned = ScannedMessages(heads, before, {place.message for place in texts})
        ids = {place.id for place in found}
        outside = [place for place in kept if place.field == COMMIT_FIELD and place.id not in ids]
        outside += self._scan_outside(conversation, scanned, ids)
        return ScannedConversation(tuple(tips), metadata, (*found, *dict.fromkeys(outside)))

    def _scanned_before(self, heads: Sequence[MessageHeader], known: ScannedConversation | None) -> set[Oid]:
        """Return the commits scanned before; empty if a branch was rewound, since its secrets may be gone."""
        if known is None or not {*known.tips} <= {head.oid for head in heads}:
            return set()
        return {head.oid for head in walk_headers_oldest_first(self._repository, map(Oid, known.tips))}

    def _scan_message(self, head: MessageHeader) -> Iterator[SecretPlace]:
        data = read_stored_body(self._repository, head)
        self.messages += 1
        self.size_bytes += len(data)
        if not prefilter.may_hold_secret(data):
            return
        try:
            document = canonical_json.load(data, EVERY_VALUE)
        except Corrupt:
            self.notes.append(Note(f"message {head.id[:8]} cannot be read", "see: scopes verify"))
            document = data.decode("utf-8", "surrogateescape")  # a push searches it as a text
        yield from places_in(document, head.id, self.identify)

    def _scan_names(self, conversation: ConversationId) -> Iterable[SecretPlace]:
        """Return the secrets in the title, and in the names of tags and branches."""
        metadata = read_metadata(self._repository, conversation)
        document = {"title": metadata.title, "tags": list(metadata.tags), "branches": list(metadata.branches)}
        return places_in(document, "", self.identify)

    def _scan_outside(
        self, conversation: ConversationId, scanned: ScannedMessages, known: Container[str]
    ) -> Iterable[SecretPlace]:
        """Return the secrets that a push sends outside of messages, without known ones."""
        try:
            return self._find_outside(self._repository, conversation, scanned, Gate("refuse", self.identify, known))
        except ScopesError as error:
            self.notes.append(Note(f"not all of {conversation} can be searched: {error.message}", error.hint))
            return ()


def places_in(document: object, message: str, identify: Identify) -> Iterator[SecretPlace]:
    """Yield the secrets in a JSON document."""
    for path, found in scan_document(document):
        text = _text_at(document, path)
        line = text.count("\n", 0, max(found.start, 0)) + 1
        field = _path_text(path, Gate("redact", identify))
        yield SecretPlace(identify(found.rule, found.value), found.rule, message, field, line)


def _text_at(document: object, path: Path) -> str:
    value = document
    for step in path:
        if isinstance(value, Mapping | list) and step in (value if isinstance(value, Mapping) else range(len(value))):
            value = value[step]  # type: ignore[index]
    return value if isinstance(value, str) else ""


def _path_text(path: Path, names: Gate) -> str:
    """Return a path as `parts[0].text`, with placeholders for secrets that are names of members."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{names.clear_text(step, '')}" for step in path)
    return "".join(steps).removeprefix(".")
