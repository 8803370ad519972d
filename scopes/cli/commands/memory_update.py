"""`scopes memory update`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import BuiltIn
from scopes.cli.invocation import Invocation
from scopes.memory.update import update
from scopes.render.progress import progress


def memory_update(
    context: typer.Context,
    conversation: Annotated[
        str | None, typer.Argument(metavar="[CONV]", help="The conversation, or one of its branches; all if not given")
    ] = None,
    at_once: Annotated[bool, typer.Option("--now", help="Also where only little is new")] = False,
    built_in: BuiltIn = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the entries that would be made, without any command of yours")
    ] = False,
) -> int:
    """Remember what is new in conversations.

    An entry is made of what no entry of the conversation covers, once scopes.memoryEvery messages (4) of a branch are
    new: a summary, topics, decisions, things to do, and how important it seems. Every branch is looked at, but for
    abandoned ones. Nothing else makes entries, so that no other command waits for it: run it by a timer, or when an
    agent's session ends.

    It works offline and without a model. The setting scopes.summarizer names a command of yours that writes the
    summaries; where it fails, the entries are made without it, and a note says so.

    Examples:
      scopes memory update
      scopes memory update conv-001 --now
      scopes -c scopes.summarizer='llm -m gpt-4o-mini' memory update
      scopes ai memory update conv-001/main --json
    """
    call: Invocation = context.obj
    with progress(call.output(), "remembering") as advance:
        done = update(
            call.repository(), conversation, at_once=at_once, built_in=built_in, dry_run=dry_run, advance=advance
        )
    return call.show(done)
