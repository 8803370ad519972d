"""From the options of `append`, or from lines of JSON, to messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from scopes.cli.message_input import parse_document
from scopes.clock import new_id, now
from scopes.conversation.append import MessageAppended, append_to, plain_message
from scopes.conversation.heads import head_of
from scopes.conversation.lookup import find_place
from scopes.errors import Invalid
from scopes.ids import BranchName, ConversationId, is_message_id
from scopes.loading import load
from scopes.model.message import FILE_OPERATIONS, TYPED_KINDS, Author, Message, payload_key
from scopes.store.maintenance import pack_when_needed
from scopes.store.repository import Repository, read_commit

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
    message: Message = load("scopes.model.schema:check_message")(document, message_id=new_id(), now=now())
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
    return str(head_of(read_commit(repository, find_place(repository, text, conversation).oid)).id)


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
