"""What a message changes beside being a message, for the change log: proposals, decisions, values, collaborations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from scopes.history.messages import STATE_DIRECTORY, MessageHeader
from scopes.ids import MessageId, Oid
from scopes.model import encoding
from scopes.model.claims import DECISIONS, ENTITIES
from scopes.model.message import Message
from scopes.model.path_encoding import split_leaf
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import diff_blobs, find_entry, read_blob

_GROUPS = {ENTITIES: "value", DECISIONS: "decision"}  # with the field of a claim that has the value
_CHANGE_STATE = frozenset({"decision", "notice"})  # kinds of messages


class Effect(NamedTuple):
    """A field and its value before and after a message."""

    field_path: str
    before: Any
    after: Any


class MessageEffects:
    """Finds the effects of messages, which are given in the order of recording: parents first."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._states: dict[str, str] = {}  # of proposals
        self._requests: dict[Oid, MessageId] = {}  # the collaboration request to which a commit belongs
        self._requests_of_messages: dict[MessageId, MessageId] = {}

    def walk(self, head: MessageHeader, message: Message) -> Iterator[Effect]:
        """Yield what a message changed."""
        yield from self._walk_proposal(head, message)
        yield from self._walk_collaboration(head, message)
        voids_another = message.retracts is not None or message.amends is not None
        if head.parents and (head.kind in _CHANGE_STATE or voids_another):
            yield from self._walk_state(head)

    def skip(self, head: MessageHeader) -> None:
        """Take another commit of a message that was walked."""
        request = self._requests_of_messages.get(head.id)
        if request is not None:
            self._requests[head.oid] = request

    def _walk_proposal(self, head: MessageHeader, message: Message) -> Iterator[Effect]:
        """Yield that a proposal was made or reviewed; whether it was superseded or has expired, a reader finds."""
        match head.kind, message.payload, message.extra.get("review"):
            case "proposal", {"entity_type": str(entity), "entity_id": str(name)}, _:
                self._states[head.id] = "pending"
                yield Effect(f"proposals.{head.id}", None, {"entity": f"{entity}/{name}", "state": "pending"})
            case _, _, {"proposal": str(proposal), "state": str(state), "decision": str(decision)}:
                before = {"state": self._states.get(proposal, "pending")}
                self._states[proposal] = state
                yield Effect(f"proposals.{proposal}", before, {"state": state, "decision": decision})

    def _walk_collaboration(self, head: MessageHeader, message: Message) -> Iterator[Effect]:
        """Yield that a collaboration was opened, joined, argued in or closed; its id is that of the request."""
        request = self._requests.get(head.parents[0]) if head.parents else None
        details = message.extra.get("collaboration")
        event = details.get("event") if isinstance(details, Mapping) else None
        if event == "request":
            request = head.id
            yield Effect(f"collaborations.{request}", None, {"status": "open", **(message.payload or {})})
        if request is None:
            return
        self._requests[head.oid] = self._requests_of_messages[head.id] = request
        argument = message.extra.get("argument")
        if event == "join":
            yield Effect(f"collaborations.{request}.participants.{head.author}", None, "joined")
        elif event == "close" and isinstance(details, Mapping):
            after = {"status": "closed", "outcome": details.get("outcome")}
            yield Effect(f"collaborations.{request}", {"status": "open"}, after)
        elif isinstance(argument, Mapping) and isinstance(argument.get("position"), str):
            after = {"about": argument.get("about"), "position": argument["position"]}
            yield Effect(f"collaborations.{request}.positions.{head.author}", None, after)

    def _walk_state(self, head: MessageHeader) -> Iterator[Effect]:
        """Yield the decisions and accepted values that are others after a message."""
        for group, field in _GROUPS.items():
            before, after = (self._find_group(commit, group) for commit in (head.parents[0], head.oid))
            if before == after:
                continue
            for path, *blobs in diff_blobs(self._repository, before, after):
                field_path = ".".join((group, *split_leaf(path)))
                old, new = (None if blob is None else self._read_value(blob, field) for blob in blobs)
                yield Effect(field_path, old, new)

    def _find_group(self, commit: Oid, group: str) -> Oid | None:
        tree = read_commit(self._repository, commit).tree
        entry = find_entry(self._repository, tree, f"{STATE_DIRECTORY}/{group}")
        return entry.oid if entry is not None and entry.is_tree else None

    def _read_value(self, blob: Oid, field: str) -> Any:
        claim = encoding.load(read_blob(self._repository, blob))
        return claim[field] if isinstance(claim, dict) and claim.keys() == {field} else claim
