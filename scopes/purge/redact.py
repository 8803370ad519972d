"""`redact`: copy a conversation into a new one with its secrets masked; the original is not changed.

Messages with a secret get new ids, all others keep theirs. The mapping from old to new commits and messages is kept on
this machine only, in refs/scopes/local/redacted/<root of the copy>.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any, Final

from scopes.clock import new_id, new_uuid
from scopes.errors import Invalid, Refused
from scopes.history.handles import MAP_FILE, RedactedCopy, StoreHandle, list_copies, next_conversation_id, refuse_taken
from scopes.history.messages import MESSAGE_FILE, NO_TEXT, TO_TRAILER, format_message_commit, header_of, is_root
from scopes.history.metadata import DIRECTORY, Metadata, read_metadata, read_remote_branches
from scopes.history.names import MAIN, find_root_commit, parse_new_conversation_id
from scopes.history.transaction import Transaction
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.model import canonical_json
from scopes.model.canonical_json import decode_component, encode_component, names_in_path
from scopes.model.conversation import BranchEntry, decode_root, encode_root
from scopes.model.message import Message, decode, encode
from scopes.purge.redacted_names import RedactedNames
from scopes.result import Note, Result, counted
from scopes.secret_scan.clearance import Gate
from scopes.secrets.gates import gate_of
from scopes.store.graph import walk_oldest_first
from scopes.store.objects import (
    BLOB,
    COMMIT,
    TREE,
    Commit,
    Identity,
    Objects,
    TreeEntry,
    edit_commit,
    format_commit,
    format_tree,
    parse_tree,
    read_blob,
    read_commit,
    read_data,
    update_tree,
    walk_blobs,
)
from scopes.store.packs import bulk_objects
from scopes.store.refs import REDACTED, meta_ref
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRedacted(Result):
    """A redacted copy: the original, the id of the copy, and the numbers of changed messages and of masked secrets."""

    source: ConversationId
    conversation: ConversationId
    branches: int
    messages: int
    secrets: int
    map_ref: str
    operation: OperationId

    @property
    def sentence(self) -> list[str]:
        """What was made, and where the map of its messages is."""
        what = f"{counted(self.secrets, 'secret')} masked in {counted(self.messages, 'message')}"
        return [f"{self.source} copied as {self.conversation}: {what}", f"Map: {self.map_ref}"]

    @property
    def answer(self) -> str:
        """The id of the copy."""
        return self.conversation


def _note_original(conversation: ConversationId, remotes: Sequence[str]) -> Note:
    """Return a note about the original, and the remotes that have it."""
    hint = f"remove it for good: scopes purge {quote(conversation)} --whole"
    if not remotes:
        return Note("the original is as it was", hint)
    share = f"scopes push {quote(remotes[0])} --purged"
    return Note(f"the original is as it was, and {remotes[0]} has it", f"{hint}; for everybody, then: {share}")


def redact(repository: Repository, conversation: str, *, conversation_id: str | None = None) -> ConversationRedacted:
    """Copy a conversation with all branches, tags and the title, and mask the secrets in them.

    Secrets on the allow-list are not masked. The copy belongs to the same project; imports do not extend it.

    Raises:
        NotFound, Ambiguous: there is no such conversation, or several.
        Refused: it has no secret, or the id of the copy is taken.
        Invalid: the id is not valid, or a message becomes too large.
    """
    given = None if conversation_id is None else parse_new_conversation_id(conversation_id)
    with exclusive_write(repository):
        source = StoreHandle(repository).conversation(conversation)
        with bulk_objects(repository) as objects:
            copy = _Copy(objects, gate_of(repository, "redact"))
            for commit in walk_oldest_first(objects, source.tips.values()):
                copy.add(commit)
            names = _Names(copy.gate, read_metadata(repository, source.id), source.tips)
            _count_left_out(repository, source.id, copy.gate)
            if copy.gate.redacted == 0:
                raise Refused(f"{source.id} has no secret that would be masked", hint="see: scopes secrets list")
            root = _root_of(repository, source.id)
            mapped = _write_map(objects, root, copy)
        name = given or next_conversation_id(repository)
        refuse_taken(repository, name)
        before = list_copies(repository)
        tx = _Copied(repository, name, copy, names).build(source.id)
        map_ref = f"{REDACTED}{copy.commits[root]}"
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
        notes=(
            _note_original(source.id, list(read_remote_branches(repository, root))),
            *_note_earlier(before, source.id),
        ),
    )


def _write_map(objects: Objects, root: Oid, copy: _Copy) -> Oid:
    """Write which commits and messages of the conversation with this root became which; return the commit."""
    document: dict[str, Any] = {"v": 1, "root": root, "commits": {**copy.commits}, "messages": {**copy.messages}}
    tree = update_tree(objects, None, {MAP_FILE: canonical_json.dump(document)})
    author = Identity("scopes", "scopes@systems.scopes")
    return objects.write(
        COMMIT, format_commit(tree=tree, parents=(), author=author, time=0, subject="map of a redaction")
    )


def _note_earlier(copies: Iterable[RedactedCopy], source: ConversationId) -> Iterable[Note]:
    """Yield a note about earlier copies of a conversation."""
    names = [each.copy for each in copies if each.original == source]
    if names:
        words = "is an earlier copy" if len(names) == 1 else "are earlier copies"
        hint = f"what others have written in it stays there; delete it: scopes delete {quote(names[0])}"
        yield Note(f"{', '.join(names)} {words} of {source}, without what came later", hint)


def _count_left_out(repository: Repository, conversation: ConversationId, gate: Gate) -> None:
    """Let the gate count the secrets in metadata that are not copied: merge requests and names of removed tags."""
    metadata = repository.find_ref(meta_ref(conversation))
    tree = None if metadata is None else read_commit(repository, Oid(metadata)).tree
    for path, oid in walk_blobs(repository, tree) if tree is not None else ():
        if path != DIRECTORY:  # it never leaves
            for name in names_in_path(path):
                gate.clear_text(name, "the metadata")
            gate.clear(read_blob(repository, oid), "the metadata")


def _root_of(repository: Repository, conversation: ConversationId) -> Oid:
    root = find_root_commit(repository, conversation)
    if root is None:
        raise Invalid(f"the history of {conversation} has no root", hint="see: scopes verify")
    return root


class _Names:
    """The title and the names of branches and tags in the copy, by those of the original."""

    def __init__(self, gate: Gate, metadata: Metadata, branches: Iterable[BranchName]) -> None:
        self.title = None if metadata.title is None else gate.clear_name(metadata.title, "the title")
        parents = [each.parent for each in metadata.branches.values() if each.parent is not None]
        self.branches = RedactedNames(gate, dict.fromkeys((*branches, *parents)), "the name of a branch")
        self.tags = RedactedNames(gate, metadata.tags, "a tag")
        self.agents = {each.agent: gate.clear_text(each.agent or "", "an agent") for each in metadata.branches.values()}


class _Copied:
    """The operation that creates the conversation of the copy."""

    def __init__(self, repository: Repository, name: ConversationId, copy: _Copy, names: _Names) -> None:
        self._repository = repository
        self._copy = copy
        self._names = names
        self._tx = Transaction(repository, name)

    def build(self, source: ConversationId) -> Transaction:
        """Add the branches and the metadata of the source."""
        handle, tx, commits = StoreHandle(self._repository).conversation(source), self._tx, self._copy.commits
        metadata = read_metadata(self._repository, source)
        for name, tip in handle.tips.items():
            new = self._names.branches.branch(name) or name
            tx.create_branch(new, commits[tip])
            tx.set_branch_entry(new, self._entry(metadata.branches.get(name, BranchEntry())))
        for tag, oid in metadata.tags.items():
            if oid in commits:
                tx.set_tag(self._names.tags.tag(tag), commits[oid])
        if self._names.title is not None:
            tx.set_title(self._names.title)
        if metadata.directory is not None:
            tx.set_directory(metadata.directory)
        first = MAIN if MAIN in handle.tips else next(iter(handle.tips))
        tx.activate(self._names.branches.branch(first) or first)
        return tx

    def _entry(self, entry: BranchEntry) -> BranchEntry:
        """Return the entry of a branch of the copy, without an unfinished merge or replay of the original."""
        fork = None if entry.fork is None else self._copy.commits.get(entry.fork)
        agent = None if entry.agent is None else AgentName(self._names.agents[entry.agent])
        parent = self._names.branches.branch(entry.parent)
        return replace(entry, fork=fork, agent=agent, parent=parent, id=None, name=None, extra={})


_PERSON: Final = re.compile(rb"^(author|committer) .*>(?= [0-9]+ [+-][0-9]{4}$)", re.MULTILINE)
_RECIPIENTS: Final = f"{TO_TRAILER}: ".encode()


class _Copy:
    """Rewrites commits with secrets masked; `commits` maps old to new ids, `messages` only those that differ."""

    def __init__(self, objects: Objects, gate: Gate) -> None:
        self._objects = objects
        self._trees: dict[Oid, Oid] = {}
        self.gate = gate
        self.commits: dict[Oid, Oid] = {}
        self.messages: dict[MessageId, MessageId] = {}

    def add(self, commit: Commit) -> None:
        """Rewrite a commit; its parents must have been added before."""
        entries = parse_tree(read_data(self._objects, commit.tree, TREE))
        data = read_data(self._objects, commit.oid, COMMIT)
        found = entries.get(MESSAGE_FILE)
        head = header_of(commit)
        new, subject, message = b"", None, None
        if found is not None and not found.is_tree:
            new = self._clear_root(found.oid) if is_root(commit) else self._clear_message(head.id, found.oid)
            message = None if is_root(commit) else decode(new)
            entries[MESSAGE_FILE] = found._replace(oid=self._objects.write(BLOB, new))
        for name, entry in entries.items():
            if entry.is_tree:
                entries[name] = entry._replace(oid=self._clear_tree(entry.oid))
        if message is not None and (head.id in self.messages or self._names_secret(data, head.id)):
            data = _edit_people(data, format_message_commit(commit.tree, (), message, commit.time))
        if message is not None and head.id in self.messages:
            subject = message.text.strip() or NO_TEXT
            data = data.replace(f"\nScopes-Message: {head.id}\n".encode(), self._trailer(head.id), 1)
        cleared = self.gate.clear_name(subject or commit.subject, f"message {head.id}")
        tree = self._objects.write(TREE, format_tree(entries.values()))
        parents = [self.commits[parent] for parent in commit.parents]
        subject = None if cleared == commit.subject else cleared
        self.commits[commit.oid] = self._objects.write(COMMIT, edit_commit(data, tree, parents, subject=subject))

    def _names_secret(self, data: bytes, name: MessageId) -> bool:
        """Return True if there is a secret in the author or the recipients of a commit."""
        head, _, body = data.partition(b"\n\n")
        lines = head + b"\n" + body.partition(b"\n")[2]
        return self.gate.clear(lines, f"message {name}").data != lines

    def _trailer(self, message: MessageId) -> bytes:
        return f"\nScopes-Message: {self.messages[message]}\n".encode()

    def _clear_root(self, blob: Oid) -> bytes:
        """Return a new root document, so that imports and remotes do not mistake the copy for the original."""
        root = decode_root(self.gate.clear_line(read_blob(self._objects, blob), "the root"))
        return encode_root(root._replace(uuid=new_uuid(), format=None, native_id=None))

    def _clear_message(self, name: MessageId, blob: Oid) -> bytes:
        data = read_blob(self._objects, blob)
        message = decode(self.gate.clear_line(data, f"message {name}"))
        if encode(message) != encode(decode(data)):
            self.messages.setdefault(name, MessageId(new_id()))
        return encode(self._with_new_ids(replace(message, id=self.messages.get(name, name))))

    def _with_new_ids(self, message: Message) -> Message:
        """Return a message in which the ids of other messages are replaced by their new ids."""

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
        """Rewrite a directory of the state; its names may have ids of messages, and texts that may have a secret."""
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


def _edit_people(data: bytes, other: bytes) -> bytes:
    """Return the bytes of a commit with the author, the committer and the recipients of another one; times stay."""
    head, gap, body = data.partition(b"\n\n")
    people = {match[1]: match[0] for match in _PERSON.finditer(other)}
    head = _PERSON.sub(lambda match: people[match[1]], head)
    recipients = next((line for line in other.split(b"\n") if line.startswith(_RECIPIENTS)), b"")
    lines = (recipients if line.startswith(_RECIPIENTS) else line for line in body.split(b"\n"))
    return head + gap + b"\n".join(lines)
