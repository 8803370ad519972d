"""Read messages for `append` from arguments and standard input: plain texts, and JSON Lines."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from scopes.cli.input import STANDARD_INPUT, open_input
from scopes.cli.invocation import Invocation
from scopes.clock import new_id, now
from scopes.conversation.append import MessageAppended, append_all, append_to
from scopes.errors import Invalid, Refused
from scopes.history.handles import Branch
from scopes.history.messages import head_of, plain_message
from scopes.history.revisions import resolve_revision
from scopes.ids import ConversationId, MessageId, is_message_id
from scopes.loading import load
from scopes.model.codec import MAX_MESSAGE_BYTES
from scopes.model.message import FILE_OPERATIONS, TYPED_KINDS, Author, Message, payload_key
from scopes.store.maintenance import pack_when_needed
from scopes.store.repository import Repository, read_commit

_LINES_BETWEEN_PACKING = 500


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


def read_text(invocation: Invocation, text: str) -> str:
    """Return the text, or all of standard input if it is `-`; bytes that are not UTF-8 become surrogates.

    Raises:
        Invalid: the input is larger than a message may be.
    """
    if text != STANDARD_INPUT:
        return text
    with open_input(invocation, STANDARD_INPUT) as stream:
        data = stream.read(MAX_MESSAGE_BYTES + 1)
    if len(data) > MAX_MESSAGE_BYTES:
        raise Invalid(
            f"the message is larger than {MAX_MESSAGE_BYTES >> 20} MiB",
            hint="store the large part as a file and mention it: --file mention:PATH",
        )
    return data.decode("utf-8", "surrogateescape")


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


def parse_document(data: bytes | str, name: str) -> Any:
    """Parse one JSON document; `name` names it in error messages.

    Raises:
        Invalid: it is not UTF-8, not JSON, or nested too deeply.
    """
    try:
        return json.loads(data)
    except UnicodeDecodeError as error:
        raise Invalid(f"{name} is not valid UTF-8") from error
    except RecursionError as error:
        raise Invalid(f"{name} is nested too deeply") from error
    except ValueError as error:
        raise Invalid(
            f"{name} is not valid JSON: {error}", hint='for example: {"author": "carol", "text": "hello"}'
        ) from error


def compose_message(author: Author, text: str | None, fields: Fields) -> Message:
    """Build the message; a plain text without further fields needs no validation, and so no pydantic.

    Raises:
        Invalid: there is no content, or a field is invalid.
    """
    if fields.data is not None and fields.kind not in TYPED_KINDS:
        raise Invalid("--data needs a typed kind", hint=f"--kind: {', '.join(sorted(TYPED_KINDS))}")
    given = _documents(fields)
    if text is None and "parts" not in given and fields.data is None:
        raise Invalid("no message given", hint="give TEXT, - for standard input, --part, --data or --jsonl")
    if fields.kind == "plain" and text is not None and not given:
        return plain_message(author, text)
    document = {**given, "author": {"name": author.name, "kind": author.kind}, "kind": fields.kind}
    if text is not None or "parts" not in given:
        document["text"] = text or ""
    return _validated(document)


def append_lines(branch: Branch, documents: Iterable[tuple[int, Any]]) -> Iterator[MessageAppended]:
    """Append one message per document; the next document is read after the message is on disk.

    Raises:
        Invalid: a document is not a message; the error names its line, and earlier lines stay recorded.
    """
    first: MessageId | None = None
    for number, document in documents:
        try:
            appended = append_to(branch, _validated(document), first=first)
        except Invalid as error:
            raise Invalid(f"line {number}: {error.message}", hint=error.hint) from error
        first = first or appended.id
        yield replace(appended, one_of_many=True)
        if number % _LINES_BETWEEN_PACKING == 0:
            pack_when_needed(branch.repository)


def append_all_lines(branch: Branch, documents: Iterable[tuple[int, Any]]) -> Iterator[MessageAppended]:
    """Append one message per document, all of them or none; every document is checked before anything is written.

    Raises:
        Invalid: a document is not a message, or too large; the error names its line, and nothing was written.
    """
    messages = [_validated_line(number, document) for number, document in documents]
    yield from append_all(branch, messages)
    pack_when_needed(branch.repository)


def _validated_line(number: int, document: object) -> Message:
    try:
        return _validated(document)
    except Invalid as error:
        raise Invalid(f"line {number}: {error.message}", hint=error.hint) from error


def refuse_with_lines(*options: str | None) -> None:
    """Refuse options that cannot be combined with --jsonl, whose lines have their own author and content."""
    if any(option is not None for option in options):
        raise Invalid("--jsonl cannot be combined with TEXT, --as or --data", hint="set author and text in each line")


def complete_message_id(repository: Repository, conversation: ConversationId, text: str | None) -> str | None:
    """Return the full id for a prefix or revision; a full id is returned as it is, even if no such message exists."""
    if text is None or is_message_id(text):
        return text
    return str(head_of(read_commit(repository, resolve_revision(repository, text, conversation).oid)).id)


def _validated(document: object) -> Message:
    """Validate a JSON document and return it as a message with the current time and a new id."""
    message: Message = load("scopes.model.validation:check_message")(document, message_id=new_id(), now=now())
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
        given["parts"] = [parse_document(text, "--part") for text in fields.parts]
    if fields.data is not None:
        given[payload_key(fields.kind)] = parse_document(fields.data, "--data")
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
