"""`scopes send`."""

from __future__ import annotations

from dataclasses import replace
from shlex import quote
from typing import Annotated, TypeAlias

import typer

from scopes.agents.delivery import SentMessage, deliver_to_programs
from scopes.agents.registry import Registry
from scopes.agents.send import send as send_message
from scopes.cli.append_input import Fields, compose_message, read_text
from scopes.cli.arguments import (
    AuthorKind,
    AuthorName,
    ConversationOrBranchArgument,
    author_of,
    find_conversation,
    split_branch,
)
from scopes.cli.input import STANDARD_INPUT, has_piped_input
from scopes.cli.invocation import Invocation
from scopes.errors import Invalid, NotFound
from scopes.history.handles import BranchHandle, StoreHandle
from scopes.history.names import complete_message_id
from scopes.history.sessions import NOTES
from scopes.ids import BranchName
from scopes.store.repository import Repository

Queue: TypeAlias = Annotated[
    bool, typer.Option("--queue", help="Send even if nobody is available: it waits in the inbox")
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
Data: TypeAlias = Annotated[
    str | None, typer.Option("--data", metavar="JSON", help="The content of a typed message, such as a decision")
]
Kind: TypeAlias = Annotated[
    str, typer.Option("--kind", metavar="KIND", help="plain, prompt, answer, decision, proposal, analysis, ...")
]
ReplyTo: TypeAlias = Annotated[
    str | None, typer.Option("--reply-to", metavar="MESSAGE", help="The message that it answers")
]
Text: TypeAlias = Annotated[str | None, typer.Argument(metavar="[TEXT]", help="The message; - reads standard input")]
Time: TypeAlias = Annotated[str | None, typer.Option("--time", metavar="RFC3339", help="Its time (default: now)")]


def send(
    context: typer.Context,
    conversation: ConversationOrBranchArgument,
    text: Text = None,
    to: Annotated[
        list[str] | None, typer.Option("--to", metavar="TARGET", help="An agent by name or number, @capability, or all")
    ] = None,
    queue: Queue = False,
    author: AuthorName = None,
    author_kind: AuthorKind = None,
    branch: Branch = None,
    create: Create = False,
    kind: Kind = "plain",
    data: Data = None,
    reply_to: ReplyTo = None,
    time: Time = None,
) -> int:
    """Add a message and put it into the inboxes of agents.

    The message is appended to the conversation and put into the inboxes in one operation: either both happen or
    neither. Agents that are away get it when they are available again, in the order of sending. If nobody is available,
    nothing is sent (exit code 1) unless --queue is given. With an unknown name or capability nothing is sent.
    Agents and their inboxes stay in this store: push sends the conversation, and no inbox.

    If a recipient has a program (scopes.agent.<name>.delivery), the program is run with the message, and send waits
    for it to end: up to three times scopes.agent.<name>.timeout (60 seconds). To stop waiting, press Ctrl-C: the
    message stays sent, and in the inbox.

    Without --to, proposals go to agents with the capability review, collaboration requests to those with the capability
    that they name, and analyses to the registered participants of the conversation.

    --create creates CONV/BRANCH at the tip of the active branch if it does not exist; the active branch stays the same.
    While a session is being recorded, put messages on a branch of their own: scopes send CONV/notes --create TEXT.

    Examples:
      scopes send conv-001 --to reviewer "Please look at the login form"
      scopes send conv-001 --to @review --to carol --queue "The tests pass"
      scopes send conv-001 --as lead --to all "We release on Monday"
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    name, branch = split_branch(conversation, branch)
    if to is None and Registry(repository).find_named(name) and find_conversation(repository, name) is None:
        raise Invalid(f"{name} is an agent, not a conversation", hint=f"scopes send CONV --to {quote(name)} TEXT")
    target = _find_target(repository, name, branch, create=create)
    if text is None and data is None and has_piped_input(invocation):
        text = STANDARD_INPUT
    if text is None and data is None:
        hint = f'for example: scopes send {quote(name)} --to all "hello", or - for standard input'
        raise Invalid("no message given", hint=hint)
    content = None if text is None else read_text(invocation, text)
    if content is not None and not content.strip():
        raise Invalid("the message is empty", hint='for example: scopes send conv-001 --to all "hello"')
    answered = complete_message_id(repository, target.conversation.id, reply_to)
    fields = Fields(kind=kind, data=data, reply_to=answered, time=time)
    message = compose_message(author_of(invocation, author, author_kind), content, fields)
    done = send_message(target, message, to or (), queue=queue, create=create)
    failures = deliver_to_programs(repository, done.delivered_to, SentMessage(done.message, [done.operation]))
    return invocation.show(replace(done, notes=(*done.notes, *failures)))


def _find_target(repository: Repository, name: str, branch: str | None, *, create: bool) -> BranchHandle:
    """Return the branch for the message; with `create` it need not be there.

    Raises:
        NotFound, Ambiguous: it, or the conversation, cannot be resolved.
        Invalid: no branch is named that could be created.
    """
    if create and branch is None:
        raise Invalid("--create needs a branch", hint=f"for example: scopes send {quote(f'{name}/{NOTES}')} --create")
    if create and branch is not None:
        conversation = StoreHandle(repository).conversation(name)
        if branch not in conversation.tips:
            return BranchHandle(conversation, BranchName(branch))
    try:
        return StoreHandle(repository).branch(name, branch)
    except NotFound as error:
        if branch == NOTES and find_conversation(repository, name) is not None:
            error.hint = f"create it: scopes send {quote(f'{name}/{branch}')} --create ..."
        raise
