"""`import --sample`: import a made-up conversation on which every command shows something.

Times and ids are fixed, so the sample has the same object ids in every store, and a second import finds the first.
"""

from __future__ import annotations

import json
import os
from base64 import b32encode
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from scopes.errors import Refused
from scopes.history.handles import next_conversation_id
from scopes.history.messages import write_message_blob, write_message_commit, write_root_commit
from scopes.history.metadata import read_metadata
from scopes.history.names import MAIN, conversation_ids
from scopes.history.sources import read_purged
from scopes.history.transaction import Transaction
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.model.conversation import BranchEntry, Root
from scopes.model.validation import check_message
from scopes.result import Result, counted
from scopes.store.objects import Objects, ObjectsInMemory, read_commit
from scopes.store.packs import bulk_objects
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

_DIRECTORY = os.path.dirname(__file__)
SAMPLE_FILE = os.path.join(_DIRECTORY, "sample.json")
SAMPLE_SESSIONS = tuple(  # two sessions of Claude Code; the second one continues a copy of the first one differently
    os.path.join(_DIRECTORY, "sample_sessions", f"{session}.jsonl")
    for session in ("0b6f3c52-5a1e-4d0f-9c37-2f8e5d1a7b10", "c94d7e08-63b2-4a55-8f1d-e07a91b6c3f4")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleImported(Result):
    """The conversation of the sample; `operation` is None if it was imported before."""

    kind = "import"

    conversation: ConversationId
    messages: int
    new_messages: int
    branches: int
    operation: OperationId | None

    @property
    def sentence(self) -> str:
        """Which conversation the sample is."""
        extent = f"{counted(self.messages, 'message')} on {counted(self.branches, 'branch')}"
        if self.operation is None:
            return f"the sample is already imported: {self.conversation}, {extent}"
        return f"imported the sample as {self.conversation}: {extent}"

    @property
    def answer(self) -> str:
        """The id of the conversation."""
        return self.conversation


@dataclass(slots=True)
class _Sample:
    """The objects that were written, before refs and metadata point to them."""

    root: Oid
    tips: dict[BranchName, Oid]
    title: str
    entries: dict[BranchName, BranchEntry]
    tags: dict[str, Oid]
    messages: list[MessageId] = field(default_factory=list)


def import_sample(repository: Repository) -> SampleImported:
    """Import the sample as a new conversation, unless it is in the store.

    Raises:
        Inaccessible, Busy: nothing was imported.
        Refused: it was purged, or one of its messages was, and it is not in the store.
    """
    with open(SAMPLE_FILE, encoding="utf-8") as file:
        text = file.read()
    document: dict[str, Any] = json.loads(text)
    with exclusive_write(repository):
        sample = _write_objects(ObjectsInMemory(repository), json.loads(text))
        existing = _find_by_root(repository, sample.root)
        if existing is None:
            _refuse_purged(repository, sample)
            with bulk_objects(repository) as objects:
                sample = _write_objects(objects, document)
        conversation = existing or next_conversation_id(repository)
        operation = None if existing else _create_conversation(repository, conversation, sample, document)
    return SampleImported(
        conversation=conversation,
        messages=len(sample.messages),
        new_messages=0 if existing else len(sample.messages),
        branches=len(sample.tips),
        operation=operation,
    )


def _refuse_purged(repository: Repository, sample: _Sample) -> None:
    """Refuse to bring back what was purged of the sample."""
    purged = read_purged(repository)
    is_whole = purged.has_conversation(sample.root)
    if is_whole or any(map(purged.has_message, sample.messages)):
        what = "the conversation of the sample" if is_whole else "a message of the sample"
        hint = "what was purged does not come back: import it into another store, with --store"
        raise Refused(f"{what} was purged here", hint=hint)


def _write_objects(objects: Objects, document: dict[str, Any]) -> _Sample:
    """Write the root and the messages; collect branches and tags."""
    root = Root(**document["root"])
    oid = write_root_commit(objects, root, dict.fromkeys(document["participants"], "agent"))
    main = BranchEntry(fork=oid, created=root.created)
    sample = _Sample(oid, {MAIN: oid}, document["title"], {MAIN: main}, {})
    labels: dict[str, tuple[MessageId, Oid]] = {}
    for step in document["steps"]:
        if "purpose" in step:
            _create_branch(sample, step, labels)
        else:
            _add_message(objects, sample, step, labels)
    for tag, label in document["tags"].items():
        sample.tags[tag] = labels[label][1]
    return sample


def _create_branch(sample: _Sample, step: dict[str, Any], labels: dict[str, tuple[MessageId, Oid]]) -> None:
    name, start = BranchName(step["branch"]), labels[step["from"]][1]
    entry = BranchEntry(
        purpose=step["purpose"], agent=AgentName(step["agent"]), parent=MAIN, fork=start, created=step["created"]
    )
    sample.tips[name] = start
    sample.entries[name] = entry


def _add_message(
    objects: Objects, sample: _Sample, step: dict[str, Any], labels: dict[str, tuple[MessageId, Oid]]
) -> None:
    branch = BranchName(step.pop("branch"))
    label = step.pop("label", f"#{len(sample.messages)}")
    if "reply_to" in step:
        step["reply_to"] = labels[step["reply_to"]][0]
    message = check_message(step, message_id=_sample_id(label), now=step["time"])
    oid = write_message_commit(objects, sample.tips[branch], message, write_message_blob(objects, message))
    sample.tips[branch] = oid
    sample.messages.append(message.id)
    labels[label] = (message.id, oid)


def _sample_id(label: str) -> MessageId:
    return MessageId(b32encode(sha256(f"sample/{label}".encode()).digest()).decode("ascii").lower()[:26])


def _find_by_root(repository: Repository, root: Oid) -> ConversationId | None:
    for conversation in conversation_ids(repository):
        main = read_metadata(repository, conversation).branches.get(MAIN)
        if main is not None and main.fork == root:
            return conversation
    return None


def _create_conversation(
    repository: Repository, conversation: ConversationId, sample: _Sample, document: dict[str, Any]
) -> OperationId:
    """Create the refs and the metadata of the conversation."""
    tx = Transaction(repository, conversation)
    for name, tip in sample.tips.items():
        tx.create_branch(name, tip)
    tx.set_title(sample.title)
    for name, entry in sample.entries.items():
        tx.set_branch_entry(name, entry)
    for tag, oid in sample.tags.items():
        tx.set_tag(tag, oid)
    tx.activate(BranchName(document["active"]))
    summary = f"import the sample as {conversation}"
    time = max(read_commit(repository, tip).time for tip in sample.tips.values())
    tx.write_edits(repository, "import", time=time, original=tx.edited_paths)
    return tx.commit("import", summary).id
