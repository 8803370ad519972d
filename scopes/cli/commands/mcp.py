"""`scopes mcp`, and its `install` and `remove`."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from scopes.agents.authors import check_typed_author
from scopes.cli.host_options import hook_environment, store_option, user_directories
from scopes.cli.invocation import Invocation
from scopes.errors import Invalid, Refused
from scopes.hosts.mcp_servers import HOSTS, install, remove
from scopes.hosts.mcp_status import mcp_status as read_status
from scopes.hosts.program import program_words
from scopes.ids import parse_agent_name
from scopes.model.message import Author
from scopes.server.mcp.address import McpServer

if TYPE_CHECKING:
    from scopes.server.mcp.access import StoreAccess

_TOKEN = "SCOPES_MCP_TOKEN"  # noqa: S105 - the name of a variable
_MIN_TOKEN = 16
Host: TypeAlias = Annotated[str, typer.Argument(metavar="HOST", help=", ".join(HOSTS))]


def mcp(
    context: typer.Context,
    http: Annotated[
        int | None, typer.Option("--http", metavar="PORT", help="Serve HTTP on this port of 127.0.0.1 (0: a free one)")
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="NAME", help="The author of messages (default: the client's name)")
    ] = None,
) -> int:
    """Serve the store to agents, by MCP.

    The server speaks the Model Context Protocol on its standard streams. An agent can search, read, record, branch and
    merge conversations, remember, send messages and propose facts. It cannot delete, undo or accept anything. A program
    that uses MCP servers starts this command itself: see scopes mcp install. It needs the extra mcp:
    pip install 'scopes-ai[mcp]'.

    Tools that read: conversation_list, conversation_show, conversation_read, conversation_search,
    conversation_continue, decision_list, memory_search, why.
    Tools that write: conversation_record, conversation_branch, conversation_merge, memory_add, message_send, inbox,
    fact_propose.
    Resources: scopes://conversations, scopes://conversations/{conversation}/{+branch}, scopes://memory/{entry},
    scopes://files/{+path}.
    Prompts: resume, summarize, handoff. What each is for: scopes help mcp --all.

    With --http it listens on the loopback interface only, and every request needs the token: that in the variable
    SCOPES_MCP_TOKEN, or a new one, which is printed after the address; in a pipe both are a row.

    Examples:
      scopes mcp
      scopes mcp --agent reviewer
      scopes mcp --http 8321
    """
    invocation: Invocation = context.obj
    name = None if agent is None else check_typed_author(Author(agent)).name
    settings = {key: setting.value for key, setting in invocation.overrides.items()}

    def make_access() -> StoreAccess:
        from scopes.server.mcp.access import StoreAccess

        return StoreAccess(invocation.store_path, agent=name, settings=settings)

    access = _with_extra(make_access)
    if http is None:
        from scopes.server.mcp.server import run_stdio

        run_stdio(access)
        return 0
    if not 0 <= http <= 65_535:
        raise Invalid(f"{http} is not a port", hint="for example: --http 8321")
    token, is_new = _choose_token(invocation)
    shown = token if is_new else None
    from scopes.server.mcp.http import run_http

    run_http(access, http, token, lambda address: invocation.show(McpServer(address=address, token=shown)))
    return 0


def mcp_install(
    context: typer.Context,
    host: Host,
    only_show: Annotated[bool, typer.Option("--print", help="Show what would be added, and change nothing")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace another server of the name scopes")] = False,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="NAME", help="The author of messages (default: the client's name)")
    ] = None,
) -> int:
    """Add the server to the configuration of a program.

    The entry starts this scopes with the selected store. Everything else in the configuration stays; a later
    installation also keeps what you have added to the entry, such as env. The file from before the first installation
    is kept next to it with the ending .before-scopes; scopes mcp remove removes the entry. Another server of the name
    scopes is replaced only with --force; scopes mcp remove brings it back. A file with comments is not changed: use
    --print and add the entry yourself. For vscode the file is .vscode/mcp.json in the current directory. The others
    have one for the user; if CLAUDE_CONFIG_DIR, CODEX_HOME, GEMINI_CLI_HOME or XDG_CONFIG_HOME is set, it is looked for
    there.

    Examples:
      scopes mcp install claude-code
      scopes mcp install codex --print
      scopes mcp install vscode --agent copilot
    """
    invocation: Invocation = context.obj
    words = [*program_words(), *store_option(invocation), "mcp"]
    if agent is not None:
        words += ["--agent", parse_agent_name(agent)]
    return invocation.show(install(host, words, user_directories(invocation), force=force, only_show=only_show))


def mcp_status(
    context: typer.Context,
    hosts: Annotated[list[str] | None, typer.Argument(metavar="HOST", help="Which programs (default: all)")] = None,
) -> int:
    """Show which programs have the server.

    An entry is outdated if a new installation would write another one: one that starts another scopes, or uses another
    store than is selected now; then the problem names both. In a pipe the state of the server is one of installed,
    outdated, missing and unreadable. For vscode it is the file of the current directory.

    Examples:
      scopes mcp status
      scopes mcp status codex --json
    """
    invocation: Invocation = context.obj
    return invocation.show(read_status(hook_environment(invocation), tuple(hosts or ())))


def mcp_remove(
    context: typer.Context,
    host: Host,
    force: Annotated[bool, typer.Option("--force", help="Remove another server of the name scopes too")] = False,
) -> int:
    """Remove the server from the configuration of a program.

    A server of this name that the installation has replaced is back then.

    Examples:
      scopes mcp remove claude-code
    """
    invocation: Invocation = context.obj
    return invocation.show(remove(host, user_directories(invocation), force=force))


def _with_extra(make: Callable[[], StoreAccess]) -> StoreAccess:
    """Return what a function makes.

    Raises:
        Refused: the extra `mcp` is not installed.
    """
    try:
        return make()
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"mcp", "starlette", "uvicorn"}:
            raise
        hint = "pip install 'scopes-ai[mcp]'"
        raise Refused("the MCP server needs a package that is not installed: mcp", hint=hint) from error


def _choose_token(invocation: Invocation) -> tuple[str, bool]:
    """Return the token of the environment, or a new one, and whether it is new."""
    given = invocation.environ.get(_TOKEN)
    if given is None:
        return secrets.token_urlsafe(32), True
    if len(given) < _MIN_TOKEN or not given.isascii() or not given.isprintable():
        problem = f"{_TOKEN} has fewer than {_MIN_TOKEN} characters, or others than ASCII"
        raise Invalid(problem, hint="set a longer token, or unset it")
    return given, False
