"""What a message changes beside being a message, for the change log: proposals, decisions, values, collaborations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from scopes.conversation.change import FieldChange
from scopes.conversation.proposal_effects import ProposalEffects
from scopes.history.messages import STATE_DIRECTORY, MessageHeader
from scopes.ids import MessageId, Oid
from scopes.lazy_patterns import compile_lazily
from scopes.model import encoding
from scopes.model.claims import CONFLICTS, DECISIONS, ENTITIES
from scopes.model.conflicts import decode_conflict
from scopes.model.message import Message
from scopes.model.path_encoding import leaf, split_leaf
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import diff_blobs, find_blob, find_entry, read_blob

_GROUPS = {ENTITIES: "value", DECISIONS: "decision"}  # with the field of a claim that has the value
_CONFLICT_ID = compile_lazily(r"[0-9a-f]{12}")
_CHANGE_STATE = frozenset({"decision", "notice"})  # kinds of messages


States: TypeAlias = Mapping[str, Mapping[str, Any]]
"""What messages last stated about conflicts and positions, by field path."""


def status_before(known: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the status of a conflict before a message: open at first, and again after it had been resolved."""
    if known is None or known.get("status") == "resolved":
        return {"status": "open"}
    return {name: known[name] for name in ("status", "to") if name in known}


class MessageEffects:
    """Finds the effects of messages, which are given in the order of recording: parents first."""

    def __init__(self, repository: Repository, stated: dict[Oid, States]) -> None:
        """Walk messages; `stated` gets what was stated about conflicts and positions, as of each commit."""
        self._repository = repository
        self._proposals = ProposalEffects(repository)
        self._commits: dict[MessageId, Oid] = {}
        self._requests: dict[Oid, MessageId] = {}  # the collaboration request to which a commit belongs
        self._requests_of_messages: dict[MessageId, MessageId] = {}
        self._stated = stated
        self._stated_by: dict[MessageId, dict[str, Mapping[str, Any]]] = {}  # by the message itself

    def walk(self, head: MessageHeader, message: Message) -> Iterator[FieldChange]:
        """Yield what a message changed."""
        self._commits[head.id] = head.oid
        yield from self._proposals.walk(head, message)
        yield from self._walk_collaboration(head, message)
        for effect in self._walk_conflict(head, message):
            self._stated_by.setdefault(head.id, {})[effect.field_path] = effect.after
            yield effect
        self._keep_stated(head)
        voids_another = message.retracts is not None or message.amends is not None
        if head.parents and (head.kind in _CHANGE_STATE or voids_another):
            yield from self._walk_state(head)

    def skip(self, head: MessageHeader) -> None:
        """Take another commit of a message that was walked."""
        request = self._requests_of_messages.get(head.id)
        if request is not None:
            self._requests[head.oid] = request
        self._proposals.keep(head, self._commits[head.id])
        self._keep_stated(head)

    def walk_lapsed(self, tips: Iterable[Oid], nanoseconds: int) -> Iterator[tuple[MessageId, str, FieldChange]]:
        """Yield the proposals of branches whose time was over before anybody had decided, each with that time."""
        yield from self._proposals.walk_lapsed(tips, nanoseconds)

    def _walk_collaboration(self, head: MessageHeader, message: Message) -> Iterator[FieldChange]:
        """Yield that a collaboration was opened, joined, argued in or closed; its id is that of the request."""
        request = self._requests.get(head.parents[0]) if head.parents else None
        details = message.extra.get("collaboration")
        event = details.get("event") if isinstance(details, Mapping) else None
        if event == "request":
            request = head.id
            yield FieldChange(f"collaborations.{request}", None, {"status": "open", **(message.payload or {})})
        if request is None:
            return
        self._requests[head.oid] = self._requests_of_messages[head.id] = request
        argument = message.extra.get("argument")
        if event == "join":
            yield FieldChange(f"collaborations.{request}.participants.{head.author}", None, "joined")
        elif event == "close" and isinstance(details, Mapping):
            after = {"status": "closed", "outcome": details.get("outcome")}
            yield FieldChange(f"collaborations.{request}", {"status": "open"}, after)
        elif isinstance(argument, Mapping) and isinstance(argument.get("position"), str):
            after = {"about": argument.get("about"), "position": argument["position"]}
            path = f"collaborations.{request}.positions.{head.author}.{argument.get('about')}"
            self._stated_by[head.id] = {path: after}
            yield FieldChange(path, self._find_stated(head, path), after)

    def _walk_conflict(self, head: MessageHeader, message: Message) -> Iterator[FieldChange]:
        """Yield that a conflict was argued about, escalated or resolved."""
        match message.extra.get("conflict"), message.extra.get("argument"):
            case {"id": str(conflict), **after}, _:
                if after.get("status") == "escalated" and message.to:
                    after["to"] = message.to[0]
                path, details = f"conflicts.{conflict}", self._read_conflict(head, conflict)
                before = status_before(self._find_stated(head, path))
                yield FieldChange(path, {**details, **before}, {**details, **after})
            case _, {"about": str(conflict), "position": str(position)} if _CONFLICT_ID.fullmatch(conflict):
                path = f"conflicts.{conflict}.positions.{head.author}"
                yield FieldChange(path, self._find_stated(head, path), {"position": position})
                before = status_before(self._find_stated(head, f"conflicts.{conflict}"))
                if before == {"status": "open"}:
                    details = self._read_conflict(head, conflict)
                    yield FieldChange(f"conflicts.{conflict}", {**details, **before}, {**details, "status": "debate"})

    def _read_conflict(self, head: MessageHeader, conflict: str) -> Mapping[str, str]:
        """Return the type and key of a conflict, which every row of it has; nothing if it is not recorded."""
        blob = find_blob(
            self._repository,
            read_commit(self._repository, head.oid).tree,
            f"{STATE_DIRECTORY}/{leaf(CONFLICTS, conflict)}",
        )
        if blob is None:
            return {}
        record = decode_conflict(blob)
        return {"type": record.type, "key": record.key}

    def _find_stated(self, head: MessageHeader, path: str) -> Mapping[str, Any] | None:
        """Return what was stated last about a field before a message."""
        known = (self._stated[parent].get(path) for parent in head.parents if parent in self._stated)
        return next((each for each in known if each is not None), None)

    def _keep_stated(self, head: MessageHeader) -> None:
        """Keep what is stated as of a commit; one that states nothing shares that of its parents."""
        known = [self._stated[parent] for parent in head.parents if parent in self._stated]
        own = self._stated_by.get(head.id)
        if own is None and len({id(each) for each in known}) < 2:
            self._stated.update({head.oid: known[0]} if known else {})
            return
        merged: dict[str, Mapping[str, Any]] = {}
        for each in (*known[::-1], own or {}):
            merged.update(each)
        self._stated[head.oid] = merged

    def _walk_state(self, head: MessageHeader) -> Iterator[FieldChange]:
        """Yield the decisions and accepted values that are others after a message."""
        for group, field in _GROUPS.items():
            before, after = (self._find_group(commit, group) for commit in (head.parents[0], head.oid))
            if before == after:
                continue
            found: dict[str, tuple[Any, Any]] = {}
            for path, *blobs in diff_blobs(self._repository, before, after):
                field_path = self._spell(group, split_leaf(path))
                old, new = (None if blob is None else self._read_value(blob, field) for blob in blobs)
                known = found.get(field_path, (None, None))
                found[field_path] = known[0] if old is None else old, known[1] if new is None else new
            yield from (FieldChange(path, *values) for path, values in found.items())

    def _spell(self, group: str, names: Sequence[str]) -> str:
        """Return the field of a value."""
        return ".".join((group, *names))

    def _find_group(self, commit: Oid, group: str) -> Oid | None:
        tree = read_commit(self._repository, commit).tree
        entry = find_entry(self._repository, tree, f"{STATE_DIRECTORY}/{group}")
        return entry.oid if entry is not None and entry.is_tree else None

    def _read_value(self, blob: Oid, field: str) -> Any:
        claim = encoding.load(read_blob(self._repository, blob))
        return claim[field] if isinstance(claim, dict) and claim.keys() == {field} else claim
