"""Find which messages of a branch were amended or retracted, and by which message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scopes.history.messages import STATE_DIRECTORY, MessageHeader, read_stored_body
from scopes.ids import MessageId, Oid
from scopes.model import encoding
from scopes.model.claims import content_hash
from scopes.model.codec import decode
from scopes.model.message import Message
from scopes.model.path_encoding import decode_component, leaf
from scopes.store.repository import Repository, read_commit, read_tree
from scopes.store.trees import find_blob, find_entry, read_blob

_MESSAGES = f"{STATE_DIRECTORY}/messages"
_FIELDS = (b'"amends"', b'"retracts"')


@dataclass(frozen=True, slots=True)
class Amendment:
    """A message that replaces the text of an earlier one, or retracts it."""

    by: Message
    retracted: bool


def find_amendments(repository: Repository, tip: Oid, heads: Iterable[MessageHeader]) -> Mapping[MessageId, Amendment]:
    """Return the amendments in force at `tip`, by amended message; `heads` are the messages below it."""
    claims = read_claims(repository, tip)
    found: dict[MessageId, Amendment] = {}
    for head in heads if claims else ():
        data = read_stored_body(repository, head)
        if not any(field in data for field in _FIELDS):
            continue
        message = decode(data)
        target = MessageId(message.retracts or message.amends or "")
        claim = claims.get(target)
        if claim == {"retracted": True} and message.retracts is not None:
            found[target] = Amendment(message, retracted=True)
        elif message.amends is not None and claim == {"amended": content_hash(message)}:
            found[target] = Amendment(_cleared(repository, message, data), retracted=False)
    return found


def _cleared(repository: Repository, message: Message, data: bytes) -> Message:
    """Return a message as it is read while text leaves redacted; its hash is that of what is stored."""
    return message if repository.clear_message is None else decode(repository.clear_message(data))


def find_claim(repository: Repository, tip: Oid, message: MessageId) -> Mapping[str, object]:
    """Return the claim about a message in the state of `tip`: `retracted`, `amended`, or an empty one."""
    body = find_blob(repository, read_commit(repository, tip).tree, f"{STATE_DIRECTORY}/{leaf('messages', message)}")
    claim = {} if body is None else encoding.load(body)
    return claim if isinstance(claim, dict) else {}


def is_retracted(repository: Repository, tip: Oid, message: MessageId) -> bool:
    """Return True if a message is retracted in the state of `tip`."""
    return find_claim(repository, tip, message).get("retracted") is True


def latest(message: Message, amendments: Mapping[MessageId, Amendment]) -> Message | None:
    """Follow amendments to the message with the current text; return None if it was retracted."""
    seen = set()
    while message.id in amendments and message.id not in seen:
        seen.add(message.id)
        amendment = amendments[message.id]
        if amendment.retracted:
            return None
        message = amendment.by
    return message


def read_claims(repository: Repository, tip: Oid) -> dict[MessageId, object]:
    """Return the claims about messages in the state of `tip`: `{"retracted": True}` or `{"amended": HASH}`."""
    entry = find_entry(repository, read_commit(repository, tip).tree, _MESSAGES)
    if entry is None or not entry.is_tree:
        return {}
    leaves = read_tree(repository, entry.oid)
    return {
        MessageId(decode_component(name.removesuffix("="))): encoding.load(read_blob(repository, entry.oid))
        for name, entry in leaves.items()
    }
