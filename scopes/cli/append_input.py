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
from typing import Any, NamedTuple

from scopes.cli.input import STANDARD_INPUT, open_input
from scopes.cli.invocation import Invocation
from scopes.clock import new_id, now
from scopes.conversation.append import KnownMessages, MessageAppended, append_all, append_once, append_to
from scopes.errors import Invalid, Refused
from scopes.history.handles import BranchHandle, read_uuid
from scopes.history.messages import plain_message
from scopes.ids import MessageId
from scopes.merge.plan import derived_id
from scopes.model.message import (
    EXAMPLES,
    FILE_OPERATIONS,
    KINDS,
    MAX_MESSAGE_BYTES,
    TYPED_KINDS,
    Author,
    Message,
    payload_key,
)
from scopes.result import Note
from scopes.sanitize import clean_line, cut
from scopes.store.maintenance import pack_when_needed

_LINES_BETWEEN_PACKING = 500
_MAX_BINARY_BYTES = MAX_MESSAGE_BYTES * 3 // 4 - (1 << 16)  # base64 takes four bytes for three
_OCTETS = "application/octet-stream"
_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
_LINE_EXAMPLE = '{"author": "carol", "text": "hello"}'
_PART_EXAMPLE = """--part '{"type": "text", "text": "hello"}'"""
SHORT_FORMS = {
    "decision": ("topic", "decision", "--topic db SQLite"),
    "priority": ("task", "urgency", "--task login high"),
    "method": ("goal", "approach", "--goal speed 'cache the result'"),
    "analysis": ("subject", "finding", "--subject login 'the token never expires'"),
}  # kind -> the field given as an option, the field that the text is, an example


class Fields(NamedTuple):
    """The message fields given as options, as typed; None if not given."""

    kind: str
    to: Sequence[str] | None = None
    reply_to: str | None = None
    time: str | None = None
    work_item: str | None = None
    task: str | None = None
    activity: str | None = None
    tool: str | None = None
    model: str | None = None
    status: str | None = None
    stop_reason: str | None = None
    files: Sequence[str] | None = None
    parts: Sequence[str] | None = None
    data: str | None = None


class FormOptions(NamedTuple):
    """The options that make a typed message of a text; None if not given."""

    topic: str | None = None
    goal: str | None = None
    subject: str | None = None
    aspect: str | None = None


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


def read_part(
    invocation: Invocation, text: str | None, media_type: str | None, *, binary: bool, allow_empty: bool
) -> str:
    """Return the JSON of a file part with the bytes of standard input, for --binary.

    Raises:
        Invalid: there is a text, the input is larger than a message may be, or the media type is not one.
        Refused: there are no bytes, and `allow_empty` is not given.
    """
    if not binary:
        raise Invalid("--media-type is the type of --binary", hint="add --binary, or leave out --media-type")
    if text not in (None, STANDARD_INPUT):
        raise Invalid("--binary stores standard input", hint="for example: scopes append CONV --binary < FILE")
    media_type = _OCTETS if media_type is None else media_type
    if not _MEDIA_TYPE.fullmatch(media_type):
        raise Invalid(f"{media_type!a} is not a media type", hint="for example: --media-type image/png")
    data = _read_input(invocation, _MAX_BINARY_BYTES)
    if not (data or allow_empty):
        refuse_blank("")
    return json.dumps({"type": "file", "media_type": media_type, "data": b64encode(data).decode()})


def _read_input(invocation: Invocation, max_bytes: int) -> bytes:
    with open_input(invocation, STANDARD_INPUT) as stream:
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise Invalid(
            f"the message is larger than {max_bytes >> 20} MiB",
            hint="store the large part as a file and mention it: --file mention:PATH",
        )
    return data


def refuse_blank(text: str | None) -> None:
    """Refuse a text that is empty or only white space (D4).

    Raises:
        Refused: the text is blank.
    """
    if text is not None and not text.strip():
        raise Refused("the message is empty", hint="to store it anyway: --allow-empty")


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


def compose_message(author: Author, text: str | None, fields: Fields, *, has_short_forms: bool = False) -> Message:
    """Build the message; a plain text without further fields needs no validation, and so no pydantic.

    has_short_forms: the command has the options of SHORT_FORMS, so a hint may name them

    Raises:
        Invalid: there is no content, or a field is invalid.
    """
    _refuse_misspelled_kind(fields.kind)
    if fields.data is not None and fields.kind not in TYPED_KINDS:
        raise Invalid("--data needs a typed kind", hint=f"--kind: {', '.join(sorted(TYPED_KINDS))}")
    if fields.data is None and fields.kind in EXAMPLES:
        is_short = has_short_forms and fields.kind in SHORT_FORMS
        short = f"--kind {fields.kind} {SHORT_FORMS[fields.kind][2]}, or " if is_short else ""
        hint = f"for example: {short}--kind {fields.kind} --data '{EXAMPLES[fields.kind]}'"
        raise Invalid(f"a message of kind {fields.kind} needs its document", hint=hint)
    given = _documents(fields)
    if text is None and "parts" not in given and fields.data is None:
        raise Invalid("no message given", hint="give TEXT, - for standard input, --part, --data or --jsonl")
    if fields.kind == "plain" and text is not None and not given:
        return plain_message(author, text)
    document = {**given, "author": {"name": author.name, "kind": author.kind}, "kind": fields.kind}
    if text is not None or "parts" not in given:
        document["text"] = text or ""
    return _validated(document)


def _refuse_misspelled_kind(kind: str) -> None:
    near = difflib.get_close_matches(kind, KINDS, n=1) if kind not in KINDS else []
    if near:
        raise Invalid(f"there is no kind {kind!a}", hint=f"did you mean {near[0]}?")


def apply_short_form(text: str | None, fields: Fields, options: FormOptions) -> tuple[str | None, Fields]:
    """Return the text and the fields of a message, with a document made of the text if an option names its key.

    The message is the same as with --data: it has no text of its own.

    Raises:
        Invalid: an option does not belong to the kind, or --data is given as well.
    """
    _refuse_misspelled_kind(fields.kind)
    given = {name: value for name, value in options._asdict().items() if value is not None}
    name, text_field, _ = SHORT_FORMS.get(fields.kind, ("", "", ""))
    own = {name, "aspect"} if fields.kind == "analysis" else {name}
    for other in given.keys() - own:
        kind = next((kind for kind, form in SHORT_FORMS.items() if form[0] == other), "analysis")
        raise Invalid(f"--{other} belongs to --kind {kind}", hint=f"for example: --kind {kind} {SHORT_FORMS[kind][2]}")
    if given and fields.data is not None:
        raise Invalid(f"--{min(given)} cannot be combined with --data", hint="leave out one of them")
    key = fields.task if fields.kind == "priority" else given.get(name)
    if key is None or text is None or fields.data is not None:
        return text, fields
    document = {**given, name: key, text_field: text}
    task = None if fields.kind == "priority" else fields.task
    return None, fields._replace(data=json.dumps(document), task=task)


class LineReader:
    """Reads the lines of --jsonl as messages of a branch; `unknown` has the keys that no message has, with their line.

    A line with an `id` of its writer, which may be any JSON, is one message however often it is given: the id of the
    message follows from it and from the conversation.
    """

    def __init__(self, branch: BranchHandle, *, allow_empty: bool = False, strict: bool = False) -> None:
        self._branch = branch
        self._allow_empty = allow_empty
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
            if not (self._allow_empty or document.get("parts") or message.payload is not None):
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


def refuse_with_lines(*options: str | None, binary: bool) -> None:
    """Refuse options that cannot be combined with --jsonl, whose lines have their own author and content."""
    if binary or any(option is not None for option in options):
        text = "--jsonl cannot be combined with TEXT, --as, --data or --binary"
        raise Invalid(text, hint="set author and text in each line")


def _validated(document: object) -> Message:
    """Validate a JSON document and return it as a message with the current time and a new id."""
    from scopes.model.validation import check_message

    message: Message = check_message(document, message_id=new_id(), now=now())
    return message


def _documents(fields: Fields) -> dict[str, Any]:
    """Return the given fields under their keys in the JSON document of a message."""
    names = ("reply_to", "time", "work_item", "task", "activity", "tool", "model", "status", "stop_reason")
    given: dict[str, Any] = {name: value for name in names if (value := getattr(fields, name)) is not None}
    if fields.to:
        given["to"] = list(fields.to)
    if fields.files:
        given["files"] = [_file_document(text) for text in fields.files]
    if fields.parts:
        given["parts"] = [parse_document(text, "--part", _PART_EXAMPLE) for text in fields.parts]
    if fields.data is not None:
        given[payload_key(fields.kind)] = parse_document(
            fields.data, "--data", f"--data '{EXAMPLES.get(fields.kind, '{}')}'"
        )
    return given


def _file_document(text: str) -> dict[str, str]:
    operation, colon, path = text.partition(":")
    if not colon or operation not in FILE_OPERATIONS or not path:
        hint = f"for example: --file edit:src/app.py; operations: {', '.join(FILE_OPERATIONS)}"
        raise Invalid(f"{text!a} is not a valid OP:PATH", hint=hint)
    if operation != "rename":
        return {"op": operation, "path": path}
    source, arrow, target = path.partition("=>")
    if not arrow:
        raise Invalid("a rename needs both paths", hint="for example: --file 'rename:old.py=>new.py'")
    return {"op": operation, "path": target, "from": source}
