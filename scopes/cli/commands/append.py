"""`scopes conv append`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from scopes.cli.authorship import author_of
from scopes.cli.invocation import Invocation
from scopes.cli.main import load
from scopes.cli.message_input import parse_document, read_text, walk_documents
from scopes.clock import new_id, now
from scopes.conversation.append import MessageAppended, append_to, plain_message
from scopes.conversation.branch import find_both
from scopes.conversation.lookup import find_place
from scopes.errors import Invalid
from scopes.ids import BranchName, ConversationId, is_message_id
from scopes.model.message import FILE_OPERATIONS, Author, Message, payload_key
from scopes.store.repository import Repository


def append(
    context: typer.Context,
    conversation: Annotated[
        str, typer.Argument(metavar="CONV[/BRANCH]", help="The conversation, or one of its branches")
    ],
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="The message; - reads standard input")] = None,
    author: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Who says it: an agent; without it you do")
    ] = None,
    author_kind: Annotated[
        str | None, typer.Option("--author-kind", metavar="KIND", help="human, agent, tool, system or injected")
    ] = None,
    branch: Annotated[
        str | None, typer.Option("--branch", "-b", metavar="BRANCH", help="The branch; the active one if not given")
    ] = None,
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="plain, prompt, answer, decision, proposal, analysis, ...")
    ] = "plain",
    data: Annotated[
        str | None, typer.Option("--data", metavar="JSON", help="The document of a typed kind, such as a decision")
    ] = None,
    to: Annotated[list[str] | None, typer.Option("--to", metavar="NAME", help="For whom; repeatable")] = None,
    reply_to: Annotated[
        str | None, typer.Option("--reply-to", metavar="MESSAGE", help="Which message it answers")
    ] = None,
    files: Annotated[
        list[str] | None,
        typer.Option("--file", metavar="OP:PATH", help="A file it touched: read, create, edit, delete, mention"),
    ] = None,
    parts: Annotated[
        list[str] | None, typer.Option("--part", metavar="JSON", help="A further part, such as a tool call")
    ] = None,
    time: Annotated[str | None, typer.Option("--time", metavar="RFC3339", help="When it was said")] = None,
    work_item: Annotated[str | None, typer.Option("--work-item", metavar="ID", help="The work item it is for")] = None,
    task: Annotated[str | None, typer.Option("--task", metavar="ID", help="The task it is for")] = None,
    activity: Annotated[
        str | None,
        typer.Option("--activity", metavar="NAME", help="agent_action, file_edit, decision or blocker_resolved"),
    ] = None,
    tool: Annotated[str | None, typer.Option("--tool", metavar="NAME", help="The tool that was used")] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="The model that said it")] = None,
    status: Annotated[str | None, typer.Option("--status", metavar="TEXT", help="ok, error, interrupted, ...")] = None,
    stop_reason: Annotated[
        str | None, typer.Option("--stop-reason", metavar="TEXT", help="Why the model stopped")
    ] = None,
    lines: Annotated[
        str | None, typer.Option("--jsonl", metavar="FILE", help="One message a line, as JSON; - reads standard input")
    ] = None,
) -> int:
    """Add a message, or many as JSON lines.

    When the command returns, the message is on disk. Any number of processes may append to one branch at the same time.
    With --jsonl each line is an object with author, text or parts, and any of kind, to, reply_to, time, files, ...; it is
    recorded, and its reply printed, before the next line is read. The first bad line stops the command.

    Examples:
      scopes conv append conv-001 --as planner "Start with the login form"
      git diff | scopes conv append conv-001 --as reviewer -
      scopes conv append conv-001 --as lead --kind decision --data '{"topic": "db", "decision": "SQLite"}'
      scopes conv append conv-001/main --jsonl messages.jsonl
      echo '{"author": "carol", "text": "hello"}' | scopes conv append conv-001 --jsonl -
    """
    call: Invocation = context.obj
    repository = call.repository()
    chosen, name = find_both(repository, conversation, branch)
    if lines is not None:
        _refuse_beside_lines(text, author, data)
        return call.stream(_append_lines(call, repository, chosen, name, lines))
    fields = {
        "to": to, "time": time, "work_item": work_item, "task": task, "activity": activity, "tool": tool, "model": model,
        "status": status, "stop_reason": stop_reason,
    }  # fmt: skip
    fields["reply_to"] = _whole_id(repository, chosen, reply_to)
    fields["files"] = [_file_document(given) for given in files] if files else None
    fields["parts"] = [parse_document(given, "--part") for given in parts] if parts else None
    if data is not None:
        fields[payload_key(kind)] = parse_document(data, "--data")
    message = _message(call, author_of(call, author, author_kind), kind, _text(call, text, fields), fields)
    done = append_to(repository, chosen, name, message)
    code = call.show(done)
    load("scopes.store.maintenance:pack_when_needed")(repository)
    return code


def _message(call: Invocation, author: Author, kind: str, text: str | None, fields: dict[str, Any]) -> Message:
    """Make the message; a plain text with nothing beside it needs no check, and so no pydantic."""
    given = {key: value for key, value in fields.items() if value is not None}
    if kind == "plain" and text is not None and not given:
        return plain_message(author.name, text, author_kind=author.kind)
    document = {**given, "author": {"name": author.name, "kind": author.kind}, "kind": kind}
    if text is not None:
        document["text"] = text
    return _checked(document)


def _checked(document: object) -> Message:
    message: Message = load("scopes.model.schema:check_message")(document, message_id=new_id(), now=now())
    return message


def _text(call: Invocation, text: str | None, fields: dict[str, Any]) -> str | None:
    """Read the text; a message of parts or of a typed document alone needs none.

    Raises:
        Invalid: there is nothing to say.
    """
    if text is not None:
        return read_text(call, text)
    if fields["parts"] is None and not any(isinstance(value, dict) for value in fields.values()):
        raise Invalid("what is the message?", hint="give TEXT, - for standard input, --part, --data or --jsonl")
    return None if fields["parts"] is not None else ""


def _append_lines(
    call: Invocation, repository: Repository, conversation: ConversationId, branch: BranchName, path: str
) -> Iterator[MessageAppended]:
    for number, document in walk_documents(call, path):
        try:
            message = _checked(document)
        except Invalid as error:
            raise Invalid(f"line {number}: {error.message}", hint=error.hint) from error
        yield append_to(repository, conversation, branch, message)
        if number % 500 == 0:
            load("scopes.store.maintenance:pack_when_needed")(repository)


def _refuse_beside_lines(*given: str | None) -> None:
    if any(value is not None for value in given):
        raise Invalid("--jsonl brings whole messages", hint="leave out TEXT, --as and --data")


def _whole_id(repository: Repository, conversation: ConversationId, text: str | None) -> str | None:
    """Complete the start of a message id; a whole one may name a message that is elsewhere."""
    if text is None or is_message_id(text):
        return text
    head = load("scopes.conversation.heads:read_message")(repository, find_place(repository, text, conversation).oid)
    return str(head.id)


def _file_document(given: str) -> dict[str, str]:
    operation, colon, path = given.partition(":")
    if not colon or operation not in FILE_OPERATIONS or not path:
        raise Invalid(f"{given!a} is no OP:PATH", hint="for example: --file edit:src/app.py; " + ", ".join(FILE_OPERATIONS))
    if operation == "rename":
        source, arrow, target = path.partition("=>")
        if not arrow:
            raise Invalid("a rename names both paths", hint="for example: --file 'rename:old.py=>new.py'")
        return {"op": operation, "path": target, "from": source}
    return {"op": operation, "path": path}
