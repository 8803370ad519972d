"""`scopes conv append`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.append_input import (
    Fields,
    append_lines,
    compose,
    read_text,
    refuse_beside_lines,
    walk_documents,
    whole_id,
)
from scopes.cli.arguments import AuthorKind, AuthorName, ConversationOrBranch, OnBranch, author_of
from scopes.cli.invocation import Invocation
from scopes.conversation.append import append_to
from scopes.history.revparse import resolve_branch
from scopes.store.maintenance import pack_when_needed


def append(
    context: typer.Context,
    conversation: ConversationOrBranch,
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="The message; - reads standard input")] = None,
    author: AuthorName = None,
    author_kind: AuthorKind = None,
    branch: OnBranch = None,
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="plain, prompt, answer, decision, proposal, analysis, ...")
    ] = "plain",
    data: Annotated[
        str | None, typer.Option("--data", metavar="JSON", help="The document of a typed kind, such as a decision")
    ] = None,
    to: Annotated[list[str] | None, typer.Option("--to", metavar="NAME", help="For whom")] = None,
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
    With --jsonl each line is an object with author, text or parts, and any of kind, to, reply_to, time, files, ...; it
    is recorded, and its reply printed, before the next line is read. The first bad line stops the command.
    Where speed counts more than a power cut, `-c scopes.durability=fast` does not wait for the disk.

    Examples:
      scopes conv append conv-001 --as planner "Start with the login form"
      git diff | scopes conv append conv-001 --as reviewer -
      scopes conv append conv-001 --as lead --kind decision --data '{"topic": "db", "decision": "SQLite"}'
      scopes conv append conv-001/main --jsonl messages.jsonl
      echo '{"author": "carol", "text": "hello"}' | scopes conv append conv-001 --jsonl -
    """
    call: Invocation = context.obj
    repository = call.repository()
    chosen, name = resolve_branch(repository, conversation, branch)
    if lines is not None:
        refuse_beside_lines(text, author, data)
        return call.stream(append_lines(repository, chosen, name, walk_documents(call, lines)))
    fields = Fields(
        kind=kind, to=to, reply_to=whole_id(repository, chosen, reply_to), time=time, work_item=work_item, task=task,
        activity=activity, tool=tool, model=model, status=status, stop_reason=stop_reason, files=files, parts=parts,
        data=data,
    )  # fmt: skip
    words = None if text is None else read_text(call, text)
    message = compose(author_of(call, author, author_kind), words, fields)
    code = call.show(append_to(repository, chosen, name, message))
    pack_when_needed(repository)
    return code
