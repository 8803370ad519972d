"""`redact`: write a conversation again with its secrets masked, as a conversation of its own; the original stays.

Messages with a secret get new ids, all others keep theirs. Which commit and message became which is kept on this
machine alone, in refs/scopes/local/redacted/<root of the copy>.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from scopes.clock import new_id, new_uuid
from scopes.errors import Invalid, Refused
from scopes.history.conversations import next_conversation_id, refuse_taken
from scopes.history.handles import StoreHandle
from scopes.history.messages import MESSAGE_FILE, NO_TEXT, header_of, is_root
from scopes.history.metadata import read_metadata
from scopes.history.revisions import MAIN, find_root_commit
from scopes.history.transaction import Transaction
from scopes.ids import ConversationId, MessageId, Oid, OperationId, parse_conversation_id
from scopes.model import encoding
from scopes.model.codec import decode, encode
from scopes.model.conversation import BranchEntry, decode_root, encode_root
from scopes.model.message import Message
from scopes.model.path_encoding import decode_component, encode_component
from scopes.purge.edit_commit import edit_commit
from scopes.result import Note, Result
from scopes.secret_scan.clearance import Gate
from scopes.secrets.gates import gate_of
from scopes.store.graph import walk_oldest_first
from scopes.store.objects import BLOB, COMMIT, TREE, Commit, Identity, TreeEntry, format_commit, format_tree, parse_tree
from scopes.store.packs.bulk import bulk_objects
from scopes.store.refs import LOCAL
from scopes.store.repository import Objects, Repository, read_data
from scopes.store.transactions import exclusive_write
from scopes.store.trees import read_blob, update_tree

MAPS = f"{LOCAL}redacted/"
_MAP_FILE = "map.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRedacted(Result):
    """A redacted copy: the conversation it is of, its own id, how many messages have changed, and how many secrets."""

    source: ConversationId
    conversation: ConversationId
    branches: int
    messages: int
    secrets: int
    map_ref: str
    operation: OperationId


def redact(repository: Repository, conversation: str, *, conversation_id: str | None = None) -> ConversationRedacted:
    """Write a conversation again, with all its branches, tags and its title, with the secrets in them masked.

    What the allow-list has is no secret. The copy belongs to the same project, and an import does not find it.

    Raises:
        NotFound, Ambiguous: there is no such conversation, or several.
        Refused: it has no secret, or the id of the copy is taken.
        Invalid: the id is not valid, or a message becomes too large.
    """
    given = None if conversation_id is None else parse_conversation_id(conversation_id)
    with exclusive_write(repository):
        source = StoreHandle(repository).conversation(conversation)
        with bulk_objects(repository) as objects:
            copy = _Copy(objects, gate_of(repository, "redact"))
            for commit in walk_oldest_first(objects, source.tips.values()):
                copy.add(commit)
            title = read_metadata(repository, source.id).title
            new_title = None if title is None else copy.gate.clear_name(title, "the title")
            if copy.gate.redacted == 0:
                raise Refused(f"{source.id} has no secret that would be masked", hint="see: scopes secrets list")
            root = _root_of(repository, source.id)
            mapped = _write_map(objects, root, copy)
        name = given or next_conversation_id(repository)
        refuse_taken(repository, name)
        tx = _Copied(repository, name, copy).build(source.id, new_title)
        map_ref = f"{MAPS}{copy.commits[root]}"
        tx.move_ref(map_ref, None, mapped)
        operation = tx.commit("redact", f"redact {source.id} as {name}")
    return ConversationRedacted(
        source=source.id,
        conversation=name,
        branches=len(source.tips),
        messages=len(copy.messages),
        secrets=copy.gate.redacted,
        map_ref=map_ref,
        operation=operation.id,
        notes=(Note("the original is as it was", f"remove it for good: scopes purge {source.id}"),),
    )


def _root_of(repository: Repository, conversation: ConversationId) -> Oid:
    root = find_root_commit(repository, conversation)
    if root is None:
        raise Invalid(f"the history of {conversation} has no root", hint="see: scopes verify")
    return root


def _write_map(objects: Objects, root: Oid, copy: _Copy) -> Oid:
    """Write which commit and message became which."""
    commits: dict[str, Any] = {str(old): str(new) for old, new in copy.commits.items()}
    messages: dict[str, Any] = {str(old): str(new) for old, new in copy.messages.items()}
    data = encoding.dump({"v": 1, "root": root, "commits": commits, "messages": messages})
    tree = update_tree(objects, None, {_MAP_FILE: data})
    author = Identity("scopes", "scopes@systems.scopes")
    return objects.write(
        COMMIT, format_commit(tree=tree, parents=(), author=author, time=0, subject="map of a redaction")
    )


class _Copied:
    """The operation that makes the copy a conversation."""

    def __init__(self, repository: Repository, name: ConversationId, copy: _Copy) -> None:
        self._repository = repository
        self._copy = copy
        self._tx = Transaction(repository, name)

    def build(self, source: ConversationId, title: str | None) -> Transaction:
        """Add the branches and the metadata of the source."""
        handle, tx, commits = StoreHandle(self._repository).conversation(source), self._tx, self._copy.commits
        metadata = read_metadata(self._repository, source)
        for name, tip in handle.tips.items():
            tx.create_branch(name, commits[tip])
            tx.set_branch_entry(name, self._entry(metadata.branches.get(name, BranchEntry())))
        for tag, oid in metadata.tags.items():
            if oid in commits:
                tx.set_tag(tag, commits[oid])
        if title is not None:
            tx.set_title(title)
        if metadata.directory is not None:
            tx.set_directory(metadata.directory)
        tx.activate(MAIN if MAIN in handle.tips else next(iter(handle.tips)))
        return tx

    def _entry(self, entry: BranchEntry) -> BranchEntry:
        """Return the entry of a branch of the copy; what is unfinished in the original is not in it."""
        fork = None if entry.fork is None else self._copy.commits.get(entry.fork)
        return replace(entry, fork=fork, id=None, name=None, extra={})


class _Copy:
    """Commits with secrets masked; `commits` and `messages` map old ones to new ones, messages only if other."""

    def __init__(self, objects: Objects, gate: Gate) -> None:
        self._objects = objects
        self._trees: dict[Oid, Oid] = {}
        self.gate = gate
        self.commits: dict[Oid, Oid] = {}
        self.messages: dict[MessageId, MessageId] = {}

    def add(self, commit: Commit) -> None:
        """Write a commit again, after those below it."""
        entries = parse_tree(read_data(self._objects, commit.tree, TREE))
        data = read_data(self._objects, commit.oid, COMMIT)
        found = entries.get(MESSAGE_FILE)
        head = header_of(commit)
        new, subject = b"", None
        if found is not None and not found.is_tree:
            new = self._clear_root(found.oid) if is_root(commit) else self._clear_message(head.id, found.oid)
            entries[MESSAGE_FILE] = found._replace(oid=self._objects.write(BLOB, new))
        for name, entry in entries.items():
            if entry.is_tree:
                entries[name] = entry._replace(oid=self._clear_tree(entry.oid))
        if head.id in self.messages:
            subject = decode(new).text.strip() or NO_TEXT
            data = data.replace(f"\nScopes-Message: {head.id}\n".encode(), self._trailer(head.id), 1)
        cleared = self.gate.clear_name(subject or commit.subject, f"message {head.id}")
        tree = self._objects.write(TREE, format_tree(entries.values()))
        parents = [self.commits[parent] for parent in commit.parents]
        subject = None if cleared == commit.subject else cleared
        self.commits[commit.oid] = self._objects.write(COMMIT, edit_commit(data, tree, parents, subject=subject))

    def _trailer(self, message: MessageId) -> bytes:
        return f"\nScopes-Message: {self.messages[message]}\n".encode()

    def _clear_root(self, blob: Oid) -> bytes:
        """Return the root of another conversation, which no import and no remote takes for the original."""
        root = decode_root(self.gate.clear_line(read_blob(self._objects, blob), "the root"))
        return encode_root(root._replace(uuid=new_uuid(), format=None, native_id=None))

    def _clear_message(self, name: MessageId, blob: Oid) -> bytes:
        data = read_blob(self._objects, blob)
        message = decode(self.gate.clear_line(data, f"message {name}"))
        if encode(message) != encode(decode(data)):
            self.messages.setdefault(name, MessageId(new_id()))
        return encode(self._with_new_ids(replace(message, id=self.messages.get(name, name))))

    def _with_new_ids(self, message: Message) -> Message:
        """Return a message that names the new ids of others."""

        def new(name: str | None) -> str | None:
            return None if name is None else self.messages.get(MessageId(name), name)

        spawned_by = message.extra.get("spawned_by")
        extra: Mapping[str, Any] = message.extra
        if isinstance(spawned_by, dict) and isinstance(spawned_by.get("message"), str):
            extra = {**extra, "spawned_by": {**spawned_by, "message": new(spawned_by["message"])}}
        return replace(
            message,
            reply_to=new(message.reply_to),
            amends=new(message.amends),
            retracts=new(message.retracts),
            extra=extra,
        )

    def _clear_tree(self, tree: Oid) -> Oid:
        """Write a directory of the state again; keys are named by messages and by texts that may have a secret."""
        if tree not in self._trees:
            entries = [
                TreeEntry(
                    self._clear_key(entry.name),
                    self._clear_tree(entry.oid) if entry.is_tree else self._clear_claim(entry.oid),
                    is_tree=entry.is_tree,
                )
                for entry in parse_tree(read_data(self._objects, tree, TREE)).values()
            ]
            self._trees[tree] = self._objects.write(TREE, format_tree(entries))
        return self._trees[tree]

    def _clear_claim(self, blob: Oid) -> Oid:
        data = read_blob(self._objects, blob)
        cleared = self.gate.clear_line(data, "the state")
        return blob if cleared == data else self._objects.write(BLOB, cleared)

    def _clear_key(self, name: str) -> str:
        end = "=" if name.endswith("=") else ""
        plain = name.removesuffix("=")
        if MessageId(plain) in self.messages:
            return self.messages[MessageId(plain)] + end
        try:
            text = decode_component(plain)
        except Invalid:
            return name
        cleared = self.gate.clear_text(text, "the state")
        return name if cleared == text else encode_component(cleared) + end
