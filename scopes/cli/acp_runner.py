"""Run `scopes acp`: start the agent first, then load and connect what records it, while the agent starts too."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from scopes.cli.invocation import Invocation
from scopes.errors import Invalid, ScopesError
from scopes.history.sessions import ACP_RECORDER as ACP
from scopes.server.acp.agent_process import AgentProcess
from scopes.server.acp.options import (
    MAX_WAY_SECONDS,
    Connection,
    ContinueOptions,
    RecordingTarget,
    RecordOptions,
    command_key,
    program_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scopes.context.history_block import HistoryBlock
    from scopes.store.repository import Repository


class HistoryOptions(NamedTuple):
    """The block of history that is put before a prompt."""

    last: int | None
    max_tokens: int
    with_tools: bool
    memory: str


def run_acp(
    invocation: Invocation,
    command: Sequence[str],
    *,
    agent: str | None,
    max_line_mb: int,
    history: HistoryOptions,
    record: RecordOptions,
    options: ContinueOptions,
) -> int:
    """Run an agent behind the proxy until it ends; return its exit code.

    Raises:
        Invalid: a number is out of its range, or two options contradict each other.
        NotFound, Ambiguous: there is no such agent, or no such conversation.
    """
    _check_options(options, 1 if history.last is None else history.last, history.max_tokens, max_line_mb)
    target = RecordingTarget(
        lambda create: invocation.open_again(create=create, actor=ACP),
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
        Connection(invocation.state_directory, max_line_bytes=max_line_mb << 20),
        target=target,
        build_history=lambda repository, where: _build_history(invocation, repository, where, history),
        record=record,
        options=options,
        note=lambda note: invocation.output(configured=False).note(note),
    )
    return code


def _check_options(options: ContinueOptions, *numbers: int) -> None:
    if min(numbers) < 1:
        raise Invalid("numbers must be at least 1")
    if not 0 < options.way_seconds <= MAX_WAY_SECONDS:  # NaN is in no range
        raise Invalid(f"--timeout must be more than 0 and at most {MAX_WAY_SECONDS} seconds")
    if options.which == "never" and options.conversation is not None:
        raise Invalid(
            "--continue never cannot be combined with --conversation",
            hint="--conversation names what the first new session continues; leave one of them out",
        )


def _start_agent(invocation: Invocation, command: Sequence[str], conversation: str | None) -> AgentProcess:
    """Start the agent, if the conversation that it shall continue is there."""
    if conversation is not None:
        from scopes.history.handles import StoreHandle

        StoreHandle(invocation.repository()).branch(conversation)
    return AgentProcess(command)


def _build_history(invocation: Invocation, repository: Repository, where: str, options: HistoryOptions) -> HistoryBlock:
    """Write the block of history of a branch; its modules are loaded when the first one is needed."""
    from scopes.context.history_block import HistoryRequest

    request = HistoryRequest(
        where=where,
        last=options.last,
        max_tokens=options.max_tokens,
        tools="status" if options.with_tools else "none",
        memory=options.memory,
    )
    from scopes.cli.token_options import tokenizer_for

    tokenizer = tokenizer_for(invocation, None, strict=False)
    from scopes.context.history_block import history

    block: HistoryBlock = history(repository, request, tokenizer)
    return block
