"""`scopes inbox`."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import typer

from scopes.agents.delivery import deliver_unread
from scopes.agents.inbox import read_inbox, watch_inbox
from scopes.cli.commands.agents import AgentArgument
from scopes.cli.invocation import Invocation
from scopes.errors import Invalid
from scopes.render.view_options import ViewOptions


def inbox(
    context: typer.Context,
    agent: AgentArgument,
    acknowledge: Annotated[
        bool, typer.Option("--ack", help="Take these messages out of the inbox; no other reader gets them")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Go on and print messages as they arrive")] = False,
    idle: Annotated[
        float | None, typer.Option("--idle", metavar="SECONDS", help="With --watch: stop after so long without one")
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            "-a",
            help="Also what asks for something that has ended, with the reason (in a pipe the last column)",
        ),
    ] = False,
    deliver: Annotated[bool, typer.Option("--deliver", help="Give each to the program of the agent")] = False,
) -> int:
    """List the unread messages of an agent.

    They are in the order of sending. With --ack they are taken out of the inbox as they are printed: of several
    processes that read at once, each message goes to one. The messages stay in their conversations, and undo puts them
    back into the inbox. Agents and inboxes are of this store: no push or fetch carries them to another one.

    What asks for something that has ended is left out: an escalation whose conflict was resolved or aborted, a request
    of a collaboration that was closed or merged, a proposal that was applied, rejected, superseded or withdrawn or has
    expired. --all lists it too. --ack takes it out with the rest; if that end is undone first, it is listed again.

    With --deliver the program of the setting scopes.agent.<name>.delivery of your own configuration gets each as a JSON
    object on standard input; exit code 0 takes the message out of the inbox. It is tried three times, then the message
    and all later ones stay, and the exit code is 1. Commands that send do the same for their receivers: send,
    collaborate, conflicts escalate, and proposals create --send. One process at a time delivers to an agent. No message
    is lost. One is given twice only if scopes dies between the end of the program and the acknowledgement: `delivery`
    in the object (and the variable SCOPES_DELIVERY) is an id that is the same for all attempts, and `attempt` counts
    them, so a program can leave out what it has done before. A message for which the program is running now is not
    taken by --ack. Undo of a send takes back the deliveries of its message too, not what the program has done; undo of
    another delivery puts the message back, and it is given again as a new one.

    Examples:
      scopes inbox reviewer
      scopes inbox reviewer --ack --json
      scopes inbox reviewer --watch --ack --idle 2 --json
      scopes config set scopes.agent.reviewer.delivery "notify-send scopes"
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    if deliver and (watch or acknowledge):
        raise Invalid("--deliver cannot be combined with --watch or --ack", hint="it takes out what it delivers")
    if everything and (watch or deliver):
        raise Invalid(
            "--all cannot be combined with --watch or --deliver", hint=f"see: scopes inbox {quote(agent)} --all"
        )
    if idle is not None and not (watch and idle >= 0):
        raise Invalid("--idle needs --watch, and seconds of 0 or more", hint="for example: --watch --idle 60")
    if deliver:
        return invocation.show(deliver_unread(repository, agent))
    if watch:
        return invocation.stream(watch_inbox(repository, agent, acknowledge=acknowledge, idle_seconds=idle))
    found = read_inbox(repository, agent, acknowledge=acknowledge, everything=everything)
    return invocation.show(found, options=ViewOptions(ended=everything))
