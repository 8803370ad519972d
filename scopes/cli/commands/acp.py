"""`scopes acp`, and its `stats` and `log`."""

from __future__ import annotations

import os
from typing import Annotated, TypeAlias, TypeVar

import typer

from scopes.cli.acp_runner import HistoryOptions, run_acp
from scopes.cli.arguments import Since
from scopes.cli.command_line import after_separator
from scopes.cli.invocation import Invocation
from scopes.clock import format_time, now_nanoseconds, parse_date
from scopes.errors import Invalid
from scopes.ids import parse_agent_name
from scopes.server.acp.options import (
    CONTINUE,
    HISTORY_MESSAGES,
    HISTORY_TOKENS,
    INJECT,
    MAX_LINE_BYTES,
    MEMORY,
    WAY_SECONDS,
    ContinueOptions,
    RecordOptions,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scopes.server.acp.event_filter import EventFilter

Chosen = TypeVar("Chosen", bound=str)
Words: TypeAlias = Annotated[
    list[str] | None, typer.Argument(metavar="-- AGENT", help="The command that starts the agent, after --")
]
Which: TypeAlias = Annotated[
    str, typer.Option("--continue", metavar="WHICH", help="New sessions to continue: first, always or never")
]
ToContinue: TypeAlias = Annotated[
    str | None, typer.Option("--conversation", metavar="CONV[/BRANCH]", help="What to continue (default: the newest)")
]
Fork: TypeAlias = Annotated[
    bool, typer.Option("--fork", help="Leave the session as it is: go on in a fork of it, or a new session")
]
Agent: TypeAlias = Annotated[
    str | None, typer.Option("--agent", metavar="NAME", help="The agent's name (default: what it calls itself)")
]
Inject: TypeAlias = Annotated[
    str, typer.Option("--inject", metavar="WHEN", help="History in the first prompt: auto, always or never")
]
Last: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--history-messages", metavar="N", help="Messages of history at most (50; no limit with --max-tokens)"
    ),
]
MaxTokens: TypeAlias = Annotated[
    int | None, typer.Option("--max-tokens", metavar="N", help="Tokens of history at most (default: 8000)")
]
NoTools: TypeAlias = Annotated[bool, typer.Option("--no-tools-in-history", help="Leave tool calls out of the history")]
NoMemory: TypeAlias = Annotated[bool, typer.Option("--no-memory", help="The same as --memory none")]
OfMemory: TypeAlias = Annotated[
    str, typer.Option("--memory", metavar="OF", help="Memory and last words of other agents: project, all or none")
]
SystemPrompt: TypeAlias = Annotated[
    str | None, typer.Option("--system-prompt", metavar="TEXT", help="Put this before the history")
]
ShowReplay: TypeAlias = Annotated[
    bool, typer.Option("--show-replay", help="Pass on what the agent replays of a session")
]
Emulate: TypeAlias = Annotated[
    bool, typer.Option("--emulate", help="Let the editor list, load and resume recorded sessions if the agent cannot")
]
Thoughts: TypeAlias = Annotated[bool, typer.Option("--thoughts", help="Record the agent's thoughts")]
Redact: TypeAlias = Annotated[bool, typer.Option("--redact", help="Record no keys and passwords")]
Timeout: TypeAlias = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", help="Seconds to wait for each attempt to continue")
]
AllStores: TypeAlias = Annotated[bool, typer.Option("--all-stores", help="All stores of this user, not only this one")]
MaxLine: TypeAlias = Annotated[
    int, typer.Option("--max-line-mb", metavar="N", help="The longest message, in megabytes")
]


def acp(
    context: typer.Context,
    words: Words = None,
    which: Which = CONTINUE[0],
    conversation: ToContinue = None,
    fork: Fork = False,
    agent: Agent = None,
    inject: Inject = INJECT[0],
    last: Last = None,
    max_tokens: MaxTokens = None,
    no_tools: NoTools = False,
    no_memory: NoMemory = False,
    memory: OfMemory = MEMORY[0],
    system_prompt: SystemPrompt = None,
    show_replay: ShowReplay = False,
    emulate: Emulate = False,
    thoughts: Thoughts = False,
    redact: Redact = False,
    timeout: Timeout = WAY_SECONDS,
    max_line_mb: MaxLine = MAX_LINE_BYTES >> 20,
) -> int:
    """Record an agent while it works behind an editor.

    Put `scopes acp --` before the agent's command in the editor's settings. What editor and agent say in the Agent
    Client Protocol (ACP) passes through, and every prompt, answer and tool call becomes a message of a conversation.
    The first new session of the editor continues the newest conversation that scopes acp has recorded of this agent in
    this directory. One that hooks or an import recorded is continued only if it is named: --conversation.
    The agent resumes or loads its own session if it can; else the recorded history is put before the first prompt,
    once. A fork (--fork, or one by the editor) is recorded on a branch of its own. With --fork an agent that has no
    session/fork gets a new session with the history: the session itself is never resumed or loaded. A session that is
    open in another editor is not continued: the new one begins a conversation of its own, and a note on standard error
    says how to go on from the other one, and which one of this directory is not open. If you name it with
    --conversation, the new session is a fork of it.

    What goes into that prompt, before the user's own words: --system-prompt; the newest memory entries and the last
    words of up to three other agents, both of the same project (--memory all: of all projects, --no-memory: neither);
    then the first prompt and the last messages of the conversation, with tool calls as name and status, and how many
    messages are left out: at most 50 messages within 8000 tokens, or as many as --max-tokens allows. A project is the
    git repository around the directory in which a conversation began, or outside of git that directory. All of it is
    fenced as recorded data; scopes context CONV --for-prompt --explain prints it.

    Messages are not changed, with these exceptions: the request for a session that continues is answered here, the
    first prompt gets the history, and lines of the agent that are not messages are dropped. --emulate changes more: the
    answer to initialize, and the ids of sessions that the agent knows by another one. So it is off unless asked for.

    A turn is in the store when its answer arrives, or, if the store is locked for more than two seconds or cannot be
    written, such as on a full disk, on disk in the directory acp-spool of the state directory, at most 256 MiB. The
    store is tried again until the end of the agent. What is left there is written into the store by the next scopes
    acp, hook or scopes import. If that directory cannot be written either, at most 64 MiB wait in memory; beyond that
    the agent works on and nothing more is recorded. scopes doctor warns about that, scopes acp log says why; without a
    state directory that can be written, it is on standard error. Images and sounds are kept in the message, in base64;
    of one above 16 MiB only the size and the hash are kept. Signals go to the agent, and its exit code is that of the
    command; 0 becomes 1 if the program ended before it answered initialize.

    Examples:
      scopes acp -- opencode acp
      scopes acp --continue never -- gemini --acp
      scopes acp --conversation conv-001/main --inject always --memory none -- codex-acp
      scopes acp --history-messages 20 --no-tools-in-history --redact -- my-agent
    """
    invocation: Invocation = context.obj
    options = ContinueOptions(
        which=_choose("--continue", which, CONTINUE),
        conversation=conversation,
        fork=fork,
        inject=_choose("--inject", inject, INJECT),
        show_replay=show_replay,
        system_prompt=system_prompt,
        way_seconds=timeout,
        emulate=emulate,
    )
    return run_acp(
        invocation,
        _agent_command(invocation, words),
        agent=None if agent is None else parse_agent_name(agent),
        max_line_mb=max_line_mb,
        history=_history_options(last, max_tokens, with_tools=not no_tools, memory="none" if no_memory else memory),
        record=RecordOptions(thoughts, redact),
        options=options,
    )


def acp_stats(context: typer.Context, since: Since = None, all_stores: AllStores = False) -> int:
    """Count the sessions behind scopes acp by agent.

    For each agent, in this store or with --all-stores in all stores of this user together, as the log has it, which
    keeps the last megabytes:
    Sessions: those that the agent opened, also for an editor that asked for them itself: New + Resumed + Loaded +
    Forked. Injected: prompts that got the history. Failed: what was tried and did not work: an agent that did not start
    (start-failed) or gave no session (refused), each way to continue one (resume-failed, load-failed, fork-failed), a
    conversation that could not be read (continue-failed, history-failed). The next way may have worked then.
    Problems: what went wrong in sessions that began: an agent that replayed other messages than are recorded
    (replay-differs), a fork that it does not offer, so that --fork began a new session (fork-not-offered), and what the
    recording met, such as a store that was locked (recording-slow). A note says which recording waits for its store
    now. See scopes acp log.

    Examples:
      scopes acp stats
      scopes acp stats --all-stores --since 'last week' --json
    """
    invocation: Invocation = context.obj
    wanted = _wanted_events(invocation, None, since, all_stores=all_stores)
    from scopes.server.acp.acp_events import acp_stats

    return invocation.show(acp_stats(invocation.state_directory, wanted))


def acp_log(
    context: typer.Context,
    conversation: Annotated[
        str | None,
        typer.Argument(metavar="[CONV[/BRANCH]]", help="The conversation, or one of its branches (default: all)"),
    ] = None,
    count: Annotated[int | None, typer.Option("-n", min=0, metavar="N", help="Print at most N events")] = None,
    agent: Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Only events of this agent")] = None,
    since: Since = None,
    all_stores: AllStores = False,
) -> int:
    """Show what happened to sessions behind scopes acp.

    Newest first: when an agent began and ended or could not be started, which sessions it refused, which ways to
    continue one were tried and why one failed, lines of the agent that were not messages, and why a recording stopped.
    The log has no text of messages. It is the file acp.log in the state directory, which is the same for all stores;
    shown are the events of this store, and those of older versions, which do not say of which store they are. With a
    conversation, or one of its branches: what happened to its sessions and to the processes that had one.

    Examples:
      scopes acp log -n 20
      scopes acp log conv-001 --since '2 hours ago'
      scopes acp log --agent opencode --all-stores --json
    """
    invocation: Invocation = context.obj
    wanted = _wanted_events(invocation, conversation, since, all_stores=all_stores)
    from scopes.server.acp.acp_events import acp_log

    return invocation.show(acp_log(invocation.state_directory, wanted, limit=count, agent=agent))


def _wanted_events(
    invocation: Invocation, conversation: str | None, since: str | None, *, all_stores: bool
) -> EventFilter:
    if conversation is not None and all_stores:
        raise Invalid("a conversation cannot be combined with --all-stores", hint="it is in one store; leave one out")
    of = None
    if conversation is not None:
        from scopes.server.acp.event_filter import of_conversation

        of = of_conversation(invocation.repository(), conversation)
    from scopes.server.acp.event_filter import EventFilter as EventFilter_

    wanted: EventFilter = EventFilter_(
        None if all_stores else os.path.realpath(invocation.store_path),
        of,
        None if since is None else format_time(parse_date(since, now_nanoseconds())),
    )
    return wanted


def _agent_command(invocation: Invocation, words: list[str] | None) -> list[str]:
    """Return the words after `--`; all words must be there."""
    command = after_separator(invocation.arguments)
    if not command or len(words or ()) != len(command):
        raise Invalid("the command of the agent goes after --", hint="for example: scopes acp -- opencode acp")
    return command


def _history_options(last: int | None, max_tokens: int | None, *, with_tools: bool, memory: str) -> HistoryOptions:
    """Return the limits of the history; tokens that were asked for are filled."""
    of = _choose("--memory", memory, MEMORY)
    messages = HISTORY_MESSAGES if last is None and max_tokens is None else last
    tokens = HISTORY_TOKENS if max_tokens is None else max_tokens
    return HistoryOptions(messages, tokens, with_tools=with_tools, memory=of)


def _choose(option: str, value: str, choices: tuple[Chosen, ...]) -> Chosen:
    for choice in choices:
        if choice == value:
            return choice
    raise Invalid(f"{value!a} is not a valid value of {option}", hint=f"values: {', '.join(choices)}")
