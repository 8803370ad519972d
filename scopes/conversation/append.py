"""`append`, `amend` and `retract`: add a message to the tip of a branch, or one that takes back another one (S4-27).

Concurrent appends need no exclusive lock and lose no message.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from shlex import quote
from typing import Any

from scopes.errors import Invalid, NotFound, Refused
from scopes.history.handles import BranchHandle, StoreHandle, check_limits, read_limits
from scopes.history.messages import (
    NO_CHANGES,
    Below,
    is_root,
    message_id_of,
    plain_message,
    read_below,
    read_message,
    retraction_of,
    write_message_blob,
    write_message_over,
)
from scopes.history.names import find_directory
from scopes.history.transaction import Transaction, append_as_operation, append_commit, signs_as
from scopes.ids import BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.merge.keys import claims_without, decoded_key, key_of_path, stated_claims
from scopes.model.canonical_json import leaf
from scopes.model.message import MESSAGES, RETRACTED_TEXT, Author, Message, encode, is_purged
from scopes.result import HIDDEN, Note, Result, shown
from scopes.store.graph import is_ancestor, walk_newest_first
from scopes.store.objects import BLOB, Objects, find_blob, read_commit
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write, require_unpurged

_IN_ONE_PACK = 50  # messages; from here on one pack is written and synced faster than three files for each
_newest: dict[Oid, Below] = {}  # of the last commit that was written here, which mostly is the parent of the next one


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAppended(Result):
    """A message that was written to disk.

    `parent` is set if the branch was created with the message: the branch it begins on. `active` says whether it was
    made the active one, and `operation` created both. `start` is the message at which it begins, unless that is the tip
    of `parent`.
    `remaining_turns` is set if one message was appended and there is a setting `scopes.maxTurns`: how many messages the
    branch may still get.
    `earlier` says that the conversation had the message already, and nothing was written.
    """

    kind = "message"

    id: MessageId
    oid: Oid
    conversation: ConversationId
    branch: BranchName
    parent: BranchName | None = None
    start: MessageId | None = None
    active: bool = field(default=True, metadata=HIDDEN)
    operation: OperationId | None = None
    remaining_turns: int | None = None
    earlier: bool = field(default=False, metadata=HIDDEN)

    @property
    @shown
    def recorded(self) -> str | None:
        """`earlier` if nothing was written."""
        return "earlier" if self.earlier else None


def append(
    repository: Repository, conversation: str, message: Message, *, branch: str | None = None
) -> MessageAppended:
    """Append a message to a branch; the active branch if none is given.

    Raises:
        NotFound, Ambiguous: the conversation or branch cannot be resolved.
        Invalid: the message is too large.
        Busy, Inaccessible: nothing was written, unless the error text says otherwise.
    """
    return append_to(StoreHandle(repository).conversation(conversation).branch(branch), message)


class KnownMessages:
    """The messages that a conversation has; what others have written meanwhile is read when it is asked for."""

    def __init__(self) -> None:
        self._seen: set[Oid] = set()
        self._commits: dict[MessageId, Oid] = {}

    def find(self, branch: BranchHandle, message: MessageId) -> Oid | None:
        """Return the commit of a message in the conversation of a branch; None if there is none."""
        for commit in list(walk_newest_first(branch.repository, branch.conversation.tips.values(), self._seen)):
            self._seen.add(commit.oid)
            self._commits.setdefault(message_id_of(commit), commit.oid)
        return self._commits.get(message)


class _Earlier(Exception):
    """The conversation has the message."""


def append_to(
    branch: BranchHandle,
    message: Message,
    *,
    first: MessageId | None = None,
    made_of: Collection[Oid] = (),
    known: KnownMessages | None = None,
) -> MessageAppended:
    """Append a message to a branch that was already resolved; raises as `append` does.

    `first` is the first message of the same command: `undo` takes back all messages of a command together.
    `made_of` are commits whose text the message has: Busy is raised if something of it was purged meanwhile.
    With `known` nothing is written if the conversation has a message of this id.
    """
    repository, conversation_id = branch.repository, branch.conversation.id
    lines = [encode(message)]
    [write_message] = message_writers(repository, conversation_id, [message], lines=lines)

    def write(tip: Oid) -> Oid:
        require_unpurged(repository, conversation_id, made_of)
        if known is not None and known.find(branch, message.id) is not None:
            raise _Earlier
        return write_message(tip)

    last = next(iter(_newest), None)
    try:
        oid = append_commit(repository, conversation_id, branch.name, message.id, write, first)
    except _Earlier:
        return _earlier(branch, message.id, known)
    remaining, limits = check_limits(repository, oid, read_limits(repository.config), appended=True)
    return MessageAppended(
        id=message.id,
        oid=oid,
        conversation=conversation_id,
        branch=branch.name,
        remaining_turns=remaining,
        notes=(*limits, *_notes_after(branch, lines, oid if first is None else None, last)),
    )


def append_all(branch: BranchHandle, messages: Sequence[Message]) -> list[MessageAppended]:
    """Append several messages to a branch that was already resolved, all or none, as one operation (S4-52).

    Other writers wait meanwhile, and readers see the branch without any or with all of the messages.

    Raises:
        NotFound: the branch was deleted.
        Busy, Inaccessible: nothing was written.
    """
    lines = _encode_all(messages)
    with exclusive_write(branch.repository):
        appended = _append_under_lock(branch, messages, lines)
    return _with_notes(branch, appended, lines)


def _encode_all(messages: Sequence[Message]) -> list[bytes]:
    if len(messages) >= _IN_ONE_PACK:
        from scopes import fast_json

        fast_json.enable()
    return [encode(message) for message in messages]


def _append_under_lock(
    branch: BranchHandle, messages: Sequence[Message], lines: Sequence[bytes]
) -> list[MessageAppended]:
    repository, old = branch.repository, branch.tip
    if len(messages) < _IN_ONE_PACK:
        appended = _write_all(repository, branch, old, messages, lines)
    else:
        from scopes.store.packs import bulk_objects

        with bulk_objects(repository) as objects:
            appended = _write_all(objects, branch, old, messages, lines)
    if appended:
        tx = Transaction(repository, branch.conversation.id)
        tx.move_branch(branch.name, old, appended[-1].oid)
        tx.commit("append-all", f"append {len(appended)} message{'s'[: len(appended) > 1]} to {branch}")
    return appended


def _with_notes(branch: BranchHandle, appended: list[MessageAppended], lines: Sequence[bytes]) -> list[MessageAppended]:
    notes = _notes_after(branch, lines, appended[0].oid) if appended else ()
    return [*appended[:-1], replace(appended[-1], notes=(*appended[-1].notes, *notes))] if notes else appended


def _earlier(branch: BranchHandle, message: MessageId, known: KnownMessages | None) -> MessageAppended:
    oid = None if known is None else known.find(branch, message)
    if oid is None:
        raise NotFound(f"message {message[:8]} is gone meanwhile", hint="try again")
    conversation = branch.conversation.id
    return MessageAppended(id=message, oid=oid, conversation=conversation, branch=branch.name, earlier=True)


def append_once(branch: BranchHandle, messages: Sequence[Message], known: KnownMessages) -> list[MessageAppended]:
    """Append those of several messages that the conversation does not have, as `append_all` does, each of them once."""
    lines = dict(zip((each.id for each in messages), _encode_all(messages), strict=True))
    with exclusive_write(branch.repository):
        new = {each.id: each for each in messages if known.find(branch, each.id) is None}
        written = _append_under_lock(branch, list(new.values()), [lines[each] for each in new])
    appended = {each.id: each for each in _with_notes(branch, written, [lines[each] for each in new])}
    return [appended.pop(each.id) if each.id in appended else _earlier(branch, each.id, known) for each in messages]


def _notes_after(
    branch: BranchHandle, lines: Sequence[bytes], appended: Oid | None, last: Oid | None = None
) -> tuple[Note, ...]:
    """Return notes about secrets in what was appended, and about a branch taken from the session that wrote it.

    appended: the first commit of the command; None if that was appended before
    last: the commit that this process wrote before, which no session did
    """
    from scopes.secrets.count import append_note

    notes = append_note(branch.repository, lines)
    if appended is None or (last is not None and read_commit(branch.repository, appended).parents[0] == last):
        return notes
    from scopes.history.sessions import note_followed

    return (*notes, *note_followed(branch, appended))


def _write_all(
    objects: Objects, branch: BranchHandle, tip: Oid, messages: Sequence[Message], lines: Sequence[bytes]
) -> list[MessageAppended]:
    """Write messages on top of a commit; no ref is moved."""
    conversation_id = branch.conversation.id
    writers = message_writers(branch.repository, conversation_id, messages, objects, lines=lines)
    appended: list[MessageAppended] = []
    for message, write in zip(messages, writers, strict=True):
        tip = write(tip)
        appended.append(MessageAppended(id=message.id, oid=tip, conversation=conversation_id, branch=branch.name))
    return appended


def message_writers(
    repository: Repository,
    conversation: ConversationId,
    messages: Sequence[Message],
    objects: Objects | None = None,
    *,
    lines: Sequence[bytes] | None = None,
) -> list[Callable[[Oid], Oid]]:
    """Return for each message a function that writes it, and its commit, on top of a tip; call it under the lock.

    A commit names the files that tool calls touched, relative to the directory of the conversation, and replaces what
    its author stated in another spelling of a topic. Objects are written to `objects` (default: the repository);
    `lines` are the messages as JSON, if they were encoded before. The decision of a person is signed where git signs.

    Raises:
        Invalid: a message is too large.
        Refused, TooNew: the store cannot be written.
    """
    repository.require_writable()
    store = repository if objects is None else objects
    lines = [encode(message) for message in messages] if lines is None else lines
    base = find_directory(repository, conversation) if any(map(_names_files, messages)) else None
    signs = [signs_as(repository, each.author) if each.kind == "decision" else bytes for each in messages]
    return [partial(_write, store, base, *each) for each in zip(messages, lines, signs, strict=True)]


def _write(  # noqa: PLR0917 - where, then what
    objects: Objects,
    base: str | None,
    given: Message,
    line: bytes,
    sign: Callable[[bytes], bytes],
    tip: Oid,
) -> Oid:
    message = given
    if not given.files and any(part.type == "tool_result" for part in given.parts):
        from scopes.history.activity import with_touched_files

        message = with_touched_files(objects, tip, given)
    blob = objects.write(BLOB, line) if message is given else write_message_blob(objects, message)
    below = _newest.get(tip) or read_below(objects, tip)
    commit, now = write_message_over(objects, tip, below, message, blob, base, NO_CHANGES, sign)
    _newest.clear()
    _newest[commit] = now
    return commit


def _names_files(message: Message) -> bool:
    return bool(message.files) or any(part.type in {"file_ref", "tool_result"} for part in message.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAmended(Result):
    """The new message that amends or retracts `target`; the target itself is not changed."""

    kind = "message"

    id: MessageId
    oid: Oid
    conversation: ConversationId
    branch: BranchName
    target: MessageId = field(metadata=HIDDEN)
    retracted: bool = field(metadata=HIDDEN)

    @property
    @shown
    def retracts(self) -> MessageId | None:
        """The message that is taken back."""
        return self.target if self.retracted else None

    @property
    @shown
    def amends(self) -> MessageId | None:
        """The message that has a new text."""
        return None if self.retracted else self.target


def amend(
    repository: Repository,
    conversation: str,
    target: str,
    text: str,
    *,
    author: Author,
    branch: str | None = None,
    data: Mapping[str, Any] | None = None,
) -> MessageAmended:
    """Append a message that replaces the text of an earlier one.

    `data` is the new document of a typed message, such as a decision: its claims replace those of the old one. Without
    it the message becomes plain text, and its claims are withdrawn.

    Raises:
        NotFound: the message is not on the branch.
        Refused: the message was retracted, or purged.
        Invalid: `data` does not fit the kind of the message.
    """
    with exclusive_write(repository):
        handle, old = _find_target(repository, conversation, target, branch)
        if is_purged(old):
            hint = f"append another message: scopes append {quote(str(handle))} TEXT"
            raise Refused(
                f"message {old.id[:8]} was purged, and nobody who purged it takes an amendment of it", hint=hint
            )
        message = replace(plain_message(author, text, kind=old.kind), amends=old.id)
        if data is not None:
            if old.payload is None:
                raise Invalid(f"message {old.id[:8]} has no data: it is of kind {old.kind}", hint="leave out --data")
            from scopes.model.validation import check_payload  # imports pydantic

            message = replace(message, payload=check_payload(old.kind, data))
        elif old.payload is not None:
            message = replace(message, kind="plain")
        return _append_about(handle, message, old)


def retract(
    repository: Repository,
    conversation: str,
    target: str,
    reason: str,
    *,
    author: Author,
    branch: str | None = None,
) -> MessageAmended:
    """Append a notice that retracts an earlier message: contexts and summaries leave it out, its claims are withdrawn.

    A withdrawn claim gives way to the newest earlier one about the same thing, such as the decision before.

    Raises:
        NotFound: the message is not on the branch.
        Refused: the message was retracted already.
    """
    with exclusive_write(repository):
        handle, old = _find_target(repository, conversation, target, branch)
        notice = retraction_of(old.id, author, reason or f"{RETRACTED_TEXT}{old.text[:60]}")
        return _append_about(handle, notice, old)


def _find_target(
    repository: Repository, conversation: str, target: str, branch: str | None
) -> tuple[BranchHandle, Message]:
    handle = StoreHandle(repository).branch(conversation, branch)
    log_hint = f"see: scopes log {quote(str(handle))}"
    oid = handle.find(target).oid
    tip = handle.tip
    if is_root(read_commit(repository, oid)):
        raise NotFound("the root of a conversation is not a message", hint=log_hint)
    if not is_ancestor(repository, oid, tip):
        raise NotFound(f"that message is not on {handle}", hint="name its branch: CONV/BRANCH MESSAGE")
    message = read_message(repository, oid)
    claim = find_blob(repository, read_commit(repository, tip).tree, "state/" + leaf(MESSAGES, message.id))
    if claim is not None and b'"retracted"' in claim:
        raise Refused(f"message {message.id[:8]} was retracted already", hint=log_hint)
    return handle, message


def _append_about(branch: BranchHandle, message: Message, old: Message) -> MessageAmended:
    """Append a message that amends or retracts an old one."""
    repository, verb = branch.repository, "amend" if message.retracts is None else "retract"
    oid = append_as_operation(
        repository,
        branch.conversation.id,
        branch.name,
        message,
        verb,
        f"{verb} {old.id[:8]} of {branch}",
        state_changes=NO_CHANGES if old.payload is None else claims_without(repository, branch.tip, old),
        sign=signs_as(repository, message.author),
    )
    notes: tuple[Note, ...] = ()
    claims = stated_claims(old)
    if claims and message.payload is None:
        keys = ", ".join(sorted(decoded_key(key_of_path(path)) for path in claims))
        again = f"to replace it: scopes amend {quote(branch.conversation.id)} {old.id[:8]} TEXT --data JSON"
        hint = None if message.retracts is not None else again
        notes = (Note(f"what it stated is withdrawn: {keys}", hint),)
    return MessageAmended(
        id=message.id,
        oid=oid,
        conversation=branch.conversation.id,
        branch=branch.name,
        target=old.id,
        retracted=message.retracts is not None,
        notes=notes,
    )
