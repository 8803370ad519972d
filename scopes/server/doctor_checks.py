"""The checks of `doctor` about agents: protocol versions, installed agents, and their hooks (S0-23)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version

from scopes.clock import format_time, now_nanoseconds
from scopes.code_links.git_hooks import NAME as GIT
from scopes.conversation.verify import Check
from scopes.hosts.agents import AGENTS, find_program
from scopes.hosts.hook_target import HookEnvironment, HookState
from scopes.hosts.install_state import InstallState
from scopes.importers.discovery import find_standard_folders
from scopes.importers.formats.registry import FORMATS
from scopes.live.event_log import why_unwritable
from scopes.live.hook_status import hooks_status
from scopes.result import plural
from scopes.server.acp.acp_events import protocol_versions, recording_problems

_UPGRADE = "pip install --upgrade 'scopes-ai[mcp]'"
_RECENT_NANOSECONDS = 7 * 86_400 * 1_000_000_000
MCP_FROM, MCP_BELOW = (2, 3), (3,)  # as in pyproject.toml
ACP_VERSION = 1  # https://agentclientprotocol.com/protocol/initialization


def check_agents(state_directory: str, environ: Mapping[str, str], home: str) -> Iterator[Check]:
    """Yield the checks of ACP, MCP and the agents."""
    yield _check_acp(state_directory)
    yield from _check_state_directory(state_directory)
    yield from _check_recordings(state_directory)
    yield from _check_spool(state_directory)
    yield check_mcp()
    yield from _find_agents(environ, home)


def _check_acp(state_directory: str) -> Check:
    """Compare the version that we record with those that agents spoke: of others, messages may not be recognized."""
    others = {agent: version for agent, version in protocol_versions(state_directory).items() if version != ACP_VERSION}
    if not others:
        return Check("acp", "ok", f"version {ACP_VERSION}")
    named = ", ".join(f"{agent} speaks {version}" for agent, version in sorted(others.items()))
    cure = "messages pass through, but some may not be recorded: compare with scopes log, or use another version"
    return Check("acp", "warning", f"version {ACP_VERSION}; {named}", cure)


def _check_state_directory(state_directory: str) -> Iterator[Check]:
    """Yield a warning if the logs of recordings, and what waits for a store, cannot be written."""
    reason = why_unwritable(state_directory)
    if reason is not None:
        detail = f"cannot write {state_directory}: {reason}"
        cure = "recordings cannot say what went wrong, and wait in memory for a store: mend that, or set XDG_STATE_HOME"
        yield Check("state directory", "warning", detail, cure)


def _check_recordings(state_directory: str) -> Iterator[Check]:
    """Yield a warning for each recording that waits for its store, and for each that ended in the last days."""
    since = format_time(now_nanoseconds() - _RECENT_NANOSECONDS)
    for found in recording_problems(state_directory, since):
        yield Check("acp recording", "warning", found.detail, found.cure)


def _check_spool(state_directory: str) -> Iterator[Check]:
    """Yield a warning for each store that messages of `scopes acp` wait for, whose proxy has ended."""
    from scopes.server.acp.take_spool import waiting_messages

    for waiting in waiting_messages(state_directory):
        count = f"{waiting.messages:,} {plural(waiting.messages, 'message')}"
        cure = "scopes import, a hook or the next scopes acp writes them into it"
        yield Check(
            "acp spool", "warning", f"{count} of a proxy that has ended: not in the store {waiting.store}", cure
        )


def check_mcp() -> Check:
    """Look at the version of the installed package; to import it takes longer than all other checks."""
    try:
        installed = version("mcp")
    except PackageNotFoundError:
        return Check("mcp", "ok", f"not installed: scopes mcp needs it, {_UPGRADE}")
    numbers = tuple(int(part) for part in installed.split(".")[:3] if part.isdecimal())
    if MCP_FROM <= numbers < MCP_BELOW:
        return Check("mcp", "ok", f"mcp {installed}")
    needed = f"from {'.'.join(map(str, MCP_FROM))} on, below {'.'.join(map(str, MCP_BELOW))}"
    return Check("mcp", "warning", f"mcp {installed} does not fit: a version {needed} is needed", _UPGRADE)


def _find_agents(environ: Mapping[str, str], home: str) -> Iterator[Check]:
    """Yield a check for each agent that is installed, or has transcripts here."""
    for agent in AGENTS.values():
        program = None if agent.program is None else find_program(agent.program, environ.get("PATH"))
        formats = [known for known in FORMATS if known.name == agent.name]
        folders = [top for tops in find_standard_folders(formats, environ, home).values() for top in tops]
        found = [*([program] if program else ["not in PATH"]), *(f"transcripts in {folder}" for folder in folders)]
        if program is not None or folders:
            yield Check(agent.name, "ok", ", ".join(found))


def check_hooks(environment: HookEnvironment, state_directory: str) -> tuple[Check, ...]:
    """Return a check for `doctor` for each target with hooks."""
    found = []
    for state in hooks_status(environment, state_directory).hooks:
        name = f"hooks of {state.target}"
        problems = list(_problems(state))
        if problems:
            found.append(Check(name, "warning", "; ".join(problems), state.cure))
        elif state.condition == "installed":
            found.append(Check(name, "ok", state.file))
    return tuple(found)


def check_installed(what: str, states: Iterable[InstallState]) -> Iterator[Check]:
    """Yield a check for `doctor` for each target for which something is installed, such as a skill, or cannot be read.

    what: what is installed.
    """
    for state in states:
        name = f"{what} of {state.target}"
        if state.condition == "unreadable":
            yield Check(name, "warning", state.detail, "fix the file")
        elif state.condition == "outdated":
            yield Check(name, "warning", f"outdated: {state.file}: {state.detail}", state.cure)
        elif state.condition == "installed":
            yield Check(name, "ok", f"{state.file}: {state.detail}" if state.detail else state.file)


def _problems(state: HookState) -> Iterator[str]:
    """Yield the problems of the hooks of a target: that of the settings before that of a session."""
    if state.condition == "outdated":
        yield f"outdated: {state.detail}"
    elif state.condition != "missing" and state.detail:
        yield state.detail
    if state.problem is not None:
        what = "the last commits were" if state.target == GIT else "the last turn was"
        yield f"{what} not recorded: {state.problem}"
