"""Read and write message commits. The commit alone is enough for lists and logs; bodies are read on demand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

from scopes.clock import known_seconds, new_id, now, seconds_of, utc
from scopes.errors import Corrupt, Invalid, NotFound
from scopes.ids import AgentName, MessageId, Oid, parse_agent_name, slug
from scopes.lazy_patterns import compile_lazily
from scopes.model import canonical_json
from scopes.model.canonical_json import decode_component, leaf
from scopes.model.conversation import Root, decode_root, encode_root
from scopes.model.message import (
    AUTHOR_KINDS,
    PARTICIPANTS,
    TYPED_KINDS,
    Author,
    Message,
    claims_of,
    content_hash,
    decode,
    encode,
    participant_claim,
    payload_key,
    text_parts,
)
from scopes.sanitize import SUBJECT_LENGTH, mark_cut
from scopes.store.config import Config
from scopes.store.graph import walk_newest_first, walk_oldest_first
from scopes.store.objects import (
    BLOB,
    COMMIT,
    DIRECTORY_MODE,
    EMPTY_TREE,
    FILE_MODE,
    TREE,
    BlobChange,
    Commit,
    Identity,
    Objects,
    TreeEntry,
    clamp_time,
    find_blob,
    find_entry,
    find_in_tree,
    format_commit,
    format_tree,
    object_id,
    parse_tree_id,
    read_blob,
    read_commit,
    read_data,
    read_tree,
    update_tree,
)
from scopes.store.operations import walk_operation_commits
from scopes.store.refs import HEADS
from scopes.store.repository import Repository, read_operation

MESSAGE_FILE = "message.json"
STATE_DIRECTORY = "state"
ID_TRAILER = "Scopes-Message"
KIND_TRAILER = "Scopes-Kind"
TO_TRAILER = "Scopes-To"
ROOT_KIND = "root"
NO_TEXT = "(no text)"  # the subject of a message that has none
ROOT_SUBJECT = "Conversation begins"
_PARTICIPANT = f"{PARTICIPANTS}/"
_WORDS = compile_lazily(r"[a-z]{1,20}(?:_[a-z]{1,20}){0,5}")
NO_CHANGES: Mapping[str, BlobChange] = {}
_DOMAIN = "s.scopes"
_MESSAGE_ENTRY = b"%s %s\0" % (FILE_MODE, MESSAGE_FILE.encode())  # the first entry of a tree
_STATE_ENTRY = b"%s %s\0" % (DIRECTORY_MODE, STATE_DIRECTORY.encode())  # the second one
_RAW_OID_BYTES = 20
_MESSAGE_ENTRY_BYTES = len(_MESSAGE_ENTRY) + _RAW_OID_BYTES
DEFAULT_AUTHOR = "user"


class Below(NamedTuple):
    """What the commit of a message takes over from the one below it.

    state: the tree of the state; None if it is empty
    time: in whole seconds since 1970
    participants: claims of participants that are known to be in the state; there may be more
    """

    state: Oid | None
    time: int
    participants: frozenset[tuple[str, bytes]] = frozenset()


class MessageHeader(NamedTuple):
    """The fields of a message that are in its commit.

    `time` is in whole seconds since 1970, that of the message before it if it has none; `subject` is the start of the
    first line. `recorded` is when the message was written, if that is known and it has another time, and `title` what
    to show for a merge of scopes, with the names of its branches: see RecordedTimes. `tree` is that of the commit, if
    known: `read_body` need not read the commit for it. It is a named tuple because a log makes one for each message,
    and that takes a third of the time of a dataclass.
    """

    id: MessageId
    oid: Oid
    parents: tuple[Oid, ...]
    author: AgentName
    author_kind: str
    kind: str
    time: int
    subject: str
    to: tuple[str, ...]
    recorded: int | None = None
    title: str | None = None
    tree: Oid | None = None

    @property
    def shown_subject(self) -> str:
        """The subject that people see: of a merge of scopes with its branches, which are not in the commit."""
        return self.subject if self.title is None else self.title

    @property
    def who(self) -> str:
        """The name of the author that people see: `SYSTEM` for the system."""
        return shown_author(self)

    @property
    def when(self) -> str | None:
        """The time that people see."""
        return display_time(self)

    @property
    def line(self) -> str:
        """The subject that people see, with an ellipsis if the commit has only its beginning."""
        return mark_cut(self.shown_subject)

    def document(self) -> dict[str, object]:
        """Return the message as a JSON object. `kind` is there for older scripts; `message_kind` is the same."""
        return canonical_json.without_none(
            kind=self.kind,
            message_kind=self.kind,
            id=self.id,
            oid=self.oid,
            parents=list(self.parents),
            author=self.author,
            author_kind=self.author_kind,
            time=known_seconds(self.time),
            recorded_at=None if self.recorded is None else known_seconds(self.recorded),
            to=list(self.to) or None,
            subject=self.subject,
        )


def message_document(head: MessageHeader, message: Message | None) -> dict[str, object]:
    """Return a message under its own kind as a JSON object; without its body, only what its commit contains.

    `text` is the recorded text. A typed message without one has its document as people see it as `subject`:
    `decision: jwt · topic: auth`. `message_kind` is its kind; `kind`, which elsewhere is the kind of the document, is
    the same for older scripts.
    """
    if message is None:
        return head.document()
    files = [
        canonical_json.without_none(path=each.path, op=each.op, content_hash=each.content_hash, **{"from": each.source})
        for each in message.files
    ]
    document: dict[str, object] = canonical_json.without_none(
        kind=message.kind,
        message_kind=message.kind,
        id=head.id,
        oid=head.oid,
        parents=list(head.parents),
        author=message.author.name,
        author_kind=message.author.kind,
        time=utc(message.time),
        recorded_at=None if head.recorded is None else known_seconds(head.recorded),
        to=list(message.to) or None,
        reply_to=message.reply_to,
        amends=message.amends,
        retracts=message.retracts,
        work_item=message.work_item,
        task=message.task,
        activity=message.activity,
        tool=message.tool,
        model=message.model,
        status=message.status,
        stop_reason=message.stop_reason,
        files=files or None,
        text=message.text,
        subject=None if message.text or message.payload is None else summarize_payload(message.payload),
        parts=[{"type": part.type, **part.fields} for part in message.parts],
        extra=message.extra or None,
    )
    return document if message.payload is None else {**document, payload_key(message.kind): message.payload}


@lru_cache(maxsize=1000)
def identity_of(name: str, kind: str) -> Identity:
    """Return the commit author of a name: `carol <carol@agents.scopes>`."""
    return Identity(name, f"{slug(name)}@{slug(kind)}{_DOMAIN}")


def header_of(commit: Commit) -> MessageHeader:
    """Return the message header of a commit."""
    oid, tree, parents, (author, email), time, subject, message_id, kind, to, _ = commit
    return MessageHeader(  # every call in this function counts, as in `parse_commit`
        oid if message_id is None else message_id,  # type: ignore[arg-type] # as `message_id_of`
        oid,
        parents,
        author,  # type: ignore[arg-type]
        author_kind_of(email),
        "unknown" if kind is None else kind,
        time,
        subject,
        tuple(to.split(", ")) if to else (),
        None,
        None,
        tree,
    )


@lru_cache(maxsize=1000)
def author_kind_of(email: str) -> str:
    """Return the author kind in the mail address of a commit's author; `unknown` for other addresses."""
    domain = email.rpartition("@")[2]
    return domain.removesuffix(_DOMAIN) if domain.endswith(_DOMAIN) else "unknown"


def shown_author(head: MessageHeader) -> str:
    """Return the name of an author as people see it: `SYSTEM` for the system."""
    return "SYSTEM" if head.author_kind == "system" else head.author


def display_time(head: MessageHeader) -> str | None:
    """Return the time of a message that people see: when it was written, for a merge of scopes, or its stored time."""
    return known_seconds(head.time if head.recorded is None else head.recorded)


def summarize_payload(payload: Mapping[str, Any]) -> str:
    """Return the document of a typed message as one line: `decision: jwt · topic: auth`; lists and objects last.

    A name that is not made of words stays as it is: it may be a secret, which is not found with blanks in it.
    """
    fields = sorted(payload.items(), key=lambda item: not isinstance(item[1], str))
    texts = (
        (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)) for name, value in fields
    )
    return " · ".join(f"{_words_of(name)}: {' '.join(text.split())}" for name, text in texts)


def _words_of(name: str) -> str:
    return name.replace("_", " ") if _WORDS.fullmatch(name) else name


def subject_of(head: MessageHeader, message: Message) -> str:
    """Return the subject of a message; of a typed message without text, its document as one line."""
    return summarize_payload(message.payload) if head.subject == NO_TEXT and message.payload else head.subject


def with_subject(objects: Objects, head: MessageHeader) -> MessageHeader:
    """Return the header of a message; of a typed message without text with its document as the subject."""
    if head.subject != NO_TEXT or head.kind not in TYPED_KINDS:
        return head
    return head._replace(subject=subject_of(head, read_body(objects, head))[:SUBJECT_LENGTH])


def message_id_of(commit: Commit) -> MessageId:
    """Return the message id of a commit; a commit of another program has its own id instead."""
    return MessageId(commit.oid if commit.message_id is None else commit.message_id)


def split_message_tree(data: bytes) -> tuple[Oid, Oid | None] | None:
    """Return message and state of the tree of a message, as scopes writes it; None for a tree that is not so."""
    end = _MESSAGE_ENTRY_BYTES + len(_STATE_ENTRY)
    if not data.startswith(_MESSAGE_ENTRY):
        return None
    message = Oid(data[len(_MESSAGE_ENTRY) : _MESSAGE_ENTRY_BYTES].hex())
    if len(data) == _MESSAGE_ENTRY_BYTES:
        return message, None
    if len(data) != end + _RAW_OID_BYTES or not data.startswith(_STATE_ENTRY, _MESSAGE_ENTRY_BYTES):
        return None
    return message, Oid(data[end:].hex())


def is_root(commit: Commit) -> bool:
    """Return True if a commit is the root commit of a conversation."""
    return commit.kind == ROOT_KIND


def walk_headers_newest_first(
    objects: Objects, tips: Iterable[Oid], hidden: Container[Oid] = ()
) -> Iterator[MessageHeader]:
    """Yield the messages reachable from the tips, each message id once, children before parents."""
    return headers_of(walk_newest_first(objects, tips, hidden))


def walk_headers_oldest_first(
    objects: Objects, tips: Iterable[Oid], hidden: Container[Oid] = ()
) -> Iterator[MessageHeader]:
    """Yield the messages reachable from the tips, each message id once, parents before children."""
    return headers_of(walk_oldest_first(objects, tips, hidden))


def headers_of(commits: Iterable[Commit]) -> Iterator[MessageHeader]:
    """Yield the headers of the messages in commits, each message id once."""
    seen: set[MessageId] = set()
    for commit in commits:
        head = header_of(commit)
        if head.id not in seen and head.kind != ROOT_KIND:
            seen.add(head.id)
            yield head


def count_messages(commits: Iterable[Commit]) -> int:
    """Count the messages in commits, each message id once."""
    return len({message_id_of(commit) for commit in commits if not is_root(commit)})


def read_message(objects: Objects, oid: Oid) -> Message:
    """Read the message of a commit.

    Raises:
        Corrupt, NotFound: the message is damaged or missing.
    """
    return decode(read_message_bytes(objects, oid))


def read_body(objects: Objects, head: MessageHeader | Commit) -> Message:
    """Read the message of a header or commit that was read already; raises as `read_message` does."""
    return read_message(objects, head.oid) if head.tree is None else decode(read_message_bytes_at(objects, head.tree))


def read_body_bytes(objects: Objects, head: MessageHeader | Commit) -> bytes:
    """Return the stored JSON line of the message of a header or commit that was read already."""
    return read_message_bytes(objects, head.oid) if head.tree is None else read_message_bytes_at(objects, head.tree)


def read_message_bytes(objects: Objects, oid: Oid) -> bytes:
    """Return the stored JSON line of the message of a commit."""
    return read_message_bytes_at(objects, parse_tree_id(oid, read_data(objects, oid, COMMIT)))


def read_message_bytes_at(objects: Objects, tree: Oid) -> bytes:
    """Return the stored JSON line of the message in the tree of a commit; redacted, if the repository says so."""
    data = _read_stored_bytes(objects, tree)
    clear = objects.caller.clear_message if isinstance(objects, Repository) else None
    return data if clear is None else clear(data)


def read_stored_body(objects: Objects, head: MessageHeader) -> bytes:
    """Return the JSON line of the message of a header as it is stored, also while text leaves redacted."""
    return _read_stored_bytes(objects, head.tree or parse_tree_id(head.oid, read_data(objects, head.oid, COMMIT)))


def _read_stored_bytes(objects: Objects, tree: Oid) -> bytes:
    data = read_data(objects, tree, TREE)
    if data.startswith(_MESSAGE_ENTRY) and len(data) >= _MESSAGE_ENTRY_BYTES:  # as scopes writes them
        return read_data(objects, Oid(data[len(_MESSAGE_ENTRY) : _MESSAGE_ENTRY_BYTES].hex()), BLOB)
    return find_blob(objects, tree, MESSAGE_FILE) or b""


def plain_message(author: Author | str, text: str, *, kind: str = "plain") -> Message:
    """Return a new message with one text part, the current time and a new id; a plain name is that of an agent.

    Raises:
        Invalid: the author's name is blank or too long.
    """
    return Message(id=new_id(), author=check_author(author), parts=text_parts(text), kind=kind, time=now())


def retraction_of(target: MessageId, author: Author | str, text: str) -> Message:
    """Return a new notice that retracts a message; raises as `plain_message` does."""
    return replace(plain_message(author, text, kind="notice"), retracts=target)


def check_author(author: Author | str) -> Author:
    """Return the author if name and kind are valid; a plain name is that of an agent.

    Raises:
        Invalid: the name is blank or too long, or there is no such kind.
    """
    name, kind = Author(author) if isinstance(author, str) else author
    if kind not in AUTHOR_KINDS:
        raise Invalid(f"{kind!a} is not a valid author kind", hint="valid kinds: " + ", ".join(AUTHOR_KINDS))
    return Author(parse_agent_name(name), kind)


def default_author(config: Config) -> Author:
    """Return the author of messages for which none is named: the person in the settings, or `user`.

    Raises:
        Invalid: the name in the settings is blank or too long.
    """
    return check_author(Author(config.find_person() or DEFAULT_AUTHOR, "human"))


def write_root_commit(objects: Objects, root: Root, participants: Mapping[str, str]) -> Oid:
    """Write the root commit of a conversation; `participants` maps names to author kinds."""
    blob = objects.write(BLOB, encode_root(root))
    entries = [TreeEntry(MESSAGE_FILE, blob, is_tree=False)]
    if participants:
        claims: dict[str, BlobChange] = dict(participant_claim(name, kind) for name, kind in participants.items())
        entries.append(TreeEntry(STATE_DIRECTORY, update_tree(objects, None, claims), is_tree=True))
    tree = objects.write(TREE, format_tree(entries))
    return objects.write(COMMIT, format_root_commit(tree, seconds_of(root.created)))


def format_root_commit(tree: Oid, time: int) -> bytes:
    """Format the root commit of a conversation."""
    return format_commit(
        tree=tree,
        parents=(),
        author=identity_of("scopes", "system"),
        time=time,
        subject=ROOT_SUBJECT,
        trailers=[(KIND_TRAILER, ROOT_KIND)],
    )


def write_message_blob(objects: Objects, message: Message) -> Oid:
    """Write the JSON line of a message; it does not depend on the branch.

    Raises:
        Invalid: the message is too large or too deep.
    """
    return objects.write(BLOB, encode(message))


def write_message_commit(  # noqa: PLR0917 - the parts of a commit
    objects: Objects,
    parent: Oid,
    message: Message,
    blob: Oid,
    base: str | None = None,
    state_changes: Mapping[str, BlobChange] = NO_CHANGES,
    sign: Callable[[bytes], bytes] = bytes,
) -> Oid:
    """Write the commit of a message on top of `parent`, with the next state; `base` is the cwd of the conversation.

    `state_changes` are changes to the state that are made before the claims of the message. `sign` returns the bytes of
    the commit with a signature.
    """
    return write_message_over(objects, parent, read_below(objects, parent), message, blob, base, state_changes, sign)[0]


def read_below(objects: Objects, parent: Oid) -> Below:
    """Read what the next message takes over from a commit."""
    commit = read_commit(objects, parent)
    entry = find_in_tree(read_data(objects, commit.tree, TREE), STATE_DIRECTORY)
    return Below(None if entry is None else entry.oid, commit.time)


def write_message_over(  # noqa: PLR0917 - the parts of a commit
    objects: Objects,
    parent: Oid,
    below: Below,
    message: Message,
    blob: Oid,
    base: str | None = None,
    state_changes: Mapping[str, BlobChange] = NO_CHANGES,
    sign: Callable[[bytes], bytes] = bytes,
) -> tuple[Oid, Below]:
    """Write the commit of a message on top of `parent`, which has `below`; return it and what the next one needs."""
    state, participants = _next_state(objects, below, message, base, state_changes)
    time = below.time if message.time is None else seconds_of(message.time)
    commit = write_commit_over(objects, (parent,), message, blob, state, time=time, sign=sign)
    return commit, Below(None if state == EMPTY_TREE else state, clamp_time(time), participants)


def write_commit_over(
    objects: Objects,
    parents: Sequence[Oid],
    message: Message,
    blob: Oid,
    state: Oid | None,
    *,
    time: int,
    sign: Callable[[bytes], bytes] = bytes,
) -> Oid:
    """Write the commit of a message with the given parents and state; `time` is in seconds."""
    tree = _MESSAGE_ENTRY + bytes.fromhex(blob)
    if state is not None and state != EMPTY_TREE:
        tree += _STATE_ENTRY + bytes.fromhex(state)
    return objects.write(COMMIT, sign(format_message_commit(objects.write(TREE, tree), parents, message, time)))


def format_message_commit(tree: Oid, parents: Sequence[Oid], message: Message, time: int) -> bytes:
    """Format the commit of a message; all of it but tree, parents and time is what the message gives."""
    trailers = [(ID_TRAILER, message.id), (KIND_TRAILER, message.kind)]
    if message.to:
        trailers.append((TO_TRAILER, ", ".join(message.to)))
    return format_commit(
        tree=tree,
        parents=parents,
        author=identity_of(message.author.name, message.author.kind),
        time=time,
        subject=message.text.strip() or NO_TEXT,
        trailers=trailers,
    )


def _next_state(
    objects: Objects,
    below: Below,
    message: Message,
    base: str | None,
    state_changes: Mapping[str, BlobChange],
) -> tuple[Oid | None, frozenset[tuple[str, bytes]]]:
    """Apply changes to the state and the claims of a message; write nothing if the state has them already.

    Return the state, and the claims of participants that are known to be in it.
    """
    state, known = below.state, below.participants

    def previous(path: str) -> bytes | None:
        return None if state is None else find_blob(objects, state, path)

    claims: dict[str, BlobChange] = dict(claims_of(message, previous, base))
    if state_changes:
        claims = {**state_changes, **claims}
        known = frozenset()
    elif known.issuperset(claims.items()):
        return state, known
    changes = {
        path: claim
        for path, claim in claims.items()
        if (path, claim) not in known and not _is_claimed(objects, state, path, claim)
    }
    added = [(p, claim) for p, claim in claims.items() if p.startswith(_PARTICIPANT) and isinstance(claim, bytes)]
    if not known.issuperset(added):
        known = frozenset((dict(known) | dict(added)).items())
    return update_tree(objects, state, changes) if changes else state, known


def _is_claimed(objects: Objects, state: Oid | None, path: str, claim: BlobChange) -> bool:
    """Return True if a state has a claim already; the claim is hashed, which takes less time than to read that one."""
    entry = None if state is None else find_entry(objects, state, path)
    if entry is None or entry.is_tree:
        return claim is None
    return isinstance(claim, bytes) and object_id(BLOB, claim) == entry.oid


def read_root(repository: Repository, tip: Commit, expected: Oid | None) -> Root:
    """Read a conversation's root: the commit `expected` if it is one, or else the end of the history of `tip`.

    Raises:
        NotFound: the history has no root.
    """
    commit = read_commit(repository, expected) if expected is not None and repository.has(expected) else tip
    if not is_root(commit):
        commit = next((c for c in walk_newest_first(repository, [tip.oid]) if is_root(c)), commit)
    return read_root_of(repository, commit, tip.oid)


def read_root_of(objects: Objects, commit: Commit, tip: Oid) -> Root:
    """Read a conversation's root from its root commit, which is in the history of `tip`.

    Raises:
        NotFound: it is not a root commit.
    """
    data = find_blob(objects, commit.tree, MESSAGE_FILE) if is_root(commit) else None
    if data is None:
        raise NotFound(f"the history of {tip} has no root", hint="see: scopes verify")
    return decode_root(data)


_AUTHOR: Final = "scopes"
OWN_ADDRESS: Final = identity_of(_AUTHOR, "system").email
_MERGE, _NOTICE = "merge", "system"  # kinds of messages of scopes
_STOPPED: Final = "-conflict"  # the end of the kind: a merge, rebase or cherry-pick stopped
_FAST_FORWARD: Final = " (fast-forward)"  # the end of the summary
_SUMMARY: Final = re.compile(r"(?:begin to )?merge (?P<source>\S+) into [^/\s]+/(?P<target>[^\s,]+)(?:, .*)?")
_OWN_TEXT: Final = re.compile(r"Merge [0-9]+ messages?")
_DAY_SECONDS: Final = 86_400  # clocks of agents may be ahead of ours by this much


class RecordedTimes:
    """The times at which operations wrote commits; the log is read only as far back as a lookup needs.

    A merge that stopped on conflicts was written when it stopped.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._times: dict[Oid, int] = {}
        self._branches: dict[Oid, tuple[str, str]] = {}  # what was merged into what, by the merge commit
        self._reached: int | None = None  # the time of the oldest operation read so far
        self._steps: Iterator[None] = self._read_log()

    def find(self, oid: Oid, stored: int) -> int | None:
        """Return when a commit was written, in seconds since 1970; None if the log has no operation that wrote it.

        `stored` is the time in the commit: operations that are older by more than a day are not read.
        """
        while oid not in self._times and (self._reached is None or self._reached >= stored - _DAY_SECONDS):
            try:
                next(self._steps)
            except (StopIteration, Corrupt, NotFound):
                break
        return self._times.get(oid)

    def find_newest(self, commits: Iterable[Commit]) -> int:
        """Return the latest time at which one of some commits of scopes was written, if the log has it; else 0."""
        own = (self.find(each.oid, each.time) for each in commits if each.author.email == OWN_ADDRESS)
        return max(filter(None, own), default=0)

    def find_source(self, commit: Commit) -> str:
        """Return the name of what a merge commit merged, also from another conversation; empty if it is not known."""
        self.find(commit.oid, commit.time)
        return self._branches.get(commit.oid, ("", ""))[0]

    def add_to(self, head: MessageHeader) -> MessageHeader:
        """Return the header of a merge or notice of scopes with the time at which it was written, others unchanged."""
        if head.author_kind != "system" or head.kind not in {_MERGE, _NOTICE} or head.author != _AUTHOR:
            return head
        found = self.find(head.oid, head.time)
        if found is None:
            return head
        title = None
        if head.oid in self._branches and _OWN_TEXT.fullmatch(head.subject):
            source, target = self._branches[head.oid]
            title = f"Merge branch '{source}' into {target} ({head.subject.removeprefix('Merge ')})"
        return head._replace(recorded=found, title=title)

    def _read_log(self) -> Iterator[None]:
        """Read one operation at each step, the newest first."""
        for commit in walk_operation_commits(self._repository):
            kind = commit.subject.partition(":")[0]
            if (kind == _MERGE and not commit.subject.endswith(_FAST_FORWARD)) or kind.endswith(_STOPPED):
                operation = read_operation(self._repository, commit)  # the subject is the start of the summary
                names = _SUMMARY.fullmatch(operation.summary)
                for change in () if operation.summary.endswith(_FAST_FORWARD) else operation.changes:
                    if change.ref.startswith(HEADS) and change.new is not None:
                        self._add(Oid(change.new), change.old, commit.time, names)
            self._reached = commit.time
            yield

    def _add(self, new: Oid, old: str | None, time: int, names: re.Match[str] | None) -> None:
        """Add the commit that a branch was moved to, if it was made on top of the old one, and a notice below it."""
        commit = read_commit(self._repository, new) if self._repository.has(new) else None
        if commit is None or not commit.parents or old not in {None, commit.parents[0]}:
            return
        self._times.setdefault(new, time)
        if names is not None:
            self._branches.setdefault(new, (names["source"], names["target"]))
        below = read_commit(self._repository, commit.parents[0])
        if old is None and below.kind == _NOTICE:
            self._times.setdefault(below.oid, time)


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
            clear = (
                repository.caller.clear_message
            )  # the hash is that of what is stored, also while text leaves redacted
            found[target] = Amendment(message if clear is None else decode(clear(data)), retracted=False)
    return found


def find_claim(repository: Repository, tip: Oid, message: MessageId) -> Mapping[str, object]:
    """Return the claim about a message in the state of `tip`: `retracted`, `amended`, or an empty one."""
    body = find_blob(repository, read_commit(repository, tip).tree, f"{STATE_DIRECTORY}/{leaf('messages', message)}")
    claim = {} if body is None else canonical_json.load(body)
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
        MessageId(decode_component(name.removesuffix("="))): canonical_json.load(read_blob(repository, entry.oid))
        for name, entry in leaves.items()
    }
