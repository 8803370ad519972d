"""Messages from the command line and from standard input: texts, and JSON documents one a line."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from scopes.cli.input import STANDARD_INPUT, open_input
from scopes.cli.invocation import Invocation
from scopes.clock import new_id, now
from scopes.conversation.append import MessageAppended, append_to, plain_message
from scopes.errors import Invalid
from scopes.history.messages import head_of
from scopes.history.revparse import resolve_revision
from scopes.ids import BranchName, ConversationId, is_message_id
from scopes.loading import load
from scopes.model.codec import MAX_MESSAGE_BYTES
from scopes.model.message import FILE_OPERATIONS, TYPED_KINDS, Author, Message, payload_key
from scopes.store.maintenance import pack_when_needed
from scopes.store.repository import Repository, read_commit


def read_text(call: Invocation, text: str) -> str:
    """Return the text itself, or all of standard input for `-`, to the byte: bytes that are no UTF-8 become surrogates.

    Raises:
        Invalid: it is larger than a message may be.
    """
    if text != STANDARD_INPUT:
        return text
    with open_input(call, STANDARD_INPUT) as stream:
        data = stream.read(MAX_MESSAGE_BYTES + 1)
    if len(data) > MAX_MESSAGE_BYTES:
        raise Invalid(
            f"the message is larger than {MAX_MESSAGE_BYTES >> 20} MiB",
            hint="store the large part as a file and mention it: --file mention:PATH",
        )
    return data.decode("utf-8", "surrogateescape")


def walk_documents(call: Invocation, path: str) -> Iterator[tuple[int, Any]]:
    r"""Yield line number and JSON document of every line that is not blank; only `\n` ends a line.

    Raises:
        Invalid: names the line that is too long, no UTF-8 or no JSON.
    """
    with open_input(call, path) as stream:
        number = 0
        while line := stream.readline(MAX_MESSAGE_BYTES + 1):
            number += 1
            if len(line) > MAX_MESSAGE_BYTES:
                raise Invalid(f"line {number} is longer than {MAX_MESSAGE_BYTES >> 20} MiB")
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if line.strip():
                yield number, parse_document(line, f"line {number}")


def parse_document(data: bytes | str, what: str) -> Any:
    """Read one JSON document from outside.

    Raises:
        Invalid: names what is wrong with it.
    """
    try:
        return json.loads(data)
    except UnicodeDecodeError as error:
        raise Invalid(f"{what} is not valid UTF-8") from error
    except RecursionError as error:
        raise Invalid(f"{what} is nested too deeply") from error
    except ValueError as error:
        raise Invalid(
            f"{what} is no JSON: {error}", hint='for example: {"author": "carol", "text": "hello"}'
        ) from error


_LINES_BETWEEN_PACKING = 500


class Fields(NamedTuple):
    """What was given beside author and text, as it was typed; None is not given."""

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


def compose(author: Author, text: str | None, fields: Fields) -> Message:
    """Make the message; a plain text with nothing beside it needs no check, and so no pydantic.

    Raises:
        Invalid: there is nothing to say, or a field is wrong.
    """
    if fields.data is not None and fields.kind not in TYPED_KINDS:
        raise Invalid("--data is the document of a typed kind", hint=f"--kind: {', '.join(sorted(TYPED_KINDS))}")
    given = _documents(fields)
    if text is None and "parts" not in given and fields.data is None:
        raise Invalid("what is the message?", hint="give TEXT, - for standard input, --part, --data or --jsonl")
    if fields.kind == "plain" and text is not None and not given:
        return plain_message(author.name, text, author_kind=author.kind)
    document = {**given, "author": {"name": author.name, "kind": author.kind}, "kind": fields.kind}
    if text is not None or "parts" not in given:
        document["text"] = text or ""
    return checked(document)


def checked(document: object) -> Message:
    """Turn a document from outside into a message at this moment, with a fresh id.

    Raises:
        Invalid: names the first field that is wrong.
    """
    message: Message = load("scopes.model.validation:check_message")(document, message_id=new_id(), now=now())
    return message


def append_lines(
    repository: Repository,
    conversation: ConversationId,
    branch: BranchName,
    documents: Iterable[tuple[int, Any]],
) -> Iterator[MessageAppended]:
    """Append one document after the other; the next is read when the one before is on disk.

    Raises:
        Invalid: names the line; the lines before it stay recorded.
    """
    for number, document in documents:
        try:
            done = append_to(repository, conversation, branch, checked(document))
        except Invalid as error:
            raise Invalid(f"line {number}: {error.message}", hint=error.hint) from error
        yield done
        if number % _LINES_BETWEEN_PACKING == 0:
            pack_when_needed(repository)


def refuse_beside_lines(*given: str | None) -> None:
    """Refuse what says who or what beside lines that say it themselves."""
    if any(value is not None for value in given):
        raise Invalid("--jsonl brings whole messages", hint="leave out TEXT, --as and --data")


def whole_id(repository: Repository, conversation: ConversationId, text: str | None) -> str | None:
    """Complete the start of a message id; a whole one may name a message that is elsewhere."""
    if text is None or is_message_id(text):
        return text
    return str(head_of(read_commit(repository, resolve_revision(repository, text, conversation).oid)).id)


def _documents(fields: Fields) -> dict[str, Any]:
    """Return the fields that were given, as a document from outside has them."""
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


def _file_document(given: str) -> dict[str, str]:
    operation, colon, path = given.partition(":")
    if not colon or operation not in FILE_OPERATIONS or not path:
        hint = f"for example: --file edit:src/app.py; operations: {', '.join(FILE_OPERATIONS)}"
        raise Invalid(f"{given!a} is no OP:PATH", hint=hint)
    if operation != "rename":
        return {"op": operation, "path": path}
    source, arrow, target = path.partition("=>")
    if not arrow:
        raise Invalid("a rename names both paths", hint="for example: --file 'rename:old.py=>new.py'")
    return {"op": operation, "path": target, "from": source}
