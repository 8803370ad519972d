"""`scopes acp` and `mcp`: record an agent behind an editor, and serve the store to agents.

`acp` starts the agent first, then loads what records it, while the agent starts too.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Literal

from scopes.cli.command_line import after_separator
from scopes.cli.invocation import Invocation
from scopes.cli.options import Limit, MaxTokens, Text, Texts, argument, option, tokenizer_for
from scopes.errors import Invalid, Refused, ScopesError
from scopes.history.sessions import ACP_RECORDER
from scopes.ids import parse_agent_name
from scopes.server.acp.options import (
    HISTORY_MESSAGES,
    HISTORY_TOKENS,
    Connection,
    ContinueOptions,
    Inject,
    RecordingTarget,
    RecordOptions,
    command_key,
    program_name,
)
from scopes.server.acp.options import Continue as OfSessions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scopes.context.history_block import HistoryBlock
    from scopes.server.acp.agent_process import AgentProcess
    from scopes.server.mcp.access import StoreAccess
    from scopes.store.repository import Repository

_TOKEN = "SCOPES_MCP_TOKEN"  # noqa: S105 - the name of a variable
_MIN_TOKEN = 16


def acp(
    invocation: Invocation,
    words: Annotated[Texts, argument("-- AGENT...", "The command that starts the agent, after --")] = None,
    limit: Limit = None,
    max_tokens: MaxTokens = None,
    which: Annotated[OfSessions, option("--continue WHICH", "Sessions to continue: first, always, never")] = "first",
    conversation: Annotated[Text, option("--conversation WHERE", "What to continue (default: the newest)")] = None,
    fork: Annotated[bool, option("--fork", "Leave the session as it is, go on in a fork")] = False,
    agent: Annotated[Text, option("--agent NAME", "The agent's name (default: its own)")] = None,
    inject: Annotated[Inject, option("--inject WHEN", "History in the first prompt: auto, always, never")] = "auto",
    memory: Annotated[
        Literal["project", "all", "none"], option("--memory OF", "Memory of this project, of all, or none")
    ] = "project",
    tools: Annotated[
        Literal["status", "full", "none"], option("--with-tools HOW", "Tool calls in history: status, full, none")
    ] = "status",
    log: Annotated[bool, option("--log", "Show what happened in sessions, and counts")] = False,
    messages: Annotated[int | None, option("--history-messages", "As -n", least=0, hidden=True)] = None,
) -> int:
    """Record an agent while it works behind an editor.

    Put `scopes acp --` before the agent's command in the editor's settings. Prompts, answers and tool calls become
    messages. The first new session continues the newest conversation of this agent in this directory: the agent resumes
    its own session if it can, else the history (50 messages in 8000 tokens, or -n, --max-tokens) is put before the
    first prompt. --log lists the newest events; --conversation and --agent narrow it.

    Examples:
      scopes acp -- gemini --experimental-acp
      scopes acp --continue never -- my-agent
      scopes acp --log -n 20
    """
    last = messages if limit is None else limit
    if log:
        return _show_log(invocation, conversation, agent, last)
    command = after_separator(invocation.arguments)
    if not command or len(words or ()) != len(command):
        raise Invalid("the command of the agent goes after --", hint="for example: scopes acp -- opencode acp")
    if min(1 if last is None else last, 1 if max_tokens is None else max_tokens) < 1:
        raise Invalid("numbers must be at least 1")
    if which == "never" and conversation is not None:
        raise Invalid("--continue never cannot be combined with --conversation", hint="leave one of them out")
    shown = HISTORY_MESSAGES if last is None and max_tokens is None else last
    tokens = HISTORY_TOKENS if max_tokens is None else max_tokens

    def build_history(repository: Repository, where: str) -> HistoryBlock:
        from scopes.context.history_block import HistoryRequest, history

        request = HistoryRequest(where=where, last=shown, max_tokens=tokens, tools=tools, memory=memory)
        block: HistoryBlock = history(repository, request, tokenizer_for(invocation, None))
        return block

    name = None if agent is None else parse_agent_name(agent)
    options = ContinueOptions(which=which, conversation=conversation, fork=fork, inject=inject)
    return _run_agent(invocation, command, name, options, build_history)


def mcp(
    invocation: Invocation,
    http: Annotated[int | None, option("--http PORT", "Over HTTP on this port of this machine")] = None,
) -> int:
    """Serve the store to agents, by MCP.

    A program that uses MCP servers starts this command itself: see scopes setup. The author of what it writes is --as
    NAME, else the name of the client. It needs pip install 'scopes-ai[mcp]'. With --http every request needs the token
    in the variable SCOPES_MCP_TOKEN, or a new one, which is printed after the address.

    Examples:
      scopes mcp
      scopes mcp --http 0
    """
    if http is not None and not 0 <= http <= 65_535:
        raise Invalid(f"{http} is not a port", hint="for example: --http 8321")
    access = _open_access(invocation)
    if http is None:
        from scopes.server.mcp.server import run_stdio

        run_stdio(access)
        return 0
    token, is_new = _choose_token(invocation)
    from scopes.server.mcp.address import McpServer
    from scopes.server.mcp.http import run_http

    shown = token if is_new else None
    run_http(access, http, token, lambda address: invocation.show(McpServer(address=address, token=shown)))
    return 0


def _show_log(invocation: Invocation, conversation: str | None, agent: str | None, limit: int | None) -> int:
    """Show the events of this store, newest first; but in a pipe, which has one kind of rows, also the counts."""
    from scopes.server.acp.acp_events import acp_log, acp_stats
    from scopes.server.acp.event_filter import EventFilter, of_conversation

    of = None if conversation is None else of_conversation(invocation.repository(), conversation)
    wanted = EventFilter(os.path.realpath(invocation.store_path), of, None)
    directory = invocation.state_directory
    events = acp_log(directory, wanted, limit=limit, agent=agent)
    if not (invocation.json or invocation.stdout.isatty()):
        return invocation.show(events)
    return invocation.stream([events, acp_stats(directory, wanted)])


def _run_agent(
    invocation: Invocation,
    command: Sequence[str],
    agent: str | None,
    options: ContinueOptions,
    build_history: Callable[[Repository, str], HistoryBlock],
) -> int:
    """Run an agent behind the proxy until it ends; return its exit code.

    Raises:
        NotFound, Ambiguous: there is no such agent, or no such conversation.
    """
    target = RecordingTarget(
        lambda create: invocation.open_again(create=create, actor=ACP_RECORDER),
        invocation.store_path,
        program_name(command[0]),
        agent,
        command_key(command),
    )
    try:
        process = _start_agent(invocation, command, options.conversation)
    except ScopesError as error:
        from scopes.live.event_log import EventLog

        log = EventLog(invocation.state_directory, agent=agent or target.program)
        store = os.path.realpath(target.store_path)
        log.write("start-failed", program=target.program, command=target.command, store=store, error=error.message)
        raise
    process.pass_on_signals()
    from scopes.server.acp.run import run_proxy

    code: int = run_proxy(
        process,
        Connection(invocation.state_directory),
        target=target,
        build_history=build_history,
        record=RecordOptions(redact=invocation.secrets == "redact"),
        options=options,
        note=lambda note: invocation.output(configured=False).note(note),
    )
    return code


def _start_agent(invocation: Invocation, command: Sequence[str], conversation: str | None) -> AgentProcess:
    """Start the agent, if the conversation that it shall continue is there."""
    from scopes.server.acp.agent_process import AgentProcess

    if conversation is not None:
        from scopes.history.handles import StoreHandle

        StoreHandle(invocation.repository()).branch(conversation)
    return AgentProcess(command)


def _open_access(invocation: Invocation) -> StoreAccess:
    """Return how the server reaches the store.

    Raises:
        Refused: the extra `mcp` is not installed.
    """
    from scopes.agents.authors import check_typed_author
    from scopes.model.message import Author

    name = None if invocation.actor is None else check_typed_author(Author(invocation.actor)).name
    settings = {key: setting.value for key, setting in invocation.overrides.items()}
    try:
        from scopes.server.mcp.access import StoreAccess

        return StoreAccess(invocation.store_path, agent=name, settings=settings)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"mcp", "starlette", "uvicorn"}:
            raise
        hint = "pip install 'scopes-ai[mcp]'"
        raise Refused("the MCP server needs a package that is not installed: mcp", hint=hint) from error


def _choose_token(invocation: Invocation) -> tuple[str, bool]:
    """Return the token of the environment, or a new one, and whether it is new."""
    given = invocation.environ.get(_TOKEN)
    if given is None:
        import secrets

        return secrets.token_urlsafe(32), True
    if len(given) < _MIN_TOKEN or not given.isascii() or not given.isprintable():
        problem = f"{_TOKEN} has fewer than {_MIN_TOKEN} characters, or others than ASCII"
        raise Invalid(problem, hint="set a longer token, or unset it")
    return given, False
