"""`scopes bisect run`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import split_source
from scopes.cli.command_line import after_separator
from scopes.cli.invocation import Invocation
from scopes.cli.token_options import MaxTokens, project_directory, tokenizer_for
from scopes.context.bisect_command import BisectCommand, ContextReader, check_bisect_command
from scopes.context.request import new_request
from scopes.conversation.log import BisectPoint, bisect
from scopes.errors import Invalid
from scopes.result import plural
from scopes.sanitize import mark_cut

_MAX_TOKENS = 10_000_000  # the context of a test is the whole one, unless --max-tokens limits it


def bisect_run(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[CONV[/BRANCH]]", help="The conversation (default: the latest); then -- COMMAND ..."),
    ] = None,
    good: Annotated[
        str | None, typer.Option("--good", metavar="MESSAGE", help="A good message (default: before the first one)")
    ] = None,
    bad: Annotated[
        str | None, typer.Option("--bad", metavar="MESSAGE", help="A bad message (default: the last one)")
    ] = None,
    input: Annotated[
        str, typer.Option("--input", metavar="WHAT", help="Standard input: context, state, message or none")
    ] = "context",
    max_tokens: MaxTokens = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", help="Skip a message if the command takes longer")
    ] = None,
    no_verify: Annotated[
        bool, typer.Option("--no-verify", help="Do not run the command on the good and the bad end first")
    ] = False,
) -> int:
    """Find the first message at which a command fails.

    A binary search along first parents, as git bisect run: COMMAND runs after -- without a shell, about once for each
    doubling of the number of messages. It reads the context up to a message on standard input, as scopes context --at
    prints it, but the whole one unless --max-tokens limits it; or with --input the state of the conversation as JSON,
    or the message as JSON; possible secrets are replaced in all of them. SCOPES_CONVERSATION, SCOPES_MESSAGE (empty
    before the first one), SCOPES_REVISION (the commit) and SCOPES_STORE name the message for other commands of scopes.
    Exit code 0 is good, 125 cannot be tested, 128 and above stop the search, all others are bad. The output of COMMAND
    goes to standard error. Nothing is checked out and nothing is stored, so there is no start and no reset. First the
    good and the bad end are checked. The exit code is 0 if the first bad message is known, and 1 if skipped messages
    hide it: they are listed.

    Examples:
      scopes bisect run conv-001 -- sh -c '! grep -q localStorage'
      scopes bisect run conv-001/main --good k3x9 --input state -- ./check-state.py
      scopes bisect run --input none --timeout 60 -- sh -c 'scopes cat $SCOPES_MESSAGE | ./judge'
    """
    invocation: Invocation = context.obj
    command = after_separator(invocation.arguments)
    named = list(words or ())[: len(words or ()) - len(command)]
    if len(named) > 1:
        raise Invalid(f"too many arguments: {' '.join(named[1:])}", hint="put the command after --")
    check_bisect_command(command, input, timeout)
    repository = invocation.repository()
    conversation, branch = split_source(repository, "bisect", (named[0] if named else None, None))
    where = conversation if branch is None else f"{conversation}/{branch}"
    request = new_request(
        invocation.config(), None, max_tokens=max_tokens or _MAX_TOKENS, project=project_directory(invocation)
    )
    choice = tokenizer_for(invocation, None, strict=False)
    judge = BisectCommand(
        repository=repository,
        command=command,
        environ=invocation.environ,
        input=input,
        reader=ContextReader(request=request, choice=choice, cache_directory=invocation.cache_directory),
        output=invocation.stderr,
        timeout_seconds=timeout,
    )
    output = invocation.output()

    def announce(point: BisectPoint, left: int) -> None:
        steps = (left - 1).bit_length()
        name = "the beginning" if point.head is None else point.head.id[:8]
        text = "" if point.head is None else f": {mark_cut(point.head.subject)}"
        remaining = f"{left:,} {plural(left, 'message')}, about {steps} {plural(steps, 'step')} left"
        output.say(f"testing {name} ({remaining}){text}")

    result = bisect(repository, where, judge, good=good, bad=bad, verify=not no_verify, on_step=announce)
    return invocation.show(result)
