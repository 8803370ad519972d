"""`cat`: read one message completely, or the records of the source that it was imported from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from shlex import quote

from scopes.errors import NotFound
from scopes.history.activity import SUMMARY, count_since
from scopes.history.handles import StoreHandle
from scopes.history.messages import (
    MessageHeader,
    RecordedTimes,
    find_claim,
    header_of,
    is_root,
    message_id_of,
    read_message_bytes,
)
from scopes.history.names import Revision, find_copies, list_branch_tips, read_active_branch, resolve_with_latest
from scopes.history.sources import find_message_spans, list_stored_sources, read_spans, walk_chunks
from scopes.ids import BranchName, ConversationId, MessageId
from scopes.model.message import Message, decode
from scopes.model.operation import Signature
from scopes.result import Note, RawDocument, Result
from scopes.store.graph import is_ancestor, walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Repository, read_commit

_MAX_APPENDED = 1000  # messages since the import that are searched for an imported one


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageView(Result):
    """One message; `stored` is the JSON line exactly as it is stored, `branch` the branch in the given name if any.

    For a summary, `newer` is the number of messages after it on its branch; if there are any, it is stale (S4-47).
    `retracted` and `amended` tell whether a later message on that branch, or else on the first one that has the
    message, retracted it or replaced its text. `signature` is what git says about that of its commit, if it has one and
    that was requested.
    """

    conversation: ConversationId
    branch: BranchName | None
    head: MessageHeader
    message: Message
    stored: bytes
    newer: int | None = None
    retracted: bool = False
    amended: bool = False
    signature: Signature | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalRecords(RawDocument):
    """The source records of one message, byte for byte, in the order of the source."""

    records: tuple[bytes, ...]

    @property
    def pieces(self) -> Iterable[bytes]:
        """The records; a newline is added to a record that does not end with one."""
        return (record if record.endswith(b"\n") else record + b"\n" for record in self.records)


def cat(repository: Repository, message: str, *, conversation: str | None = None) -> MessageView:
    """Read one message by id, by revision (`conv-001/main~2`) or by tag.

    `conversation` is the only one that is searched; with `CONV/BRANCH` the message must be on this branch.

    An id that several conversations have, after a cherry-pick, is read in the latest of them, with a note.

    Raises:
        NotFound: there is no such message, it is not on the branch, or the revision is the root of a conversation.
    """
    copies = find_copies(repository, message) if conversation is None else []
    revision = copies[0] if copies else _resolve(repository, message, conversation)
    commit = read_commit(repository, revision.oid)
    if is_root(commit):
        where = f"{revision.conversation}/{revision.branch}" if revision.branch else revision.conversation
        hint = f'add one: scopes append {quote(revision.conversation)} "..."'
        raise NotFound(f"{where} has no message here", hint=hint)
    stored = read_message_bytes(repository, revision.oid)
    head, decoded = RecordedTimes(repository).add_to(header_of(commit)), decode(stored)
    claim = _find_claim(repository, revision, head)
    return MessageView(
        conversation=revision.conversation,
        branch=revision.branch,
        head=head,
        message=decoded,
        stored=stored,
        newer=_count_newer(repository, revision, head, decoded) if head.kind == SUMMARY else None,
        retracted="retracted" in claim,
        amended="amended" in claim,
        notes=_copy_notes(head, copies),
    )


def read_original(repository: Repository, message: str, *, conversation: str | None = None) -> OriginalRecords:
    """Read the records that a message was imported from, out of the first source that has it.

    A conversation or a branch stands for its newest message that was imported.

    Raises:
        NotFound: there is no such message, or it was not imported.
    """
    revision = _resolve(repository, message, conversation)
    commits: Iterable[Commit] = [read_commit(repository, revision.oid)]
    if revision.branch is not None and not any(mark in message for mark in "~^@{"):
        commits = islice(walk_newest_first(repository, [revision.oid]), _MAX_APPENDED)
    sources = list_stored_sources(repository)
    message_id = MessageId("")
    for commit in commits:
        message_id = message_id or message_id_of(commit)
        for source in sources:
            spans = () if is_root(commit) else find_message_spans(repository, source, message_id_of(commit))
            if spans:
                return OriginalRecords(records=tuple(read_spans(walk_chunks(repository, source), spans)))
    hint = f"see how it is stored: scopes cat {message_id} --raw"
    raise NotFound(f"{message_id} was not imported, so it has no original", hint=hint)


def _resolve(repository: Repository, message: str, conversation: str | None) -> Revision:
    if conversation is None:
        return resolve_with_latest(repository, message)
    within, _, branch = conversation.partition("/")
    handle = StoreHandle(repository).conversation(within)
    revision = handle.revision(message)
    on = handle.branch(branch) if branch else None
    if on is not None and not is_ancestor(repository, revision.oid, on.tip):
        raise NotFound(
            f"that message is not on {on}", hint=f"to read it: scopes cat {quote(handle.id)} {quote(message)}"
        )
    return revision


def _copy_notes(head: MessageHeader, copies: Sequence[Revision]) -> tuple[Note, ...]:
    """Return a note that names the conversations with other copies of a message."""
    others = [revision.conversation for revision in copies[1:]]
    if not others:
        return ()
    text = f"message {head.id[:8]} of {copies[0].conversation} is shown; it is also in {', '.join(others)}"
    return (Note(text, f"to read that one: scopes cat {quote(others[0])}/{head.id[:8]}"),)


def _find_claim(repository: Repository, revision: Revision, head: MessageHeader) -> Mapping[str, object]:
    """Return the claim about a message on the named branch, else the active one, else the first that has it."""
    tips = list_branch_tips(repository, revision.conversation)
    order = (revision.branch, read_active_branch(repository, revision.conversation), *tips)
    for branch in dict.fromkeys(name for name in order if name in tips):
        if is_ancestor(repository, revision.oid, tips[branch]):
            return find_claim(repository, tips[branch], head.id)
    return {}


def _count_newer(repository: Repository, revision: Revision, head: MessageHeader, message: Message) -> int | None:
    """Count the messages after a summary on its branch: the named one, the summarized one, or the active one."""
    branches: list[str] = [] if revision.branch is None else [revision.branch]
    match message.extra.get("summarizes"):
        case {"branch": str(summarized)}:
            branches.append(summarized)
    branches.append(read_active_branch(repository, revision.conversation))
    return count_since(repository, revision.conversation, head, branches)
