"""`scopes setup`: hooks, MCP server and skill file of agents."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Final

from scopes.cli.invocation import Invocation
from scopes.cli.options import Force, Text, Texts, argument, option
from scopes.code_links.git_hooks import NAME as GIT
from scopes.errors import Invalid, NotFound, ScopesError
from scopes.handover.skills import FOLDERS, install_skill, remove_skill, skills_status
from scopes.hosts.agents import AGENTS, UserDirectories, config_directory, find_program, target_named
from scopes.hosts.hook_target import HookEnvironment
from scopes.hosts.mcp_servers import HOSTS, install, remove
from scopes.hosts.mcp_status import mcp_status
from scopes.hosts.program import program_words
from scopes.live.hook_status import hooks_status
from scopes.live.hook_targets import TARGETS, find_target
from scopes.result import Note, Result

_PARTS: Final[dict[str, Collection[str]]] = {"hooks": TARGETS, "mcp": HOSTS, "skill": FOLDERS}
_IN_PROJECT: Final = {("hooks", GIT), ("mcp", "vscode")}  # what is always for the current directory


def setup(
    invocation: Invocation,
    agents: Annotated[
        Texts, argument("[AGENT...]", "The agents, also vscode or git (default: all that are here)")
    ] = None,
    part: Annotated[Text, option("--only PART", "Only hooks, mcp or skill")] = None,
    here: Annotated[bool, option("--here", "For this directory, not for the user")] = False,
    status: Annotated[bool, option("--status", "Show what is connected, and what it did last")] = False,
    take_out: Annotated[bool, option("--remove", "Take all of it out again")] = False,
    force: Force = False,
) -> int:
    """Connect agents: hooks, MCP and skill file.

    Hooks record every turn as soon as it ends, the MCP server lets the agent search and read, the skill file says when
    to. Everything else in the configuration of the agent stays; the previous file is kept as FILE.before-scopes.
    For git the hooks record which session made a commit.

    Examples:
      scopes setup
      scopes setup claude-code
      scopes setup codex --only mcp
      scopes setup --status
    """
    if part is not None and part not in _PARTS:
        raise Invalid(f"--only {part!a} is not possible", hint=f"parts: {', '.join(_PARTS)}")
    if status and take_out:
        raise Invalid("--status cannot be combined with --remove", hint="leave out one of them")
    names = [target_named(name) for name in agents or ()]
    known = {name for targets in _PARTS.values() for name in targets}
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise Invalid(f"{unknown!a} is not an agent that can be connected", hint=f"agents: {', '.join(sorted(known))}")
    parts = [part] if part is not None else [*_PARTS]
    if status:
        return invocation.stream(_walk_states(invocation, parts, names))
    chosen = names or _find_agents(invocation, everywhere=take_out)
    if take_out and invocation.dry_run:
        return invocation.stream(_walk_states(invocation, parts, chosen))
    wanted = [(each, name) for name in chosen for each in parts if name in _PARTS[each]]
    wanted = [(each, name) for each, name in wanted if not here or each == "skill" or (each, name) in _IN_PROJECT]
    if not wanted:
        what = f"the {part or 'setup'} of {', '.join(chosen)}"
        raise Invalid(f"{what} is not possible{' for a directory' if here else ''}", hint="see: scopes setup --status")
    failed: list[ScopesError] = []
    results = _walk_changes(invocation, wanted, failed, here=here, force=force, take_out=take_out)
    code = invocation.stream(each for each in results if names or not _is_absent(each))
    if len(failed) == 1:
        raise failed[0]
    for error in failed:
        invocation.output().note(Note(error.message, error.hint))
    return 1 if failed else code


def user_directories(invocation: Invocation) -> UserDirectories:
    """Return where configuration is written; the project is the current directory."""
    return UserDirectories(invocation.home, invocation.cwd, invocation.environ)


def hook_environment(invocation: Invocation) -> HookEnvironment:
    """Return where hooks are installed, and what they run."""
    return HookEnvironment(
        home=invocation.home, cwd=invocation.cwd, environ=dict(invocation.environ), command=tuple(program_words()),
        store=_named_store(invocation),
    )  # fmt: skip


def _named_store(invocation: Invocation) -> str | None:
    """Return the store that was named; without one the program looks for the store of its directory."""
    given = invocation.store or invocation.environ.get("SCOPES_STORE")
    return None if given is None else os.path.abspath(given)


def _find_agents(invocation: Invocation, *, everywhere: bool) -> list[str]:
    """Return the agents that are installed or have been used here; with `everywhere` all that can be connected.

    Raises:
        NotFound: there is none.
    """
    agents = [agent for agent in AGENTS.values() if any(agent.name in targets for targets in _PARTS.values())]
    path = invocation.environ.get("PATH")
    found = [
        agent.name
        for agent in agents
        if everywhere
        or (agent.program is not None and find_program(agent.program, path) is not None)
        or os.path.isdir(config_directory(agent, invocation.environ, invocation.home))
    ]
    if not found:
        names = ", ".join(agent.name for agent in agents)
        raise NotFound("no agent was found here", hint=f"name it: scopes setup AGENT; agents: {names}")
    return found


def _walk_changes(
    invocation: Invocation,
    wanted: Sequence[tuple[str, str]],
    failed: list[ScopesError],
    *,
    here: bool,
    force: bool,
    take_out: bool,
) -> Iterator[Result]:
    """Connect each part of each agent, or take it out; what cannot be done does not keep the others from it."""
    for part, name in wanted:
        try:
            if take_out:
                yield _remove(invocation, part, name, here=here, force=force)
            else:
                yield _install(invocation, part, name, here=here, force=force)
        except ScopesError as error:
            failed.append(error)


def _install(invocation: Invocation, part: str, name: str, *, here: bool, force: bool) -> Result:
    if part == "hooks":
        return find_target(name).install(hook_environment(invocation), print_only=invocation.dry_run)
    directories = user_directories(invocation)
    if part == "skill":
        return install_skill(name, directories, project=here, force=force, only_show=invocation.dry_run)
    writer = [] if invocation.actor is None else ["--as", invocation.actor]
    store = _named_store(invocation)
    words = [*program_words(), *([] if store is None else ["--store", store]), "mcp", *writer]
    return install(name, words, directories, force=force, only_show=invocation.dry_run)


def _remove(invocation: Invocation, part: str, name: str, *, here: bool, force: bool) -> Result:
    if part == "hooks":
        return find_target(name).remove(hook_environment(invocation))
    directories = user_directories(invocation)
    if part == "skill":
        return remove_skill(name, directories, project=here, force=force)
    return remove(name, directories, force=force)


def _is_absent(result: Result) -> bool:
    """Return True if there was nothing to remove."""
    changes: Sequence[object] = getattr(result, "changes", [result])
    return all(getattr(each, "state", None) == "absent" for each in changes)


def _walk_states(invocation: Invocation, parts: Sequence[str], names: Sequence[str]) -> Iterator[Result]:
    """Yield how each part is, of some agents or of all."""
    for part in parts:
        chosen = tuple(name for name in names if name in _PARTS[part])
        if names and not chosen:
            continue
        if part == "hooks":
            yield hooks_status(hook_environment(invocation), invocation.state_directory, chosen)
        elif part == "mcp":
            yield mcp_status(hook_environment(invocation), chosen)
        else:
            yield skills_status(user_directories(invocation), chosen)
