"""`scopes resume`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.cli.token_options import tokenizer_for
from scopes.context.history_block import MEMORY
from scopes.errors import Inaccessible, NotFound
from scopes.handover.resume import SESSIONS, ResumeRequest, User, naming
from scopes.handover.resume import resume as plan_resume
from scopes.hosts.agents import find_program
from scopes.secret_scan.shown import without_secrets

if TYPE_CHECKING:
    from scopes.handover.resume import Resumption


def resume(
    context: typer.Context,
    conversation: Annotated[
        str | None,
        typer.Argument(
            metavar="[CONV[/BRANCH]]",
            help="The conversation or one of its branches (default: the newest of this project)",
            show_default=False,
        ),
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--in", metavar="AGENT", help="Go on in this agent instead of the one it came from")
    ] = None,
    session: Annotated[
        str,
        typer.Option(
            "--session", metavar="WHICH", help="own, new, or auto (its own session if that has every message)"
        ),
    ] = SESSIONS[0],
    prompt: Annotated[str, typer.Option("--prompt", metavar="TEXT", help="What to ask at once")] = "",
    directory: Annotated[
        str | None, typer.Option("--directory", metavar="DIR", help="Run the agent there (default: where it was)")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", metavar="N", help="Tokens of history at most (default: 20000)")
    ] = None,
    messages: Annotated[
        int | None,
        typer.Option(
            "--history-messages", metavar="N", help="Messages of history at most (50; no limit with --max-tokens)"
        ),
    ] = None,
    memory: Annotated[
        str,
        typer.Option("--memory", metavar="OF", help="Memory and last words of other agents: project, all or none"),
    ] = MEMORY[0],
    only_print: Annotated[bool, typer.Option("--print", help="Print the command, and run nothing")] = False,
) -> int:
    """Go on with a conversation in its agent.

    On a terminal the agent is started, in the directory of the conversation. In a pipe, or with --print, its command is
    printed as one line that a shell can run (the field command); with --json it is a list of words. The agent opens its
    own session if that still exists and has every message of the branch. Else it begins a new one, and the first prompt
    is the recorded history, fenced as data: branches, merges and conversations of other agents go on that way.
    --session own opens the agent's own session even if the branch has more messages, and fails if it cannot be opened;
    --session new always begins a new one. --in chooses another agent: claude-code, codex, gemini, opencode, pi or qwen.

    The history is the first prompt and the last 50 messages, or as many as --max-tokens or --history-messages allow; it
    says how many are left out. Before it, the prompt of a new session has the newest memory entries and the last words
    of up to three other agents, both of the same project: --memory all takes those of all projects, --memory none
    leaves both out. An import of the new session leaves all that out of the prompt, and scopes show names the
    conversation that it continues.

    Without CONV it is the newest conversation of the project around the current directory. One of another project has
    to be named.

    Examples:
      scopes resume
      scopes resume conv-012
      scopes resume conv-012/try-sqlite --in codex --prompt "go on with the tests"
      scopes resume conv-012 --session new --max-tokens 8000
      scopes resume conv-012 --print
    """
    invocation: Invocation = context.obj
    request = ResumeRequest(
        where=conversation, agent=agent, session=session, prompt=prompt, directory=directory,
        max_tokens=max_tokens, messages=messages, memory=memory,
    )  # fmt: skip
    user = User(invocation.environ, invocation.home, _store_options(invocation))
    tokenizer = tokenizer_for(invocation, None, strict=False)
    found = plan_resume(invocation.repository(), request, tokenizer, user)
    if only_print or invocation.wants_data or not (invocation.interactive and invocation.stdout.isatty()):
        return invocation.show(found)
    with naming(f"{found.conversation}/{found.branch}"):
        return _start(invocation, found)


def _store_options(invocation: Invocation) -> tuple[str, ...]:
    return () if invocation.store is None else ("--store", os.path.abspath(invocation.store))


def _start(invocation: Invocation, found: Resumption) -> int:
    """Become the agent; return only if it cannot be started.

    Raises:
        NotFound: its program is not in PATH.
        Inaccessible: it, or the directory, cannot be used.
    """
    program = find_program(found.command[0], invocation.environ.get("PATH"))
    if program is None:
        hint = "go on in another agent: --in AGENT, or repeat the command with --print to see what to run"
        raise NotFound(f"{found.command[0]} is not in PATH", hint=hint)
    where = "" if found.directory is None else f" in {without_secrets(found.directory)}"
    what = "its session" if found.session == "own" else f"a new session ({found.reason})"
    for note in found.notes:
        invocation.output().note(note)
    branch = f"{found.conversation}/{without_secrets(found.branch)}"
    invocation.output().say(f"opening {branch} in {found.agent}: {what}{where}")
    try:
        if found.directory is not None:
            os.chdir(found.directory)
        invocation.stdout.flush()
        os.execve(program, found.command, dict(invocation.environ))  # noqa: S606 - the agent that the user asked for
    except OSError as error:
        raise Inaccessible(f"cannot start {program}: {error.strerror}", hint="see: scopes doctor") from error
