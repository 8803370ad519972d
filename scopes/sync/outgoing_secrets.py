"""List all secrets for which a push refuses conversations, for the verbs of `secrets`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scopes.history.messages import header_of, is_root
from scopes.history.names import conversation_ids
from scopes.ids import ConversationId
from scopes.secret_scan.clearance import Gate, Leak
from scopes.secrets.gates import gate_of
from scopes.secrets.identity import identify_with
from scopes.secrets.scan import COMMIT_FIELD, ScannedMessages, SecretRow
from scopes.secrets.scan_cache import SecretPlace
from scopes.store.graph import walk_newest_first
from scopes.store.objects import ObjectsInMemory
from scopes.store.repository import Repository
from scopes.sync.clearance import (
    BRANCH_PLACE,
    MESSAGE_PLACE,
    TAG_PLACE,
    TITLE_PLACE,
    inspect_commits,
    inspect_metadata,
)
from scopes.sync.outgoing import Outgoing, plan_push

_NAMES = frozenset((TITLE_PLACE, TAG_PLACE, BRANCH_PLACE))  # a scan lists these itself


def find_outside_messages(
    repository: Repository, conversation: ConversationId, scanned: ScannedMessages, gate: Gate
) -> Iterable[SecretPlace]:
    """Return the places of secrets that a push sends outside of message texts; the gate allows those in messages.

    They are in roots, commits, states, tags, names, the title and other metadata. Only messages with a secret are read
    again, because the cut beginning of their secret, as in a subject, is not another secret.

    Raises:
        Refused, Corrupt, NotFound: the conversation cannot be pushed as it is.
    """
    objects = ObjectsInMemory(repository)
    outgoing = _plan(repository, conversation, objects)
    earlier = {commit.oid for commit in walk_newest_first(repository, scanned.known_tips)} if scanned.known_tips else ()
    commits = [
        commit
        for commit in outgoing.new
        if is_root(commit) or commit.oid not in earlier or header_of(commit).id in scanned.with_secrets
    ]
    without = {head.oid for head in scanned.heads if head.id not in scanned.with_secrets}
    inspect_commits(repository, commits, gate, without)
    inspect_metadata(objects, outgoing, gate)
    metadata = Gate("refuse", identify_with(repository))
    inspect_metadata(objects, outgoing, metadata)  # also what messages have: another cure is needed for it
    leaks = dict.fromkeys((*gate.leaks, *(leak for leak in metadata.leaks if leak.place not in _NAMES)))
    return [_place_of(leak) for leak in leaks]


def find_outgoing_secrets(repository: Repository) -> list[SecretRow]:
    """Return all secrets that a push of any conversation may report, and that are not allowed.

    That is more than `secrets list` has: also the cut beginning in a title of a secret that is in a message.
    """
    return [
        SecretRow(leak.id, leak.rule, conversation, None, leak.place, leak.line, allowed=False)
        for conversation in conversation_ids(repository)
        for leak in dict.fromkeys(_walk_leaks(repository, conversation))
    ]


def _walk_leaks(repository: Repository, conversation: ConversationId) -> Iterator[Leak]:
    """Yield the leaks of messages, and those of metadata alone, as a push finds them if the remote has the messages."""
    objects, messages, metadata = ObjectsInMemory(repository), *(gate_of(repository, "refuse") for _ in range(2))
    outgoing = _plan(repository, conversation, objects)
    inspect_commits(repository, outgoing.new, messages)
    inspect_metadata(objects, outgoing, metadata)
    yield from (*messages.leaks, *metadata.leaks)


def _plan(repository: Repository, conversation: ConversationId, objects: ObjectsInMemory) -> Outgoing:
    """Return what a first push would send of a conversation."""
    return plan_push(repository, None, conversation, objects)


def _place_of(leak: Leak) -> SecretPlace:
    """Return the place of a leak: a message has its id."""
    message = leak.place.removeprefix(MESSAGE_PLACE) if leak.place.startswith(MESSAGE_PLACE) else ""
    return SecretPlace(leak.id, leak.rule, message, COMMIT_FIELD if message else leak.place, leak.line)
