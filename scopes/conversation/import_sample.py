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
from scopes.history.metadata import branch_change, read_metadata, tag_change, title_change, write_metadata
from scopes.history.operation_record import record_operation
from scopes.history.revparse import MAIN, conversation_ids
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.model.conversation import BranchEntry, Root
from scopes.model.message import Message
from scopes.model.operation import RefChange
from scopes.model.validation import check_message
from scopes.result import Result
from scopes.store import refs as names
from scopes.store.packs.bulk import BulkObjects, bulk_objects
from scopes.store.repository import Objects, Repository
from scopes.store.transaction import exclusive_write
from scopes.store.trees import Change

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
    described: dict[str, Change]
    messages: int


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
    built = _Built(oid, {MAIN: oid}, title_change(document["title"]), 0)
    built.described |= branch_change(MAIN, BranchEntry(fork=oid, created=root.created))
    labels: dict[str, tuple[MessageId, Oid]] = {}
    for step in document["steps"]:
        if "purpose" in step:
            _begin_branch(built, step, labels)
        else:
            _add_message(objects, built, step, labels)
    for tag, label in document["tags"].items():
        built.described |= tag_change(tag, labels[label][1])
    return built


def _begin_branch(built: _Built, step: dict[str, Any], labels: dict[str, tuple[MessageId, Oid]]) -> None:
    name, start = BranchName(step["branch"]), labels[step["from"]][1]
    entry = BranchEntry(
        purpose=step["purpose"], agent=AgentName(step["agent"]), parent=MAIN, fork=start, created=step["created"]
    )
    built.tips[name] = start
    built.described |= branch_change(name, entry)


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
    meta = write_metadata(repository, None, built.described, f"create {conversation}")
    active = names.SYMBOLIC + names.branch_ref(conversation, BranchName(document["active"]))
    changes = [RefChange(names.branch_ref(conversation, name), None, tip) for name, tip in built.tips.items()]
    changes.append(RefChange(names.meta_ref(conversation), None, meta))
    changes.append(RefChange(names.active_ref(conversation), None, active))
    return record_operation(repository, "import", f"bring in the sample as {conversation}", changes).id
