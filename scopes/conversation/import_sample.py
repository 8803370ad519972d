"""`import --sample`: a made-up conversation that shows what every command does.

Its times and ids are fixed, so it has the same object ids in every store, and a second import finds it there.
"""

from __future__ import annotations

import json
import os
from base64 import b32encode
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from scopes.conversation.new import next_conversation_id
from scopes.history.messages import write_message_blob, write_message_commit, write_root_commit
from scopes.history.metadata import read_metadata
from scopes.history.revparse import MAIN, conversation_ids
from scopes.history.transaction import Transaction
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.model.conversation import BranchEntry, Root
from scopes.model.message import Message
from scopes.model.validation import check_message
from scopes.result import Result
from scopes.store.packs.bulk import BulkObjects, bulk_objects
from scopes.store.repository import Objects, Repository
from scopes.store.transaction import exclusive_write

SAMPLE_FILE = os.path.join(os.path.dirname(__file__), "sample.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleImported(Result):
    """Where the sample is; `operation` is None when it was there already."""

    conversation: ConversationId
    messages: int
    new_messages: int
    branches: int
    operation: OperationId | None


@dataclass(slots=True)
class _Built:
    root: Oid
    tips: dict[BranchName, Oid]
    title: str
    entries: dict[BranchName, BranchEntry]
    tags: dict[str, Oid]
    messages: int = 0


def import_sample(repository: Repository) -> SampleImported:
    """Bring in the sample as a conversation with the next number, unless it is in the store.

    Raises:
        Inaccessible, Busy: nothing was brought in.
    """
    with open(SAMPLE_FILE, encoding="utf-8") as file:
        document: dict[str, Any] = json.load(file)
    with exclusive_write(repository):
        with bulk_objects(repository) as objects:
            built = _build(objects, document)
        existing = _find_by_root(repository, built.root)
        conversation = existing or next_conversation_id(repository)
        operation = None if existing else _establish(repository, conversation, built, document)
    return SampleImported(
        conversation=conversation,
        messages=built.messages,
        new_messages=0 if existing else built.messages,
        branches=len(built.tips),
        operation=operation,
    )


def _build(objects: BulkObjects, document: dict[str, Any]) -> _Built:
    """Write root, messages and what is known of the branches."""
    root = Root(**document["root"])
    oid = write_root_commit(objects, root, dict.fromkeys(document["participants"], "agent"))
    main = BranchEntry(fork=oid, created=root.created)
    built = _Built(oid, {MAIN: oid}, document["title"], {MAIN: main}, {})
    labels: dict[str, tuple[MessageId, Oid]] = {}
    for step in document["steps"]:
        if "purpose" in step:
            _begin_branch(built, step, labels)
        else:
            _add_message(objects, built, step, labels)
    for tag, label in document["tags"].items():
        built.tags[tag] = labels[label][1]
    return built


def _begin_branch(built: _Built, step: dict[str, Any], labels: dict[str, tuple[MessageId, Oid]]) -> None:
    name, start = BranchName(step["branch"]), labels[step["from"]][1]
    entry = BranchEntry(
        purpose=step["purpose"], agent=AgentName(step["agent"]), parent=MAIN, fork=start, created=step["created"]
    )
    built.tips[name] = start
    built.entries[name] = entry


def _add_message(
    objects: Objects, built: _Built, step: dict[str, Any], labels: dict[str, tuple[MessageId, Oid]]
) -> None:
    branch = BranchName(step.pop("branch"))
    label = step.pop("label", f"#{built.messages}")
    if "reply_to" in step:
        step["reply_to"] = labels[step["reply_to"]][0]
    message = check_message(step, message_id=_sample_id(label), now=step["time"])
    oid = _write(objects, built.tips[branch], message)
    built.tips[branch] = oid
    built.messages += 1
    labels[label] = (message.id, oid)


def _write(objects: Objects, parent: Oid, message: Message) -> Oid:
    return write_message_commit(objects, parent, message, write_message_blob(objects, message))


def _sample_id(label: str) -> MessageId:
    return MessageId(b32encode(sha256(f"sample/{label}".encode()).digest()).decode("ascii").lower()[:26])


def _find_by_root(repository: Repository, root: Oid) -> ConversationId | None:
    for conversation in conversation_ids(repository):
        main = read_metadata(repository, conversation).branches.get(MAIN)
        if main is not None and main.fork == root:
            return conversation
    return None


def _establish(
    repository: Repository, conversation: ConversationId, built: _Built, document: dict[str, Any]
) -> OperationId:
    """Bring the written commits into being as a conversation."""
    tx = Transaction(repository, conversation)
    for name, tip in built.tips.items():
        tx.create_branch(name, tip)
    tx.set_title(built.title)
    for name, entry in built.entries.items():
        tx.describe_branch(name, entry)
    for tag, oid in built.tags.items():
        tx.set_tag(tag, oid)
    tx.activate(BranchName(document["active"]))
    summary = f"bring in the sample as {conversation}"
    return tx.commit("import", summary, metadata_message=f"create {conversation}").id
