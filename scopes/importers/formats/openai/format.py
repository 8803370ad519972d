"""The OpenAI chat completions format: recognize message lists and yield their events.

A conversation is an array of messages, or an object with such an array under `messages` or `traj`. A file has one
conversation, a sequence of them (JSON lines), or an array of them. Each message follows the previous one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from hashlib import sha256
from typing import Any

from scopes.clock import parse_time
from scopes.importers.formats.base import Source
from scopes.importers.formats.events import ByteRange, Draft, Ending, Event, Session, SessionRecord, Unparsed
from scopes.importers.formats.json_stream import JsonDocument, skip_blanks, source_length, walk_documents
from scopes.importers.formats.openai.message_lists import Element, MessageList, read_message_list
from scopes.importers.formats.openai.parts import read_answer, read_content, read_result
from scopes.importers.formats.unknown_parts import report_unknown_parts
from scopes.model.message import Author

NAME = "openai-messages"
_RESULTS = "tool-results"
_KINDS = {
    "system": ("system", Author("user", "injected")),
    "developer": ("system", Author("user", "injected")),
    "user": ("prompt", Author("user", "human")),
    "assistant": ("answer", Author(NAME, "agent")),
    "tool": (_RESULTS, Author("tool", "tool")),
    "function": (_RESULTS, Author("tool", "tool")),
}
_ID_NAMES = ("id", "conversation_id", "session_id", "thread_id")
_UNIQUE_LENGTH = 16  # a shorter id is rarely unique across files
_MAX_WORD = 64
_NAMING_BYTES = 4096


class OpenAIMessages:
    """Message lists of the OpenAI chat completions API, which other tools write too."""

    name = NAME
    file_suffixes = (".json", ".jsonl")
    standard_folders = None
    sub_agent_fields: tuple[str, ...] = ()

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        text = head.decode("utf-8", "surrogateescape")
        start = skip_blanks(text, 0)
        starts = [start, skip_blanks(text, start + 1)] if text.startswith("[", start) else [start]
        return any(messages.elements for at in starts if (messages := read_message_list(text, at)) is not None)

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield a Session, its drafts and an Ending for every conversation."""
        unparsed: list[Unparsed] = []
        names: dict[str, int] = {}
        ending: Ending | None = None
        with source.open() as stream:
            for document in walk_documents(stream, source.size, _is_conversation):
                messages = read_message_list(document.text)
                if messages is None:
                    unparsed.append(
                        Unparsed(spans=(_span(document.begin, document.end),), reason="not a list of messages")
                    )
                    continue
                if ending is not None:
                    yield from unparsed
                    yield ending
                    unparsed = []
                yield _session_of(document, messages, names)
                yield from unparsed
                unparsed = []
                ending = yield from _walk_messages(document, messages)
        if ending is None:
            yield Session(format=NAME, native_id=_digest_beginning(source))
        if ending is None and not unparsed and source.size:
            yield Unparsed(spans=(_span(0, source.size),), reason="only whitespace")
        yield from unparsed
        yield ending or Ending(active=None)


def _is_conversation(text: str, start: int) -> bool:
    return read_message_list(text, start) is not None


def _session_of(document: JsonDocument, messages: MessageList, names: dict[str, int]) -> Session:
    """Return the Session of a conversation, named by its own id or a hash of its text; `names` counts repeated ones."""
    members = messages.members
    own = (members.get(name) for name in _ID_NAMES)
    name = next((name for name in own if isinstance(name, str) and len(name) >= _UNIQUE_LENGTH), None)
    if name is None:
        name = sha256(document.text.encode("utf-8", "surrogateescape")).hexdigest()
    names[name] = names.get(name, 0) + 1
    title = members.get("title")
    return Session(
        format=NAME,
        native_id=name if names[name] == 1 else f"{name}#{names[name]}",
        created=_time_of(members),
        title=title if isinstance(title, str) and title else None,
        details=members,
    )


def _walk_messages(document: JsonDocument, messages: MessageList) -> Generator[Event, None, Ending]:
    """Yield the drafts of one conversation; return its Ending."""
    spans, other = _assign_spans(document, messages)
    yield from other
    current: Draft | None = None
    model = messages.members.get("model")
    for element, span in zip(messages.elements, spans, strict=True):
        draft = _read_message(element.value, span, current.key if current is not None else None, model)
        if draft is None:
            yield _unparsed_element(element, span)
        elif current is not None and current.kind == draft.kind == _RESULTS:
            tool = current.tool if current.tool == draft.tool else None
            both = current.parts + draft.parts, current.spans + draft.spans
            current = current._replace(parts=both[0], spans=both[1], tool=tool)
        else:
            if current is not None:
                yield from report_unknown_parts(current)
            current = draft
    if current is not None:
        yield from report_unknown_parts(current)
    return Ending(active=current.key, open=current.key) if current is not None else Ending(active=None)


def _assign_spans(document: JsonDocument, messages: MessageList) -> tuple[list[ByteRange], list[Event]]:
    """Return the span of each message, up to the next one, and events for the bytes before and after the list."""
    positions = [place for element in messages.elements for place in (element.start, element.end)]
    offsets = _offsets(document, positions)
    begins, last = offsets[::2], offsets[-1] if offsets else document.begin
    first, end = (begins[0] if begins and messages.named else document.begin), document.end
    other: list[Event] = []
    if not messages.complete:
        other += [Unparsed(spans=(span,), reason="truncated or damaged") for span in _non_empty((last, end))]
    elif messages.named or not begins:
        other.append(SessionRecord(key="conversation", spans=_non_empty((document.begin, first), (last, end))))
    if messages.named and not messages.complete:
        other.append(SessionRecord(key="conversation", spans=(_span(document.begin, first),)))
    if messages.complete and not messages.named:
        last = end
    bounds = [first, *begins[1:], last]
    return [_span(bound, bounds[place + 1]) for place, bound in enumerate(bounds[:-1])] if begins else [], other


def _offsets(document: JsonDocument, positions: list[int]) -> list[int]:
    """Return the byte offsets of ascending positions in a conversation's text."""
    offsets, offset, reached = [], document.start, 0
    for place in positions:
        offset += source_length(document.text[reached:place])
        reached = place
        offsets.append(offset)
    return offsets


def _non_empty(*bounds: tuple[int, int]) -> tuple[ByteRange, ...]:
    return tuple(_span(begin, end) for begin, end in bounds if end > begin)


def _span(begin: int, end: int) -> ByteRange:
    return ByteRange(begin, end - begin)


def _read_message(value: Any, span: ByteRange, parent: str | None, model: object) -> Draft | None:
    """Return a message as a draft that follows `parent`; None if it is not a message or has an unknown role."""
    role = value.get("role") if isinstance(value, dict) else None
    if not isinstance(role, str) or role not in _KINDS:
        return None
    kind, author = _KINDS[role]
    name = value.get("name")
    if isinstance(name, str) and name and kind != _RESULTS:
        author = Author(name, author.kind)
    if kind == "answer":
        parts = tuple(read_answer(value))
    else:
        parts = (read_result(value),) if kind == _RESULTS else tuple(read_content(value.get("content")))
    time, native = _time_of(value), value.get("id")
    return Draft(
        key=str(span.offset),
        parent=parent,
        author=author,
        kind=kind,
        parts=parts,
        spans=(span,),
        native_ids=(native,) if isinstance(native, str) and native else (),
        time=time,
        precision="exact" if time is not None else "none",
        reply_to=parent if kind == _RESULTS else None,
        model=model if kind == "answer" and isinstance(model, str) else None,
        tool=name if kind == _RESULTS and isinstance(name, str) and name else None,
        extra={"role": role} if role == "developer" else {},
    )


def _unparsed_element(element: Element, span: ByteRange) -> Unparsed:
    """Return an element that is not a message as Unparsed, with the reason."""
    if not isinstance(element.value, dict):
        return Unparsed(spans=(span,), reason=element.problem or "not a message")
    role = element.value.get("role")
    role_text = f"in the unknown role {role[:_MAX_WORD]!a}" if isinstance(role, str) else "without a role"
    return Unparsed(spans=(span,), reason=f"a message {role_text}")


def _time_of(value: Mapping[str, Any]) -> str | None:
    found = (value.get(name) for name in ("timestamp", "created_at"))
    return next((time for time in found if isinstance(time, str) and parse_time(time) is not None), None)


def _digest_beginning(source: Source) -> str:
    """Return the id of a source without any conversation: a hash of its beginning."""
    with source.open() as stream:
        return sha256(stream.read(min(_NAMING_BYTES, source.size))).hexdigest()
