"""`scopes conv append`."""

from __future__ import annotations

import shlex
from typing import Annotated, NamedTuple, TypeAlias

import typer

from scopes.cli.append_input import (
    Fields,
    FormOptions,
    LineReader,
    apply_short_form,
    compose_message,
    read_part,
    read_text,
    refuse_blank,
    refuse_with_lines,
    walk_documents,
)
from scopes.cli.arguments import (
    AuthorKind,
    AuthorName,
    ConversationOrBranchArgument,
    TextOption,
    author_of,
    choose_text,
    find_conversation,
    split_branch,
)
from scopes.cli.input import STANDARD_INPUT, has_piped_input
from scopes.cli.invocation import Invocation
from scopes.conversation.append import MessageAppended, append_to
from scopes.errors import Ambiguous, Invalid, NotFound, Refused
from scopes.history.handles import BranchHandle, StoreHandle
from scopes.history.names import complete_message_id, resolve_conversation
from scopes.ids import BranchName
from scopes.model.message import Message
from scopes.render.view_options import ViewOptions
from scopes.store.maintenance import pack_when_needed
from scopes.store.repository import Repository

Kind: TypeAlias = Annotated[
    str, typer.Option("--kind", metavar="KIND", help="plain, prompt, answer, decision, proposal, analysis, ...")
]
Data: TypeAlias = Annotated[
    str | None, typer.Option("--data", metavar="JSON", help="The content of a typed message, such as a decision")
]
Start: TypeAlias = Annotated[
    str | None,
    typer.Option("--from", metavar="MESSAGE", help="With --branch NAME: create that branch at this message first"),
]
Branch: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--branch", "-b", metavar="BRANCH", help="The branch (default: the active one); with --from a new one"
    ),
]
Create: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--create", help="Create the branch that is named, if it is not there; the active branch stays active"
    ),
]
Topic: TypeAlias = Annotated[
    str | None, typer.Option("--topic", metavar="TOPIC", help="With --kind decision: its topic; TEXT is the decision")
]
Goal: TypeAlias = Annotated[
    str | None, typer.Option("--goal", metavar="GOAL", help="With --kind method: its goal; TEXT is the approach")
]
Subject: TypeAlias = Annotated[
    str | None,
    typer.Option("--subject", metavar="SUBJECT", help="With --kind analysis: its subject; TEXT is the finding"),
]
Aspect: TypeAlias = Annotated[
    str | None, typer.Option("--aspect", metavar="ASPECT", help="With --subject: the aspect of it (default: general)")
]
Files: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--file", metavar="OP:PATH", help="A file it touched; OP: read, create, edit, delete, mention"),
]
Activity: TypeAlias = Annotated[
    str | None,
    typer.Option("--activity", metavar="NAME", help="agent_action, file_edit, decision or blocker_resolved"),
]
MediaType: TypeAlias = Annotated[
    str | None, typer.Option("--media-type", metavar="TYPE", help="With --binary: its type (application/octet-stream)")
]
Text: TypeAlias = Annotated[str | None, typer.Argument(metavar="[TEXT]", help="The message; - reads standard input")]
To: TypeAlias = Annotated[list[str] | None, typer.Option("--to", metavar="NAME", help="Who the message is for")]
ReplyTo: TypeAlias = Annotated[
    str | None, typer.Option("--reply-to", metavar="MESSAGE", help="The message that it answers")
]
Parts: TypeAlias = Annotated[
    list[str] | None, typer.Option("--part", metavar="JSON", help="A message part, such as a tool call")
]
Time: TypeAlias = Annotated[str | None, typer.Option("--time", metavar="RFC3339", help="Its time (default: now)")]
WorkItem: TypeAlias = Annotated[str | None, typer.Option("--work-item", metavar="ID", help="The id of its work item")]
Task: TypeAlias = Annotated[
    str | None,
    typer.Option("--task", metavar="ID", help="The id of its task; with --kind priority TEXT is its urgency"),
]
Tool: TypeAlias = Annotated[str | None, typer.Option("--tool", metavar="NAME", help="The tool that was used")]
Model: TypeAlias = Annotated[str | None, typer.Option("--model", metavar="NAME", help="The model that wrote it")]
Status: TypeAlias = Annotated[str | None, typer.Option("--status", metavar="TEXT", help="ok, error, interrupted, ...")]
StopReason: TypeAlias = Annotated[
    str | None, typer.Option("--stop-reason", metavar="TEXT", help="Why the model stopped")
]
AllowEmpty: TypeAlias = Annotated[bool, typer.Option("--allow-empty", help="Store a text that is empty or blank too")]
Binary: TypeAlias = Annotated[
    bool, typer.Option("--binary", help="Store standard input as a file part, whatever its bytes are")
]
Lines: TypeAlias = Annotated[
    str | None, typer.Option("--jsonl", metavar="FILE", help="Append each line of JSON; - reads standard input")
]
StrictKeys: TypeAlias = Annotated[bool, typer.Option("--strict", help="With --jsonl: refuse a key that no message has")]
Atomic: TypeAlias = Annotated[bool, typer.Option("--atomic", help="With --jsonl: store all lines or none")]


def append(
    context: typer.Context,
    conversation: ConversationOrBranchArgument,
    text: Text = None,
    text_option: TextOption = None,
    author: AuthorName = None,
    author_kind: AuthorKind = None,
    branch: Branch = None,
    start: Start = None,
    create: Create = False,
    kind: Kind = "plain",
    topic: Topic = None,
    goal: Goal = None,
    subject: Subject = None,
    aspect: Aspect = None,
    data: Data = None,
    to: To = None,
    reply_to: ReplyTo = None,
    files: Files = None,
    parts: Parts = None,
    time: Time = None,
    work_item: WorkItem = None,
    task: Task = None,
    activity: Activity = None,
    tool: Tool = None,
    model: Model = None,
    status: Status = None,
    stop_reason: StopReason = None,
    allow_empty: AllowEmpty = False,
    binary: Binary = False,
    media_type: MediaType = None,
    lines: Lines = None,
    atomic: Atomic = False,
    strict: StrictKeys = False,
) -> int:
    """Add a message, or many as JSON lines.

    --from MESSAGE with --branch NAME creates the branch at that message and makes it active, as `scopes branch` does,
    and puts the message on it, in one step. --create begins CONV/BRANCH at the tip of the active branch if it is not
    there, and makes nothing active.

    A branch that a session of an agent goes on writing is not the place for a message: hooks, watch and import move it
    only as long as nobody else does. After a message of somebody else the next messages of the session go to a branch
    import/..., and log, show and resume say so. To keep notes apart from a session, put them
    on another branch: scopes append CONV/notes --create TEXT.

    A decision is TEXT with --topic, a method TEXT with --goal, a priority its urgency with --task, an analysis TEXT
    with --subject; --data gives the whole JSON of any typed message.

    When the command returns, the message is on disk. Any number of processes can append to one branch at the same time.
    Without TEXT, standard input is read unless it is a terminal: text in UTF-8, or any bytes with --binary. With
    --jsonl each line is an object with author, text or parts, and optionally kind, to, reply_to, time, files, ... Each
    line is stored and its result printed before the next line is read. A line with an id of yours, any JSON, is stored
    once in a conversation however often it is given. A key that no message has is stored with a note; --strict refuses
    it. The first invalid line stops the command. With --atomic all lines are read and checked first, and then stored as
    one operation: after an invalid line, an error or a kill, either all messages are on the branch or none; for many
    lines that is also much faster. `scopes undo` takes back what one command appended. `-c scopes.durability=fast` is
    faster: it does not wait for the disk, so a power cut can lose the last messages.

    Examples:
      scopes conv append conv-001 --as planner "Start with the login form"
      scopes append conv-001 --from k3x9 --branch try-sqlite "What if we used SQLite?"
      scopes append conv-001/notes --create --as claude-code "SQLite: one file, no server"
      scopes append conv-001 --kind decision --topic 'batch size' '2000 refs per push'
      git diff | scopes append conv-001 --as reviewer
      scopes append conv-001 --as tester --binary --media-type image/png < screen.png
      scopes conv append conv-001 --as bot --kind priority --data '{"task": "login", "urgency": "high"}'
      scopes conv append conv-001 --jsonl messages.jsonl --atomic
      echo '{"author": "carol", "text": "hello"}' | scopes conv append conv-001 --jsonl -
    """
    invocation: Invocation = context.obj
    given = _Given(conversation, branch, start, create, choose_text(text, text_option), author, author_kind)
    _check_options(given, has_lines=lines is not None, atomic=atomic, strict=strict)
    if lines is not None:
        refuse_with_lines(given.text, author, data, topic, goal, subject, aspect, binary=binary)
        reader = LineReader(_find_target(invocation, given), allow_empty=allow_empty, strict=strict)
        return _append_lines(invocation, reader, lines, atomic=atomic)
    fields = Fields(
        kind=kind, to=to, reply_to=reply_to, time=time, work_item=work_item, task=task, activity=activity, tool=tool,
        model=model, status=status, stop_reason=stop_reason, files=files, parts=parts, data=data,
    )  # fmt: skip
    given = given._replace(media_type=media_type, binary=binary, allow_empty=allow_empty)
    return _append_message(invocation, given, fields, FormOptions(topic, goal, subject, aspect))


class _Given(NamedTuple):
    """Where the message goes, who wrote it and its text, as they were given; `start` is the message of --from.

    create: begin the branch if it is not there
    """

    conversation: str
    branch: str | None
    start: str | None
    create: bool
    text: str | None
    author: str | None
    author_kind: str | None
    media_type: str | None = None
    binary: bool = False
    allow_empty: bool = False


def _check_options(given: _Given, *, has_lines: bool, atomic: bool, strict: bool) -> None:
    """Raise Invalid if the options for a new branch, or for lines, do not fit together."""
    if atomic and not has_lines:
        raise Invalid("--atomic needs --jsonl", hint="one message is always stored whole or not at all")
    if strict and not has_lines:
        raise Invalid("--strict needs --jsonl", hint="leave it out")
    _, branch = split_branch(given.conversation, given.branch)
    if given.start is not None and given.create:
        raise Invalid("--from and --create exclude each other", hint="--create begins at the tip of the active branch")
    option = "--from" if given.start is not None else "--create" if given.create else None
    if option is not None and has_lines:
        raise Invalid(f"{option} and --jsonl exclude each other", hint="create the branch first: scopes branch --from")
    if option == "--from" and branch is None:
        raise Invalid("--from needs --branch NAME", hint="for example: --from main~2 --branch try-sqlite")
    if option == "--create" and branch is None:
        raise Invalid(
            "--create needs a branch",
            hint=f"for example: scopes append {shlex.quote(given.conversation)}/notes --create",
        )


def _append_lines(invocation: Invocation, reader: LineReader, lines: str, *, atomic: bool) -> int:
    append_documents = reader.append_all if atomic else reader.append
    code = invocation.stream(append_documents(walk_documents(invocation, lines)), options=ViewOptions(lines=True))
    for note in reader.notes():
        invocation.output().note(note)
    invocation.output().hint("undo them together with: scopes undo")
    return code


def _append_message(invocation: Invocation, given: _Given, fields: Fields, form: FormOptions) -> int:
    conversation, branch = split_branch(given.conversation, given.branch)
    repository = invocation.repository()
    is_new = given.start is not None or (given.create and not _has_branch(repository, conversation, branch or ""))
    target = None if is_new else _find_target(invocation, given)
    answered = complete_message_id(repository, resolve_conversation(repository, conversation), fields.reply_to)
    content, fields = _read_content(invocation, given, fields._replace(reply_to=answered))
    content, fields = apply_short_form(content, fields, form)
    message = compose_message(
        author_of(invocation, given.author, given.author_kind), content, fields, has_short_forms=True
    )
    if target is not None:
        result = append_to(target, message)
    else:
        result = _append_to_new(repository, conversation, message, given._replace(branch=branch))
    code = invocation.show(result)
    pack_when_needed(repository)
    return code


def _has_branch(repository: Repository, conversation: str, branch: str) -> bool:
    """Return True if a conversation has a branch of exactly this name."""
    return BranchName(branch) in StoreHandle(repository).conversation(conversation).tips


def _append_to_new(repository: Repository, conversation: str, message: Message, given: _Given) -> MessageAppended:
    """Append to a new branch; with --create to that of another process which was faster."""
    start, name = given.start, given.branch or ""
    try:
        from scopes.conversation.branch import append_to_new_branch

        return append_to_new_branch(repository, conversation, message, start=start, name=name, switch=not given.create)
    except Refused:
        if not given.create or not _has_branch(repository, conversation, name):
            raise
        return append_to(StoreHandle(repository).branch(conversation, name), message)


def _find_target(invocation: Invocation, given: _Given) -> BranchHandle:
    """Resolve the branch; the error names the command that was meant if the text is where the conversation belongs."""
    repository: Repository = invocation.repository()
    conversation, text = given.conversation, given.text
    try:
        return StoreHandle(repository).branch(conversation, given.branch)
    except NotFound as error:
        meant = None
        if text is None and not has_piped_input(invocation):
            meant = ("to the latest conversation", shlex.join(["scopes", "append", "@", conversation]))
        elif (
            text is not None
            and not _is_one_conversation(repository, conversation)
            and _is_one_conversation(repository, text)
        ):
            meant = ("the conversation comes first", shlex.join(["scopes", "append", text, conversation]))
        if meant is not None:
            error.hint = "\n".join(filter(None, (f"{meant[0]}: {meant[1]}", error.hint)))
        raise


def _is_one_conversation(repository: Repository, text: str) -> bool:
    """Return True if a text names exactly one conversation."""
    try:
        return find_conversation(repository, text) is not None
    except (Ambiguous, Invalid):
        return False


def _read_content(invocation: Invocation, given: _Given, fields: Fields) -> tuple[str | None, Fields]:
    """Return the text of the message, and its fields, with the bytes of --binary as a further part.

    Raises:
        Invalid, Refused: the text is blank, or is not UTF-8.
    """
    text, has_content = given.text, bool(fields.parts or fields.data)
    if text is None and not has_content and has_piped_input(invocation):
        text = STANDARD_INPUT
    content = None
    if given.binary or given.media_type is not None:
        part = read_part(invocation, text, given.media_type, binary=given.binary, allow_empty=given.allow_empty)
        fields = fields._replace(parts=[*(fields.parts or ()), part])
    elif text is not None:
        content = read_text(invocation, text, hint="to store the bytes as a file part: --binary")
    if not (given.allow_empty or has_content):
        refuse_blank(content)
    return content, fields
