"""A message of one author, with its parts: its stored form, the claims that it makes, and what a purge leaves of it.

One message is one commit. None and empty mean unknown. Unknown fields and parts of a newer version are kept, in `extra`
or in the fields of the part, and written back unchanged. Messages from users and programs are checked by `validation`.

The claims of a message are the blobs that it writes into the state, the tree that is merged. A blob contains the claim
alone, so that equal claims of two agents are equal blobs. The path is the key (`decisions/<topic>=`), followed by the
agent if each agent may have a claim of its own (`analyses/<subject>/<aspect>/<agent>=`). Topics, subjects, tasks and
goals are words: they are folded when the claim is written, so that `Database` and `database ` are one key.

Every machine that purges the same message writes the same bytes. Id, author, time and the links to other messages stay.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from scopes.errors import Corrupt, Invalid
from scopes.ids import AgentName, MessageId
from scopes.model import canonical_json
from scopes.model.canonical_json import encode_component, file_leaf, leaf, without_none
from scopes.result import INLINE

FORMAT_VERSION = 1

MessageKind: TypeAlias = Literal[
    "root", "prompt", "answer", "tool-results", "plain", "system", "proposal", "analysis", "collaboration-request",
    "decision", "priority", "method", "merge", "summary", "compaction", "notice", "error", "interrupt", "meta",
]  # fmt: skip
KINDS: tuple[MessageKind, ...] = get_args(MessageKind)
TYPED_KINDS = frozenset({"proposal", "analysis", "collaboration-request", "decision", "priority", "method"})
EXAMPLES = {
    "proposal": '{"entity_type": "file", "entity_id": "app.py", "changes": [{"field_path": "port", "after": 80}]}',
    "analysis": '{"subject": "login", "finding": "the token never expires"}',
    "collaboration-request": '{"type": "verification", "context": "check the login form"}',
    "decision": '{"topic": "db", "decision": "SQLite"}',
    "priority": '{"task": "login", "urgency": "high"}',
    "method": '{"goal": "speed", "approach": "cache the result"}',
}  # kind -> its document
AUTHOR_KINDS = ("human", "agent", "tool", "system", "injected")
FILE_WRITES = frozenset({"create", "edit", "delete", "rename"})
URGENCIES = ("low", "normal", "high", "critical")  # of a priority, lowest first
FOREIGN_FIELDS = frozenset({"input", "output", "structured", "json"})  # fields of parts that keep their key order
COPIED = "restamped"  # precision of the time of a message that another session was copied from: the time of the copy
HANDOVER = "handover"  # further field of a prompt: the blocks of scopes that came before it, and the last message there


class Author(NamedTuple):
    """The author of a message; `kind` is one of AUTHOR_KINDS or of a newer version."""

    name: str
    kind: str = "agent"


class Part(NamedTuple):
    """One part of the content of a message; `fields` are all its fields except the type.

    text         text
    reasoning    text, opaque (a provider's signature)
    tool_call    call_id, name, input | input_text
    tool_result  call_id, output | output_text, is_error, exit_code
    image, file  media_type, path or data (base64)
    file_ref     path, op, content_hash, patch
    raw          a record of a newer or foreign format
    """

    type: str
    fields: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The text of the part; empty if it has none."""
        text = self.fields.get("text")
        return text if isinstance(text, str) else ""

    @property
    def call_id(self) -> str | None:
        """The id of a call, in it and in its result; None without one, or for one that is no text."""
        call_id = self.fields.get("call_id")
        return call_id if isinstance(call_id, str) else None


class FileTouch(NamedTuple):
    """One file that a message read or changed; `content_hash` is `<algorithm>:<hex>` of the new content, if known."""

    path: str
    op: str
    content_hash: str | None = None
    source: str | None = None  # the old path of a rename


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message as it is stored. It does not contain its conversation and branch."""

    id: MessageId
    author: Author
    parts: tuple[Part, ...]
    kind: str = "plain"
    time: str | None = None  # RFC 3339 with time zone, unchanged from the source
    to: tuple[str, ...] = ()
    reply_to: str | None = None
    files: tuple[FileTouch, ...] = ()
    payload: Mapping[str, Any] | None = None  # of a typed kind: the document in the field named like the kind
    amends: str | None = None
    retracts: str | None = None
    work_item: str | None = None
    task: str | None = None
    activity: str | None = None
    tool: str | None = None
    model: str | None = None
    status: str | None = None
    stop_reason: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text of all text parts, joined by newlines."""
        return "\n".join(part.text for part in self.parts if part.type == "text")


def text_parts(text: str) -> tuple[Part, ...]:
    """Return the parts of a plain text message."""
    return (Part("text", {"text": text}),)


def file_operations(message: Message) -> list[tuple[str, str]]:
    """Return (path, operation) of every file that a message read, changed or mentioned; a rename deletes its source."""
    operations = [(touch.path, touch.op) for touch in message.files]
    operations += [(t.source, "delete") for t in message.files if t.op == "rename" and t.source is not None]
    for part in message.parts:
        path, operation = part.fields.get("path"), part.fields.get("op")
        if part.type == "file_ref" and isinstance(path, str):
            operations.append((path, operation if isinstance(operation, str) else "mention"))
    return operations


def payload_key(kind: str) -> str:
    """Return the field of the document of a typed kind, for example `collaboration_request`."""
    return kind.replace("-", "_")


MAX_MESSAGE_BYTES = 64 << 20
_TEXTS: Final = frozenset({
    "time", "reply_to", "amends", "retracts", "work_item", "task", "activity", "tool", "model", "status", "stop_reason",
})  # fmt: skip
_FILE_FIELDS: Final = frozenset({"path", "op", "content_hash", "from"})


def encode(message: Message) -> bytes:
    """Encode a message as one line of canonical JSON.

    Raises:
        Invalid: the message is larger than 64 MiB or nested deeper than 200 levels.
    """
    data = canonical_json.dump(_document_of(message))
    if len(data) > MAX_MESSAGE_BYTES:
        raise Invalid(
            f"the message is {len(data) >> 20} MiB large; the limit is {MAX_MESSAGE_BYTES >> 20} MiB",
            hint="store the large part as a file and mention it",
        )
    return data


def _document_of(message: Message) -> dict[str, Any]:
    document: dict[str, Any] = {
        "v": FORMAT_VERSION,
        "id": message.id,
        "kind": message.kind,
        "author": {"name": message.author.name, "kind": message.author.kind},
        "parts": [_part_document(part) for part in message.parts],
    }
    document |= {name: value for name in _TEXTS if (value := getattr(message, name)) is not None}
    if message.to:
        document["to"] = list(message.to)
    if message.files:
        document["files"] = [_file_document(touch) for touch in message.files]
    if message.payload is not None:
        document[payload_key(message.kind)] = message.payload
    document |= message.extra  # last: it overrides fields that could not be decoded
    return document


def decode(data: bytes) -> Message:
    """Decode a stored message.

    Raises:
        Corrupt: the bytes are not a message.
    """
    return decode_document(canonical_json.load(data))


def decode_document(document: Any) -> Message:
    """Decode the document of a stored message, which is changed by it; raises as `decode` does."""
    if not isinstance(document, dict) or not isinstance(document.get("id"), str):
        raise Corrupt("a stored message is damaged", hint="see: scopes verify")
    has_kind = isinstance(document.get("kind"), str) and document["kind"]
    kind = document.pop("kind") if has_kind else "plain"
    message_id = MessageId(document.pop("id"))
    author, parts = _take_author(document), _take_parts(document)
    if document.get("v") == FORMAT_VERSION:
        del document["v"]
    texts = {name: document.pop(name) for name in _TEXTS.intersection(document) if isinstance(document[name], str)}
    has_payload = kind in TYPED_KINDS and isinstance(document.get(payload_key(kind)), dict)
    payload = document.pop(payload_key(kind)) if has_payload else None
    to, files = _take_names(document), _take_files(document)
    return Message(
        id=message_id,
        author=author,
        parts=parts,
        kind=kind,
        to=to,
        files=files,
        payload=payload,
        extra=document,
        **texts,
    )


def _part_document(part: Part) -> dict[str, Any]:
    """Return a part as a JSON object; input and output of tools are foreign and keep their key order."""
    fields = {
        key: canonical_json.Foreign(value) if key in FOREIGN_FIELDS else value for key, value in part.fields.items()
    }
    return {**fields, "type": part.type}


def _file_document(touch: FileTouch) -> dict[str, Any]:
    document = {"path": touch.path, "op": touch.op, "content_hash": touch.content_hash, "from": touch.source}
    return {key: value for key, value in document.items() if value is not None}


def _take_author(document: dict[str, Any]) -> Author:
    author = document.get("author")
    name = author.get("name") if isinstance(author, dict) else None
    if not isinstance(author, dict) or not isinstance(name, str):
        return Author("unknown", "system")
    kind = author.get("kind")
    if len(author) > len(("name", "kind")) or not isinstance(kind, str):
        return Author(name)
    del document["author"]
    return Author(name, kind)


def _take_parts(document: dict[str, Any]) -> tuple[Part, ...]:
    parts = document.get("parts")
    if not isinstance(parts, list):
        return ()
    for part in parts:
        if type(part) is not dict or type(part.get("type")) is not str:
            return ()
    del document["parts"]
    return tuple([Part(part.pop("type"), part) for part in parts])


def _take_files(document: dict[str, Any]) -> tuple[FileTouch, ...]:
    files = document.get("files")
    if not isinstance(files, list) or not all(isinstance(file, dict) and _is_touch(file) for file in files):
        return ()
    del document["files"]
    return tuple(FileTouch(f["path"], f["op"], f.get("content_hash"), f.get("from")) for f in files)


def _is_touch(file: dict[str, Any]) -> bool:
    return {"path", "op"} <= file.keys() <= _FILE_FIELDS and all(isinstance(value, str) for value in file.values())


def _take_names(document: dict[str, Any]) -> tuple[str, ...]:
    to = document.get("to")
    if not isinstance(to, list) or not all(isinstance(name, str) for name in to):
        return ()
    del document["to"]
    return tuple(to)


# The first components of keys.
FILES: Final = "files"
MESSAGES: Final = "messages"
PROPOSALS: Final = "proposals"
ENTITIES: Final = "entities"  # accepted values of proposals
REVIEWS: Final = "reviews"  # states of proposals that were reviewed
APPROVALS: Final = "approvals"  # of proposals that need several
ANALYSES: Final = "analyses"
DECISIONS: Final = "decisions"
METHODS: Final = "methods"
PRIORITIES: Final = "priorities"
CONFLICTS: Final = "conflicts"
PARTICIPANTS: Final = "participants"
PARTICIPANT_KINDS = frozenset({"human", "agent"})
Previous = Callable[[str], bytes | None]


def claims_of(message: Message, previous: Previous, base: str | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield path (below `state/`) and blob of every claim of a message.

    `previous` returns the blob of a path before the message; `base` is the first working directory of the conversation.
    """
    author = message.author
    if author.kind in PARTICIPANT_KINDS:
        yield participant_claim(author.name, author.kind)
    if message.payload is not None:
        yield from _typed_claims(message.kind, author.name, message.payload)
    for touch in message.files:
        yield from _file_claims(touch, message, previous, base)
    for part in message.parts:
        touch_of_part = _find_touch(part)
        if touch_of_part is not None:
            yield from _file_claims(touch_of_part, message, previous, base, part.fields.get("patch"))
    if message.retracts is not None:
        yield leaf(MESSAGES, message.retracts), canonical_json.dump({"retracted": True})
    if message.amends is not None:
        yield leaf(MESSAGES, message.amends), canonical_json.dump({"amended": content_hash(message)})


@lru_cache(maxsize=256)
def participant_claim(name: str, kind: str) -> tuple[str, bytes]:
    """Return path and blob of the claim that makes an author a participant."""
    return leaf(PARTICIPANTS, name), canonical_json.dump({"kind": kind})


def folded(text: str) -> str:
    """Return a text in the one spelling of its words: casefolded, without outer spaces, in NFC."""
    if text.isascii():
        return text.lower().strip()
    from unicodedata import normalize

    return normalize("NFC", normalize("NFC", text).casefold()).strip()


def topic_leaf(group: str, *names: str, agent: str | None = None) -> str:
    """Return the path of a claim about words, in any spelling; `agent` if each agent may have one of its own."""
    return leaf(group, *map(folded, names), *(() if agent is None else (agent,)))


def decision_key(topic: str) -> str:
    """Return the key of the decision on a topic, in any spelling."""
    return f"{DECISIONS}/{encode_component(folded(topic))}"


def content_hash(message: Message) -> str:
    """Hash the parts of a message, without author, time and id, so that equal amendments are equal claims."""
    return parts_hash(message.parts)


def parts_hash(parts: Iterable[Part]) -> str:
    """Hash parts of a message."""
    import hashlib  # here, as in `_file_claims`: a hook of `check` reads calls and hashes nothing

    documents: list[Any] = [{**part.fields, "type": part.type} for part in parts]
    return "sha256:" + hashlib.sha256(canonical_json.dump(documents)).hexdigest()


def content_of(message: Message) -> tuple[Any, ...]:
    """Return the fields that must be equal in two messages with the same id: hash of parts, author, kind, payload."""
    return content_hash(message), message.author, message.kind, message.payload


def _typed_claims(kind: str, agent: str, payload: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Yield the claims of a payload; none if it does not have the form that `validation` requires."""
    match kind, payload:
        case "proposal", {"entity_type": str(entity), "entity_id": str(name), "changes": list(changes)}:
            for change in changes:
                yield from _change_claim(entity, name, change, agent)
        case "analysis", {"subject": str(subject), "aspect": str(aspect), "finding": finding}:
            yield topic_leaf(ANALYSES, subject, aspect, agent=agent), canonical_json.dump({"finding": finding})
        case "decision", {"topic": str(topic), "decision": decision}:
            yield topic_leaf(DECISIONS, topic), canonical_json.dump({"decision": decision})
        case "priority", {"task": str(task), "urgency": urgency}:
            yield topic_leaf(PRIORITIES, task, agent=agent), canonical_json.dump({"urgency": urgency})
        case "method", {"goal": str(goal), "approach": approach}:
            yield topic_leaf(METHODS, goal, agent=agent), canonical_json.dump({"approach": approach})


def _change_claim(entity: str, name: str, change: Any, agent: str) -> Iterator[tuple[str, bytes]]:
    match change:
        case {"field_path": str(field), "operation": str(operation), **rest}:
            claim: dict[str, Any] = {"operation": operation, "after": rest.get("after")}
            yield leaf(PROPOSALS, entity, name, field, agent), canonical_json.dump(claim)


def _find_touch(part: Part) -> FileTouch | None:
    """Return the file touch of a `file_ref` part; None for any other part."""
    if part.type != "file_ref":
        return None
    fields = {key: part.fields.get(key) for key in ("path", "op", "content_hash", "from")}
    texts = {key: value for key, value in fields.items() if isinstance(value, str)}
    if not {"path", "op"} <= texts.keys():
        return None
    return FileTouch(texts["path"], texts["op"], texts.get("content_hash"), texts.get("from"))


def _file_claims(
    touch: FileTouch, message: Message, previous: Previous, base: str | None, patch: object = None
) -> Iterator[tuple[str, bytes]]:
    """Yield the claim of a file write: the hash of its content, or of its patch and base if the content is unknown."""
    if touch.op not in FILE_WRITES:
        return
    path = file_leaf(touch.path, base)
    claim: dict[str, Any] = {"operation": touch.op}
    if touch.content_hash is not None:
        claim["content"] = touch.content_hash
    elif isinstance(patch, str):
        import hashlib

        before = previous("files/" + path) or b""
        claim["derived"] = (
            "sha256:" + hashlib.sha256(before + b"\0" + patch.encode("utf-8", "surrogatepass")).hexdigest()
        )
    elif touch.op != "delete":
        claim["unknown"] = message.id  # unknown content differs from any other content
    yield "files/" + path, canonical_json.dump(claim)
    if touch.op == "rename" and touch.source is not None:
        yield "files/" + file_leaf(touch.source, base), canonical_json.dump({"operation": "delete"})


PURGED_TEXT: Final = "[purged]"
RETRACTED_TEXT: Final = "retracted: "
"""How the notice of a retraction without a reason begins, before the first words of the message."""
PURGED: Final = "purged"
"""The field of a message, and of a part, that was purged."""
_KEPT: Final = ("precision", "context_root")  # fields of other versions and formats that say nothing of the content
_LINKS: Final = ("message", "call_id")
_DOCUMENTS: Final = TYPED_KINDS | {"summary", "compaction"}  # kinds that mean nothing without their content


def purge_message(data: bytes, parts: Collection[int] | None = None) -> bytes:
    """Return a stored message without its content, or without that of some of its parts; idempotent.

    Raises:
        Corrupt: the bytes are no message.
    """
    message = decode(data)
    return encode(_without_content(message) if parts is None else _without_parts(message, parts))


def is_purged(message: Message) -> bool:
    """Return True if the content of a message was purged as a whole."""
    return message.extra.get(PURGED) is True


def purged_parts(message: Message) -> frozenset[int] | None:
    """Return the numbers of the parts of a message that were purged; None: all of it was."""
    if is_purged(message):
        return None
    return frozenset(number for number, part in enumerate(message.parts) if part.fields.get(PURGED) is True)


def is_purged_copy(copy: Message, original: Message) -> bool:
    """Return True if a message is what a purge leaves of another one, of all of it or of some parts."""
    if is_purged(copy):
        return content_of(copy) == content_of(_without_content(original))
    numbers = purged_parts(copy) or frozenset()
    return bool(numbers) and content_of(copy) == content_of(_without_parts(original, numbers))


def _without_content(message: Message) -> Message:
    extra: dict[str, Any] = {name: message.extra[name] for name in _KEPT if name in message.extra}
    spawned_by = message.extra.get("spawned_by")
    if isinstance(spawned_by, dict):
        extra["spawned_by"] = {name: spawned_by[name] for name in _LINKS if name in spawned_by}
    return Message(
        id=message.id,
        author=message.author,
        parts=text_parts(PURGED_TEXT),
        kind="notice" if message.kind in _DOCUMENTS else message.kind,
        time=message.time,
        to=message.to,
        reply_to=message.reply_to,
        amends=message.amends,
        retracts=message.retracts,
        extra={**extra, PURGED: True},
    )


def _without_parts(message: Message, numbers: Collection[int]) -> Message:
    parts = [_purge_part(part) if number in numbers else part for number, part in enumerate(message.parts)]
    files = tuple(touch._replace(content_hash=None) for touch in message.files)
    return replace(message, parts=tuple(parts), files=files)


def _purge_part(part: Part) -> Part:
    """Return a part without content; a call keeps its id and name, so that its result finds it."""
    match part.type:
        case "tool_call" | "tool_result":
            kept = {name: part.fields[name] for name in ("call_id", "name", "is_error") if name in part.fields}
            content: dict[str, Any] = {"input": {}} if part.type == "tool_call" else {"output": PURGED_TEXT}
            return Part(part.type, {**kept, **content, PURGED: True})
        case "file_ref":
            kept = {name: part.fields[name] for name in ("path", "op", "from") if name in part.fields}
            return Part(part.type, {**kept, PURGED: True})
    return Part("text", {"text": PURGED_TEXT, PURGED: True})


ARGUMENT: Final = "argument"
"""The field of a message that makes an argument."""
EvidenceType: TypeAlias = Literal[
    "performance-data", "historical-precedent", "best-practice", "technical-constraint", "user-feedback",
    "industry-standard",
]  # fmt: skip
EVIDENCE_TYPES: Final[tuple[EvidenceType, ...]] = get_args(EvidenceType)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One piece of evidence for a position.

    Attributes:
        source: Where it can be looked up; None if nothing is said.
        weight: How much it counts, from 0 to 1; None if nothing is said.
    """

    type: EvidenceType
    description: str
    source: str | None = None
    weight: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """A position and what speaks for it.

    Attributes:
        about: What it is about: the topic of a collaboration, or the id of a conflict.
        confidence: From 0 to 1.
    """

    about: str
    position: str
    reasoning: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    trade_offs: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    confidence: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """An argument that somebody made, newest of its author about its subject."""

    author: AgentName
    time: str | None
    message: MessageId
    argument: Argument = field(metadata=INLINE)


def evidence_object(evidence: Evidence) -> dict[str, object]:
    """Return a piece of evidence as a JSON object."""
    more = without_none(source=evidence.source, weight=evidence.weight)
    return {"type": evidence.type, "description": evidence.description, **more}


def read_argument(value: object) -> Argument | None:
    """Return an argument from its JSON form; what is damaged in it is left out, None if there is no position."""
    match value:
        case {"about": str(about), "position": str(position), **rest}:
            evidence = rest.get("evidence")
            found = map(_read_evidence, evidence if isinstance(evidence, list) else ())
            return Argument(
                about=about,
                position=position,
                reasoning=_texts(rest.get("reasoning")),
                evidence=tuple(each for each in found if each is not None),
                trade_offs=_texts(rest.get("trade_offs")),
                alternatives=_texts(rest.get("alternatives")),
                confidence=share_of(rest.get("confidence")),
            )
    return None


def list_support(argument: Argument) -> list[str]:
    """Return what speaks for a position, and what else was said about it, as lines: `reason: there is no state`."""
    return [
        *(f"reason: {text}" for text in argument.reasoning),
        *(f"{each.type}: {each.description}{_origin(each)}" for each in argument.evidence),
        *(f"trade-off: {text}" for text in argument.trade_offs),
        *(f"alternative: {text}" for text in argument.alternatives),
        *([] if argument.confidence is None else [f"confidence: {argument.confidence:g}"]),
    ]


def _origin(evidence: Evidence) -> str:
    weight = None if evidence.weight is None else f"{evidence.weight:g}"
    known = without_none(source=evidence.source, weight=weight)
    return f" ({', '.join(f'{name}: {value}' for name, value in known.items())})" if known else ""


def _read_evidence(value: object) -> Evidence | None:
    match value:
        case {"type": str(kind), "description": str(description), **rest} if kind in EVIDENCE_TYPES:
            source = rest.get("source")
            text = source if isinstance(source, str) else None
            return Evidence(type=kind, description=description, source=text, weight=share_of(rest.get("weight")))
    return None


def share_of(value: object) -> float | None:
    """Return a number from 0 to 1; None if it is something else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and isinstance(value, int | float) and 0 <= value <= 1 else None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()
