"""`secrets list` and `explain`: found and allowed secrets; `list` first scans conversations that have changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Final, NamedTuple

from scopes.errors import NotFound
from scopes.history.names import conversation_ids, find_nearest, match_prefix
from scopes.ids import ConversationId
from scopes.result import Column, Result, short_id
from scopes.secret_patterns import RULES
from scopes.secrets.allowed import AllowedSecret, read_allowed
from scopes.secrets.cure import cures_of, place_of
from scopes.secrets.identity import fingerprint
from scopes.secrets.scan import NAMES, FindElsewhere, FindOutside, Progress, SecretRow, list_rows, scan
from scopes.secrets.scan_cache import ScannedConversation, read_scans
from scopes.store.repository import Repository

_GENERAL: Final = {
    "assigned-secret": "20 characters or more, 10 of them different, letters and digits, behind a name like password=",
    "auth-header": "the value after Bearer, Basic or token in a header",
    "curl-password": "the password after -u or --user of a curl command",
    "docker-auth": "the name and the password in base64 after auth in a configuration file of Docker",
    "netrc-password": "the password of a machine in a .netrc file",
    "url-password": "the password in a URL, as in scheme://user:password@host",
    "url-token": "20 or more characters before the host of a URL, as in https://token@host",
    "jwt": "a JSON Web Token: three parts in base64, of which the first names an algorithm",
    "private-key": "the block of a private key, from its BEGIN line on",
}
_CHECKED: Final = {
    "github-token": "the checksum in classic tokens (CRC-32)",
    "npm-token": "the checksum (CRC-32)",
    "age-key": "the checksum (Bech32)",
    "jwt": "that the header is JSON with an algorithm",
    "pypi-token": "that the token names the index",
}


_SCAN: Final = "look for them: scopes secrets list"
_MAX_CURES: Final = 3


class SecretGroup(NamedTuple):
    """A secret with its first place and the number of places; who allowed it, if somebody did, and why.

    place: the first place as text. cure: the commands after which that conversation can be pushed without it
    """

    id: str
    rule: str
    places: int
    conversations: int
    conversation: ConversationId | None
    message: str | None
    allowed_by: str | None = None
    reason: str | None = None
    place: str | None = None
    cure: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """The message of the first place; empty if there is none."""
        return (self.message or NAMES) if self.places else ""

    @property
    def first_in(self) -> str:
        """The conversation and the message of the first place, as a person reads it."""
        return f"{self.conversation} {short_id(self.message or '') or self.place or ''}" if self.places else ""

    @property
    def allowed(self) -> str:
        """Who allowed it and why, as a person reads it."""
        return "no" if self.allowed_by is None else ": ".join(filter(None, (f"by {self.allowed_by}", self.reason)))

    @property
    def cures(self) -> str:
        """The commands in one line."""
        return "; ".join(self.cure)


class SecretRule(NamedTuple):
    """A rule: what it looks for, what it also checks, and how many secrets the last scan found by it."""

    rule: str
    looks_for: str
    checks: str | None
    secrets: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretList(Result):
    """The secrets of conversations; the most frequent first."""

    rows_in = "secrets"
    columns = (
        Column("id", "ID", "id"),
        Column("rule"),
        Column("places", form="count"),
        Column("conversations", form="count", on="pipe"),
        Column("conversation", "First in", on="pipe"),
        Column("where", "Message", on="pipe"),
        Column("first_in", on="terminal"),
        Column("allowed_by", on="pipe"),
        Column("reason", on="pipe"),
        Column("allowed", form="prose", on="terminal"),
        Column("place", on="pipe"),
        Column("cures", "Cure", on="pipe"),
    )
    empty = "No secrets were found."

    secrets: tuple[SecretGroup, ...]

    @property
    def exit_code(self) -> int:
        """1 if there is a secret that is not allowed, otherwise 0."""
        return 1 if any(secret.allowed_by is None for secret in self.secrets) else 0

    @property
    def next_step(self) -> list[str]:
        """The commands after which secrets no longer leave."""
        return cure_steps(cure for each in self.secrets for cure in each.cure) if self.secrets else [_SCAN]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRules(Result):
    """The rules."""

    rows_in = "rules"
    is_one_row = True
    columns = (
        Column("rule"),
        Column("looks_for", form="prose"),
        Column("checks", form="prose"),
        Column("secrets", "Found", "count"),
    )

    rules: tuple[SecretRule, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretExplained(Result):
    """One secret: its rule, every place, and what the allow-list says."""

    columns = (
        Column("id", "Secret"),
        Column("rule.rule"),
        Column("rule.looks_for"),
        Column("rule.checks"),
        Column("allowed.actor", "Allowed by"),
        Column("allowed.reason"),
        Column("found_in", "Places", "lines"),
    )

    id: str
    rule: SecretRule
    places: tuple[SecretRow, ...]
    allowed: AllowedSecret | None

    @property
    def found_in(self) -> list[str]:
        """A line for each place."""
        return [
            f"{row.conversation} {row.where} {row.field} line {row.line}{'' if row.allowed else ', not allowed'}"
            for row in self.places
        ]

    @property
    def next_step(self) -> list[str]:
        """How to see it, and what to do about it."""
        if not self.places or self.allowed is not None:
            return []
        first, steps = self.places[0], cure_steps(self.cures)
        if first.message is not None:
            steps.append(f"see it: scopes cat {quote(first.conversation)} {quote(short_id(first.message))}")
        steps.append(f"if it is no secret: scopes secrets allow {quote(short_id(self.id))} --reason TEXT")
        return steps

    @property
    def cures(self) -> tuple[str, ...]:
        """The commands after which its conversations can be pushed without it; none if it is allowed."""
        found: dict[ConversationId, list[SecretRow]] = {}
        for row in self.places if self.allowed is None else ():
            found.setdefault(row.conversation, []).append(row)
        return tuple(cure for conversation, rows in found.items() for cure in _cures(conversation, rows))


def cure_steps(cures: Iterable[str]) -> list[str]:
    """Return the commands after which secrets no longer leave, as what to do next."""
    commands = [*dict.fromkeys(cures)]
    steps = [f"to push without it: {command}" for command in commands[:_MAX_CURES]]
    more = len(commands) - _MAX_CURES
    return [*steps, *([f"{more:,} more: scopes secrets list --rules ID"] if more > 0 else [])]


def list_secrets(
    repository: Repository,
    names: Sequence[str] = (),
    *,
    index_directory: str,
    open_only: bool = False,
    find_outside: FindOutside = lambda *_: (),
    on_progress: Progress = lambda _done, _all: None,
) -> SecretList:
    """Return the secrets of conversations (default: all), with `open_only` those that are not allowed; see `scan`."""
    scanned = scan(
        repository, names, index_directory=index_directory, find_outside=find_outside, on_progress=on_progress
    )
    groups = _group(scanned.secrets, read_allowed(repository))
    found = tuple(
        group for group in groups if not (open_only and group.allowed_by is not None) and (group.places or not names)
    )
    return SecretList(secrets=found, notes=scanned.notes)


def explain(
    repository: Repository,
    name: str,
    *,
    index_directory: str,
    on_progress: Progress = lambda _done, _all: None,
    find_outside: FindOutside = lambda *_: (),
    find_elsewhere: FindElsewhere = lambda _repository: (),
) -> SecretRules | SecretExplained:
    """Explain a rule, or a secret by a unique prefix of its id; everything is scanned if no scan has found it.

    find_outside: as for `scan`
    find_elsewhere: returns secrets that a scan does not list; called only if the scan has not found it

    Raises:
        NotFound, Ambiguous: there is no such rule or secret, or several.
    """
    scans, allowed = _read(repository, index_directory), read_allowed(repository)
    rows = list(list_rows(scans, allowed))
    rules = {rule.rule: rule for rule in _walk_rules(rows)}
    if name in rules:
        return SecretRules(rules=(rules[name],))
    if not any(row.id.startswith(name) for row in rows):
        near = find_nearest(name, list(rules))
        if near:
            raise NotFound(f"there is no rule {name!a}", hint=f"did you mean {' or '.join(near)}?")
        scanned = scan(repository, index_directory=index_directory, find_outside=find_outside, on_progress=on_progress)
        rows = list(scanned.secrets)
        if not any(each.startswith(name) for each in (*(row.id for row in rows), *allowed)):
            rows += find_elsewhere(repository)
    known = {row.id: row.rule for row in rows} | {each.id: each.rule for each in allowed.values()}
    found = match_prefix(
        name, known, "rule or secret", "list them: scopes secrets list -a; scopes secrets list --rules"
    )
    places = tuple(row for row in rows if row.id == found)
    return SecretExplained(id=found, rule=rules[known[found]], places=places, allowed=allowed.get(found))


def explain_rules(repository: Repository, *, index_directory: str) -> SecretRules:
    """Return all rules."""
    rows = list(list_rows(_read(repository, index_directory), {}))
    return SecretRules(rules=tuple(sorted(_walk_rules(rows))))


def known_secrets(repository: Repository, index_directory: str) -> Mapping[str, str]:
    """Return the rules of the secrets that the last scan found, by id of the secret."""
    return {row.id: row.rule for row in list_rows(_read(repository, index_directory), {})}


def _read(repository: Repository, index_directory: str) -> Mapping[str, ScannedConversation]:
    present = {*conversation_ids(repository)}
    scans = read_scans(index_directory, repository.path, fingerprint(repository))
    return {name: each for name, each in scans.items() if name in present}


def _group(rows: Iterable[SecretRow], allowed: Mapping[str, AllowedSecret]) -> Iterator[SecretGroup]:
    """Yield a group for each secret, the most frequent first, and then allowed secrets that are no longer found."""
    places: dict[str, list[SecretRow]] = {}
    for row in rows:
        places.setdefault(row.id, []).append(row)
    for name, found in sorted(places.items(), key=lambda item: (-len(item[1]), item[0])):
        entry, first = allowed.get(name), found[0]
        there = [row for row in found if row.conversation == first.conversation]
        yield SecretGroup(
            name, first.rule, len(found), len({row.conversation for row in found}), first.conversation, first.message,
            None if entry is None else entry.actor, None if entry is None else entry.reason,
            place_of(first.message, first.field), _cures(first.conversation, there) if entry is None else (),
        )  # fmt: skip
    for name, entry in sorted(allowed.items()):
        if name not in places:
            yield SecretGroup(name, entry.rule, 0, 0, None, None, entry.actor, entry.reason)


def _cures(conversation: ConversationId, rows: Iterable[SecretRow]) -> tuple[str, ...]:
    return cures_of(conversation, ((row.message, row.field) for row in rows))


def _walk_rules(rows: Sequence[SecretRow]) -> Iterator[SecretRule]:
    anchors: dict[str, list[str]] = {name: [] for name in _GENERAL}
    for rule in RULES:
        anchors.setdefault(rule.kind, []).extend(rule.anchors)
    for name, starts in anchors.items():
        count = len({row.id for row in rows if row.rule == name})
        looks_for = _GENERAL.get(name) or f"{', '.join(dict.fromkeys(starts))} and what has to follow"
        yield SecretRule(name, looks_for, _CHECKED.get(name), count)
