"""What messages change about proposals, for the change log: they are made, reviewed, superseded, expired or withdrawn.

A store records only what reviewers decided (S4-60). That a newer proposal takes the place of an older one, or that a
value or the time has passed it by, is found here from the history, as `proposals list` finds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from scopes.clock import parse_time
from scopes.conversation.change import FieldChange
from scopes.history.messages import STATE_DIRECTORY, MessageHeader
from scopes.ids import MessageId, Oid
from scopes.merge.statements import stated_claims
from scopes.model import encoding
from scopes.model.claims import ENTITIES, REVIEWS
from scopes.model.message import Message
from scopes.model.path_encoding import leaf
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import find_blob, find_entry

_PENDING: Final = "pending"
_MATTER: Final = frozenset({"proposal", "decision", "notice"})  # kinds of messages; the last two change values
_MAY_BE_WITHDRAWN: Final = frozenset({_PENDING, "accepted", "superseded"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A proposal as of a commit. `expected` are the values of its fields when it was made, `claims` what it wrote.

    `lapsed`: its time was over before anything else happened to it.
    """

    state: str = _PENDING
    agent: str = ""
    entity: tuple[str, str] = ("", "")
    expected: Mapping[str, Any] = field(default_factory=dict)
    claims: Mapping[str, bytes] = field(default_factory=dict)
    expires: str | None = None
    lapsed: bool = False

    def has_lapsed(self, nanoseconds: int) -> bool:
        expiry = parse_time(self.expires or "")
        return self.lapsed or (self.state == _PENDING and expiry is not None and expiry <= nanoseconds)


_Proposals = Mapping[MessageId, _Known]
_NONE: _Proposals = {}


class ProposalEffects:
    """Finds what messages changed about proposals; they are given in the order of recording, parents first."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._known: dict[Oid, _Proposals] = {}

    def walk(self, head: MessageHeader, message: Message) -> Iterator[FieldChange]:
        """Yield what a message changed."""
        before = self._known_before(head)
        voids_another = message.retracts is not None or message.amends is not None
        if head.kind not in _MATTER and not voids_another and len(head.parents) < 2:
            self._known[head.oid] = before
            return
        known = dict(before)
        yield from self._walk(head, message, known)
        self._known[head.oid] = before if known == before else known

    def keep(self, head: MessageHeader, other: Oid) -> None:
        """Take another commit of a message that was walked."""
        self._known[head.oid] = {**self._known_before(head), **self._known.get(other, _NONE)}

    def walk_lapsed(self, tips: Iterable[Oid], nanoseconds: int) -> Iterator[tuple[MessageId, str, FieldChange]]:
        """Yield the proposals of which the time was over before anybody had decided, each with that time."""
        found = {name: each for tip in tips for name, each in self._known.get(tip, _NONE).items()}
        for name, each in sorted(found.items()):
            if each.expires is not None and each.has_lapsed(nanoseconds):
                yield name, each.expires, _moved(name, _PENDING, "expired")

    def _known_before(self, head: MessageHeader) -> _Proposals:
        """Return the proposals below a message; of those that two branches have, the one somebody decided about."""
        known = [self._known.get(parent, _NONE) for parent in head.parents]
        if len(known) < 2:
            return known[0] if known else _NONE
        merged: dict[MessageId, _Known] = {}
        for each in known:
            merged |= {name: one for name, one in each.items() if one.state != _PENDING or name not in merged}
        return merged

    def _walk(self, head: MessageHeader, message: Message, known: dict[MessageId, _Known]) -> Iterator[FieldChange]:
        now = parse_time(message.time or "") or 0
        match head.kind, message.payload, message.extra.get("review"):
            case "proposal", {"entity_type": str(entity), "entity_id": str(name)}, _:
                made = self._read(head, message, (entity, name))
                yield FieldChange(f"proposals.{head.id}", None, {"entity": f"{entity}/{name}", "state": _PENDING})
                older = [other for other, one in known.items() if _is_replaced(one, made)]
                yield from _replace_all(known, older, "superseded", now, superseded_by=head.id)
                known[head.id] = made
            case _, _, {"proposal": str(proposal), "state": str(state), "decision": str(decision)}:
                reviewed = known.get(MessageId(proposal), _Known())
                yield _moved(proposal, reviewed.state, state, decision=decision)
                known[MessageId(proposal)] = replace(reviewed, state=state)
        yield from self._withdraw(message, known, now)
        if len(head.parents) > 1 or (known and self._find_state(head.oid) != self._find_state(head.parents[0])):
            waiting = {name: one for name, one in known.items() if one.state == _PENDING}
            for name, one in waiting.items():
                end = self._find_end(head, name, one)
                if end is not None:
                    yield from _replace_all(known, [name], end, now)

    def _withdraw(self, message: Message, known: dict[MessageId, _Known], now: int) -> Iterator[FieldChange]:
        """Yield that a proposal is void because its message was amended or retracted, unless a review ended it."""
        target = MessageId(message.retracts or message.amends or "")
        one = known.get(target)
        if one is not None and (one.state in _MAY_BE_WITHDRAWN or one.lapsed):
            lapsed = one.has_lapsed(now)
            yield _moved(target, "expired" if lapsed else one.state, "withdrawn")
            known[target] = replace(one, state="withdrawn", lapsed=lapsed)

    def _read(self, head: MessageHeader, message: Message, entity: tuple[str, str]) -> _Known:
        payload = message.payload or {}
        changes = [each for each in payload.get("changes", ()) if isinstance(each, Mapping)]
        fields = {str(each.get("field_path")): each for each in changes}
        expected = {
            name: each["before"] if "before" in each else self._read_value(head.oid, entity, name)
            for name, each in fields.items()
        }
        expires = payload.get("expires_at")
        return _Known(
            agent=head.author,
            entity=entity,
            expected=expected,
            claims=stated_claims(message),
            expires=expires if isinstance(expires, str) else None,
        )

    def _find_end(self, head: MessageHeader, name: MessageId, one: _Known) -> str | None:
        """Return the state of a proposal that waited if a message has ended that; None if it waits still.

        One that expects another value than it has now has expired; a review of another one records that. Without its
        claim, which a conflict may have been resolved against, it is superseded.
        """
        state = self._find_state(head.oid)
        claims = {path: None if state is None else find_blob(self._repository, state, path) for path in one.claims}
        if claims != one.claims:
            review = None if state is None else find_blob(self._repository, state, leaf(REVIEWS, name))
            return "superseded" if review is None else "expired"
        values = ((self._read_value(head.oid, one.entity, field), value) for field, value in one.expected.items())
        return "expired" if any(encoding.dump(now) != encoding.dump(before) for now, before in values) else None

    def _find_state(self, commit: Oid) -> Oid | None:
        entry = find_entry(self._repository, read_commit(self._repository, commit).tree, STATE_DIRECTORY)
        return None if entry is None else entry.oid

    def _read_value(self, commit: Oid, entity: tuple[str, str], name: str) -> Any:
        tree = read_commit(self._repository, commit).tree
        blob = find_blob(self._repository, tree, f"{STATE_DIRECTORY}/{leaf(ENTITIES, *entity, name)}")
        claim = None if blob is None else encoding.load(blob)
        return claim["value"] if isinstance(claim, dict) and claim.keys() == {"value"} else claim


def _is_replaced(older: _Known, newer: _Known) -> bool:
    """Return True if a proposal waits, and a newer one of the same agent is about one of its fields."""
    is_about_same = (older.agent, older.entity) == (newer.agent, newer.entity)
    return older.state == _PENDING and is_about_same and not older.expected.keys().isdisjoint(newer.expected)


def _replace_all(
    known: dict[MessageId, _Known], names: Iterable[MessageId], state: str, now: int, **details: str
) -> Iterator[FieldChange]:
    """Yield that proposals have a state that nobody decided; one whose time was over before has expired already."""
    for name in names:
        one = known[name]
        if one.has_lapsed(now):
            known[name] = replace(one, state="expired", lapsed=True)
        else:
            yield _moved(name, one.state, state, **details)
            known[name] = replace(one, state=state)


def _moved(name: str, before: str, after: str, **details: str) -> FieldChange:
    return FieldChange(f"proposals.{name}", {"state": before}, {"state": after, **details})
