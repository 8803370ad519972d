"""`scopes checkout`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import LATEST, AllowSecrets, Redact, secrets_mode, split_source
from scopes.cli.commands.branch import switch
from scopes.cli.invocation import Invocation
from scopes.cli.token_options import tokenizer_for
from scopes.errors import Invalid
from scopes.handover.checkout import CheckoutRequest, plan_checkout, print_session
from scopes.handover.checkout import checkout as write_session
from scopes.handover.resume import User
from scopes.history.names import find_latest_with_branch


def checkout(
    context: typer.Context,
    conversation: Annotated[
        str, typer.Argument(metavar="CONV", help="The conversation (default: the latest), or CONV/BRANCH")
    ] = LATEST,
    branch: Annotated[str | None, typer.Argument(metavar="BRANCH", help="The branch")] = None,
    new: Annotated[str | None, typer.Option("-b", hidden=True)] = None,
    agent: Annotated[
        str | None, typer.Option("--to", metavar="AGENT", help="Write it as a session of this agent")
    ] = None,
    directory: Annotated[
        str | None, typer.Option("--directory", metavar="DIR", help="Where the agent works (default: where it was)")
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option("--max-tokens", metavar="N", help="Tokens of history at most (default: by agent)"),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="All messages, not those since the last compaction")] = False,
    reasoning: Annotated[bool, typer.Option("--reasoning", help="Quote the reasoning in the answers")] = False,
    only_print: Annotated[bool, typer.Option("--print", help="Print the session, and write nothing")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be written, and write nothing")] = False,
    redact: Redact = False,
    allow_secrets: AllowSecrets = False,
) -> int:
    """Write a conversation as a session of another agent.

    With --to, the branch is written as a session of the agent's own, in the folder where the agent keeps its sessions,
    and the command that opens it there is printed. Prompts, answers, tool calls and their results are in it as the
    agent has its own; what it cannot hold, such as images, becomes text, and reasoning is left out unless --reasoning
    quotes it. Notes say what was changed or left out. Agents: claude-code, codex, gemini, llm, opencode, pi, qwen. The
    session of llm is added to its database, and the import of OpenCode puts it into that of OpenCode.

    The session is also registered here, with a branch AGENT/N at the end of what was handed over. An import, or scopes
    watch, then puts what the agent adds on that branch, and nothing twice. Its id follows from the last message and the
    agent: the same command finds the session again. A file of the agent that scopes did not write is never replaced,
    nor a session with which the agent has gone on. scopes undo takes the registration back, and deletes the file if it
    is as it was written; a session that stayed is taken up again. If the agent has deleted its file, the session begins
    anew on the next branch AGENT/N, and a note names the branch with what the agent had added before.

    The history begins at the last compaction, unless --full is given. If it has more tokens than three quarters of what
    the agent's usual models take, or than --max-tokens, the newest messages are whole, and a block as scopes history
    writes it takes the place of the older ones.

    An agent that is none of these gets the history in front of its first prompt instead: scopes history CONV
    --for-prompt prints it as a block, for its standard input or to paste. An import of its session leaves the block out
    of the prompt, and scopes show names the conversation that it continues. Behind an editor, scopes acp does this by
    itself for any agent that speaks the Agent Client Protocol.

    A session that has possible secrets is refused, as an export is: see --redact and --allow-secrets.

    Without --to, it makes a branch the active one, as scopes switch does.

    Examples:
      scopes checkout conv-012 --to codex
      scopes checkout conv-012/try-sqlite --to claude-code --max-tokens 60000
      scopes checkout conv-012 --to codex --dry-run --json
      scopes checkout conv-012 --to codex --print | jq -c .payload
      (scopes history conv-012 --for-prompt; echo "go on") | my-agent
      scopes checkout conv-012 main
    """
    if agent is None:
        given = (directory, max_tokens, full, reasoning, only_print, dry_run, redact, allow_secrets)
        if any(given):
            raise Invalid("these options are for a session of an agent", hint="name the agent: --to AGENT")
        return switch(context, [*filter(None, [conversation, branch])], branch=new)
    invocation: Invocation = context.obj
    repository = invocation.repository()
    name, branch_name = split_source(repository, "checkout", (conversation, branch))
    if name == LATEST and branch is None and find_latest_with_branch(repository, conversation) is None:
        name, branch_name = conversation, None  # what is written names its conversation, or a branch in full
    request = CheckoutRequest(
        where=name if branch_name is None else f"{name}/{branch_name}", agent=agent, directory=directory,
        here=invocation.cwd, max_tokens=max_tokens, full=full, reasoning=reasoning,
        secrets=secrets_mode(redact=redact, allow_secrets=allow_secrets),
    )  # fmt: skip
    user = User(invocation.environ, invocation.home)
    tokenizer = tokenizer_for(invocation, None, strict=False)
    plan = plan_checkout(repository, request, tokenizer, user)
    if only_print:
        return invocation.show(print_session(plan))
    return invocation.show(write_session(plan, user, dry_run=dry_run))
