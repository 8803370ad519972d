"""Read messages for `append` from arguments and standard input: plain texts, and JSON Lines."""

from __future__ import annotations

import codecs
import difflib
import json
import re
import sys
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from scopes.cli.input import STANDARD_INPUT, open_input
from scopes.cli.invocation import Invocation
from scopes.clock import new_id, now
from scopes.conversation.append import KnownMessages, MessageAppended, append_all, append_once, append_to
from scopes.errors import Invalid, Refused
from scopes.history.handles import BranchHandle, read_uuid
from scopes.history.messages import plain_message
from scopes.ids import MessageId
from scopes.merge.plan import derived_id
from scopes.model.message import EXAMPLES, KINDS, MAX_MESSAGE_BYTES, TYPED_KINDS, Author, Message, payload_key
from scopes.result import Note
from scopes.sanitize import clean_line, cut
from scopes.store.maintenance import pack_when_needed

_LINES_BETWEEN_PACKING = 500
_MAX_BINARY_BYTES = MAX_MESSAGE_BYTES * 3 // 4 - (1 << 16)  # base64 takes four bytes for three
_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
_LINE_EXAMPLE = '{"author": "carol", "text": "hello"}'
_DATA_EXAMPLE = '{"model": "gpt-5"}'
TOPICS = {
    "decision": ("topic", "decision"),
    "priority": ("task", "urgency"),
    "method": ("goal", "approach"),
    "analysis": ("subject", "finding"),
}  # kind -> the field that --topic gives, and the one that the text is


def read_text(invocation: Invocation, text: str, *, hint: str = "convert it to UTF-8 first") -> str:
    """Return the text, or all of standard input if it is `-`; `hint` tells what to do with bytes that are not UTF-8.

    One line break at the end of standard input is not a part of the text.

    Raises:
        Invalid: the input is larger than a message may be.
        Refused: it is not UTF-8 (D4).
    """
    if text != STANDARD_INPUT:
        return text
    try:
        content = _read_input(invocation, MAX_MESSAGE_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(f"standard input is not UTF-8 text (at byte {error.start})", hint=hint) from error
    return content.removesuffix("\n").removesuffix("\r") if content.endswith("\n") else content


def read_part(invocation: Invocation, media_type: str) -> dict[str, str]:
    """Return a file part with the bytes of standard input, for --binary.

    Raises:
        Invalid: the input is larger than a message may be, or the media type is not one.
        Refused: there are no bytes.
    """
    if not _MEDIA_TYPE.fullmatch(media_type):
        raise Invalid(f"{media_type!a} is not a media type", hint="for example: --binary image/png")
    data = _read_input(invocation, _MAX_BINARY_BYTES)
    if not data:
        refuse_blank("")
    return {"type": "file", "media_type": media_type, "data": b64encode(data).decode()}


def _read_input(invocation: Invocation, max_bytes: int) -> bytes:
    with open_input(invocation, STANDARD_INPUT) as stream:
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise Invalid(f"the message is larger than {max_bytes >> 20} MiB", hint="store the large part as a file")
    return data


def refuse_blank(text: str | None) -> None:
    """Refuse a text that is empty or only white space (D4).

    Raises:
        Refused: the text is blank.
    """
    if text is not None and not text.strip():
        raise Refused("the message is empty")


def walk_documents(invocation: Invocation, path: str) -> Iterator[tuple[int, Any]]:
    r"""Yield the line number and the JSON document of every line that is not blank; only `\n` ends a line.

    Raises:
        Invalid: a line is too long, not UTF-8 or not JSON.
    """
    with open_input(invocation, path) as stream:
        number = 0
        while line := stream.readline(MAX_MESSAGE_BYTES + 1):
            number += 1
            if len(line) > MAX_MESSAGE_BYTES:
                raise Invalid(f"line {number} is longer than {MAX_MESSAGE_BYTES >> 20} MiB")
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if line.strip():
                yield number, parse_document(line, f"line {number}")


def parse_document(data: bytes | str, name: str, example: str = _LINE_EXAMPLE) -> Any:
    """Parse one JSON document; `name` names it in error messages, whose hint is the example.

    Raises:
        Invalid: it is not UTF-8, not JSON, nested too deeply, or has an integer with too many digits.
    """
    try:
        return json.loads(data)
    except UnicodeDecodeError as error:
        raise Invalid(f"{name} is not valid UTF-8") from error
    except RecursionError as error:
        raise Invalid(f"{name} is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise Invalid(f"{name} is not valid JSON: {error}", hint=f"for example: {example}") from error
    except ValueError as error:
        digits = f"{sys.get_int_max_str_digits():,} digits"
        raise Invalid(f"{name} has an integer of more than {digits}", hint="put it in quotes, as a text") from error


def compose_message(
    author: Author,
    text: str | None,
    kind: str,
    *,
    topic: str | None = None,
    data: str | None = None,
    parts: Sequence[dict[str, str]] = (),
    takes_topic: bool = True,
    **options: Any,
) -> Message:
    """Build the message; a plain text without further fields needs no validation, and so no pydantic.

    With --topic the text becomes a field of the document of a typed kind. --data has that document, or all fields of
    the message with the document in one of them, as a line of JSON has.

    Args:
        author: who writes it
        text: its text, or what is said of the topic
        kind: its kind
        topic: what a decision, method, ... is about
        data: the JSON of --data
        parts: parts beside those of --data
        takes_topic: the command has the option --topic, so a hint may name it
        options: other fields of the message, None or empty for those that are not given

    Raises:
        Invalid: there is no content, or a field is invalid.
    """
    near = difflib.get_close_matches(kind, KINDS, n=1) if kind not in KINDS else []
    if near:
        raise Invalid(f"there is no kind {kind!a}", hint=f"did you mean {near[0]}?")
    given = {} if data is None else parse_document(data, "--data", f"--data '{EXAMPLES.get(kind, _DATA_EXAMPLE)}'")
    if not isinstance(given, dict):
        hint = f"for example: --data '{EXAMPLES.get(kind, _DATA_EXAMPLE)}'"
        raise Invalid("--data is not a JSON object", hint=hint)
    own = payload_key(kind)
    if kind in TYPED_KINDS and not isinstance(given.get(own), dict):
        given = {own: given} if given else {}
    if topic is not None:
        given[own] = {**given.get(own, {}), **_topic_fields(kind, topic, text)}
        text = None
    if kind in TYPED_KINDS and not given.get(own):
        short = f"--kind {kind} --topic ABOUT TEXT, or " if takes_topic and kind in TOPICS else ""
        hint = f"for example: {short}--kind {kind} --data '{EXAMPLES[kind]}'"
        raise Invalid(f"a message of kind {kind} needs its document", hint=hint)
    if parts:
        given["parts"] = [*given.get("parts", ()), *parts]
    given |= {name: value for name, value in options.items() if value not in (None, [])}
    given |= {} if text is None else {"text": text}
    if not given.keys() & {"text", "parts", own}:
        raise Invalid("no message given", hint="give TEXT, - for standard input, --data or --jsonl")
    if kind == "plain" and given.keys() == {"text"} and text is not None:
        return plain_message(author, text)
    document = {"text": ""} if "parts" not in given else {}
    return _validated({**document, **given, "author": {"name": author.name, "kind": author.kind}, "kind": kind})


def _topic_fields(kind: str, topic: str, text: str | None) -> dict[str, str]:
    """Return the fields that --topic and the text give to the document of a kind.

    Raises:
        Invalid: the kind has no topic, or there is no text.
    """
    if kind not in TOPICS:
        raise Invalid("--topic belongs to a typed kind", hint=f"kinds with a topic: {', '.join(TOPICS)}")
    if text is None:
        raise Invalid("--topic needs a text", hint=f"for example: --kind {kind} --topic {topic!a} TEXT")
    about, own = TOPICS[kind]
    return {about: topic, own: text}


class LineReader:
    """Reads the lines of --jsonl as messages of a branch; `unknown` has the keys that no message has, with their line.

    A line with an `id` of its writer, which may be any JSON, is one message however often it is given: the id of the
    message follows from it and from the conversation.
    """

    def __init__(self, branch: BranchHandle, *, strict: bool = False) -> None:
        self._branch = branch
        self._strict = strict
        self._known = KnownMessages()
        self.unknown: dict[str, int] = {}

    def append(self, documents: Iterable[tuple[int, Any]]) -> Iterator[MessageAppended]:
        """Append one message per document; the next document is read after the message is on disk.

        Raises:
            Invalid: a document is not a message; the error names its line, and earlier lines stay recorded.
            Refused: it has a blank text, neither parts nor a typed content, and that is not allowed.
        """
        first: MessageId | None = None
        for number, document in documents:
            message, has_id = self._read(number, document)
            try:
                appended = append_to(self._branch, message, first=first, known=self._known if has_id else None)
            except (Invalid, Refused) as error:
                raise type(error)(f"line {number}: {error.message}", hint=error.hint) from error
            first = first or (None if appended.earlier else appended.id)
            yield appended
            if number % _LINES_BETWEEN_PACKING == 0:
                pack_when_needed(self._branch.repository)

    def append_all(self, documents: Iterable[tuple[int, Any]]) -> Iterator[MessageAppended]:
        """Append one message per document, all of them or none; every document is checked before anything is written.

        Raises:
            Invalid: a document is not a message, or too large; the error names its line, and nothing was written.
            Refused: as for `append`; nothing was written.
        """
        read = [self._read(number, document) for number, document in documents]
        messages = [message for message, _ in read]
        if any(has_id for _, has_id in read):
            yield from append_once(self._branch, messages, self._known)
        else:
            yield from append_all(self._branch, messages)
        pack_when_needed(self._branch.repository)

    def _read(self, number: int, document: Any) -> tuple[Message, bool]:
        """Return the message of a line, and whether the line has an id."""
        try:
            message = _validated(document)
            if not (document.get("parts") or message.payload is not None):
                refuse_blank(document.get("text"))
            if self._strict:
                _refuse_unknown(message)
        except (Invalid, Refused) as error:
            raise type(error)(f"line {number}: {error.message}", hint=error.hint) from error
        for key in message.extra:
            self.unknown.setdefault(key, number)
        given = document.get("id")
        if given is None:
            return message, False
        uuid = read_uuid(self._branch.repository, self._branch.conversation.id)
        return replace(message, id=derived_id("append", uuid, given)), True

    def notes(self) -> Iterator[Note]:
        """Yield the note about keys that no message has, which may be misspelled; they were stored."""
        if self.unknown:
            keys = ", ".join(f"{cut(clean_line(key), 40)} (line {number})" for key, number in self.unknown.items())
            yield Note(f"stored although no message has such a key: {keys}", hint="to refuse them: --strict")


def _refuse_unknown(message: Message) -> None:
    if message.extra:
        raise Invalid(f"unknown key {min(message.extra)!a}", hint="to store it all the same: leave out --strict")


def _validated(document: object) -> Message:
    """Validate a JSON document and return it as a message with the current time and a new id."""
    from scopes.model.validation import check_message

    message: Message = check_message(document, message_id=new_id(), now=now())
    return message
