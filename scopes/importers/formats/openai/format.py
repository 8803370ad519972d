"""Lists of messages as chat completion interfaces take them: one list, many, or records that hold one each.

A conversation is an array of messages, or an object that holds one under `messages` or `traj`; a file is one of them,
a sequence (JSON lines), or an array. The lists name no parents: every message follows the one before.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

from scopes.clock import parse_time
from scopes.importers.formats.base import Source
from scopes.importers.formats.events import Draft, Ending, Event, Session, Span, State, Unparsed
from scopes.importers.formats.json_stream import Document, skip_blanks, source_length, walk_documents
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
_UNIQUE_LENGTH = 16  # a shorter name is rarely unique beyond its file
_MAX_WORD = 64
_NAMING_BYTES = 4096


class OpenAIMessages:
    """Message lists of OpenAI's chat completions, and of all who write the same."""

    name = NAME
    file_suffixes = (".json", ".jsonl")
    standard_folders = None
    sub_agent_fields: tuple[str, ...] = ()

    def sniff(self, head: bytes) -> bool:
        """Tell from its first 256 KiB whether a source is in this format."""
        text = head.decode("utf-8", "surrogateescape")
        start = skip_blanks(text, 0)
        starts = [start, skip_blanks(text, start + 1)] if text.startswith("[", start) else [start]
        return any(messages.elements for at in starts if (messages := read_message_list(text, at)) is not None)

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield a session, its messages and an ending for every conversation."""
        strays: list[Unparsed] = []
        names: dict[str, int] = {}
        ending: Ending | None = None
        with source.open() as stream:
            for document in walk_documents(stream, source.size, _is_conversation):
                messages = read_message_list(document.text)
                if messages is None:
                    strays.append(Unparsed(spans=(_span(document.begin, document.end),), reason="no list of messages"))
                    continue
                if ending is not None:
                    yield from strays
                    yield ending
                    strays = []
                yield _describe(document, messages, names)
                yield from strays
                strays = []
                ending = yield from _walk_messages(document, messages)
        if ending is None:
            yield Session(format=NAME, native_id=_digest_beginning(source))
        if ending is None and not strays and source.size:
            yield Unparsed(spans=(_span(0, source.size),), reason="nothing but blanks")
        yield from strays
        yield ending or Ending(active=None)


def _is_conversation(text: str, start: int) -> bool:
    return read_message_list(text, start) is not None


def _describe(document: Document, messages: MessageList, names: dict[str, int]) -> Session:
    """Name a conversation: as it names itself, or else by its bytes; `names` counts those of the file."""
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


def _walk_messages(document: Document, messages: MessageList) -> Generator[Event, None, Ending]:
    """Yield the messages of one conversation; returns its ending."""
    spans, around = _lay_out(document, messages)
    yield from around
    held: Draft | None = None
    model = messages.members.get("model")
    for element, span in zip(messages.elements, spans, strict=True):
        draft = _read_message(element.value, span, held.key if held is not None else None, model)
        if draft is None:
            yield _keep(element, span)
        elif held is not None and held.kind == draft.kind == _RESULTS:
            tool = held.tool if held.tool == draft.tool else None
            held = replace(held, parts=held.parts + draft.parts, spans=held.spans + draft.spans, tool=tool)
        else:
            if held is not None:
                yield from report_unknown_parts(held)
            held = draft
    if held is not None:
        yield from report_unknown_parts(held)
    return Ending(active=held.key, open=held.key) if held is not None else Ending(active=None)


def _lay_out(document: Document, messages: MessageList) -> tuple[list[Span], list[Event]]:
    """Share the bytes of a conversation out: each message has those up to the next, an object keeps what is around."""
    places = [place for element in messages.elements for place in (element.start, element.end)]
    offsets = _offsets(document, places)
    begins, last = offsets[::2], offsets[-1] if offsets else document.begin
    first, end = (begins[0] if begins and messages.named else document.begin), document.end
    around: list[Event] = []
    if not messages.complete:
        around += [Unparsed(spans=(span,), reason="cut off or damaged") for span in _filled((last, end))]
    elif messages.named or not begins:
        around.append(State(key="conversation", spans=_filled((document.begin, first), (last, end))))
    if messages.named and not messages.complete:
        around.append(State(key="conversation", spans=(_span(document.begin, first),)))
    if messages.complete and not messages.named:
        last = end
    bounds = [first, *begins[1:], last]
    return [_span(bound, bounds[place + 1]) for place, bound in enumerate(bounds[:-1])] if begins else [], around


def _offsets(document: Document, places: list[int]) -> list[int]:
    """Return the bytes at which places of a conversation's text stand; the places ascend."""
    offsets, offset, reached = [], document.start, 0
    for place in places:
        offset += source_length(document.text[reached:place])
        reached = place
        offsets.append(offset)
    return offsets


def _filled(*bounds: tuple[int, int]) -> tuple[Span, ...]:
    return tuple(_span(begin, end) for begin, end in bounds if end > begin)


def _span(begin: int, end: int) -> Span:
    return Span(begin, end - begin)


def _read_message(value: Any, span: Span, parent: str | None, model: object) -> Draft | None:
    """Read one message that follows `parent`; None when it is none, or speaks in a role that is not known."""
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


def _keep(element: Element, span: Span) -> Unparsed:
    """Keep what is no message, and say why it is none."""
    if not isinstance(element.value, dict):
        return Unparsed(spans=(span,), reason=element.problem or "no message")
    role = element.value.get("role")
    spoken = f"in the unknown role {role[:_MAX_WORD]!a}" if isinstance(role, str) else "without a role"
    return Unparsed(spans=(span,), reason=f"a message {spoken}")


def _time_of(value: Mapping[str, Any]) -> str | None:
    found = (value.get(name) for name in ("timestamp", "created_at"))
    return next((time for time in found if isinstance(time, str) and parse_time(time) is not None), None)


def _digest_beginning(source: Source) -> str:
    """Name a source in which nothing is a conversation."""
    with source.open() as stream:
        return sha256(stream.read(min(_NAMING_BYTES, source.size))).hexdigest()
