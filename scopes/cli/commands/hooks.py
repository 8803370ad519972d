"""`scopes hooks install`, `status` and `remove`."""

from __future__ import annotations

from typing import Annotated

from scopes.cli import usage
from scopes.cli.host_options import hook_place
from scopes.cli.invocation import Invocation
from scopes.code_links.git_hooks import NAME as GIT
from scopes.code_links.git_hooks import GitHooks
from scopes.errors import Invalid
from scopes.server.hook_status import find_target
from scopes.server.hook_status import hooks_status as read_status

_TARGETS = "claude-code, codex, gemini, cursor, opencode, or git"


def hooks_install(
    context: usage.Context,
    target: Annotated[str, usage.Argument(metavar="AGENT", help=_TARGETS)],
    only_show: Annotated[bool, usage.Option("--print", help="Show what would be added, and change nothing")] = False,
    trailer: Annotated[
        bool | None,
        usage.Option(
            "--trailer/--no-trailer",
            help="With git: add the trailer Scopes-Turn to commits of agents, or stop that (default: as before)",
        ),
    ] = None,
) -> int:
    """Record every turn of an agent as soon as it ends.

    Adds a hook to the agent's configuration, for all projects. At the end of a turn the agent starts scopes, which
    takes over what the agent wrote in the background, so that the agent waits for some hundredths of a second only. A
    hook never fails the agent: what goes wrong is in scopes hooks status. The turn goes into the store that is selected
    now by --store or SCOPES_STORE, without them into that of the directory where the agent works, as with scopes
    import.

    Everything else in the configuration stays, and the file as it was is kept beside it with the ending
    .before-scopes; scopes hooks remove takes the hook out. A file with comments is not changed: use --print and
    add the hook yourself. What a hook runs is scopes hooks run AGENT, which reads what the agent tells it. Codex runs a
    new hook only after you have trusted it. For agents without hooks there is scopes watch.

    Cursor tells its hooks what was asked, answered, edited and run. That is kept in the state directory, in a file for
    each conversation, and imported at the end of a turn. These hooks follow the documentation of Cursor and were not
    run with it.

    With git the hooks are post-commit and post-rewrite of the repository around the current directory, or of its
    core.hooksPath: they record which session of an agent made a commit, by the variables of the shells of agents, and
    follow commits that git makes again. No commit waits for that or fails by it. A hook that is there is kept with the
    ending .before-scopes and still runs. See scopes show --commits, scopes log --commit and scopes why. Nothing is
    written into commits, but with --trailer the line `Scopes-Turn: MESSAGE`, which names the prompt: then a commit of
    Claude Code or Codex waits until its session is imported, some tenths of a second. A later installation leaves that
    as it is, unless --no-trailer is given.

    Examples:
      scopes hooks install claude-code
      scopes hooks install codex --print
      scopes --store ~/notes.git hooks install opencode
      scopes hooks install git
    """
    invocation: Invocation = context.obj
    found = find_target(target)
    if trailer is not None and target != GIT:
        raise Invalid(f"--trailer is for commits, and {target!a} makes none", hint="scopes hooks install git --trailer")
    if target == GIT:
        found = GitHooks(trailer=trailer)
    return invocation.show(found.install(hook_place(invocation), print_only=only_show))


def hooks_status(
    context: usage.Context,
    targets: Annotated[list[str] | None, usage.Argument(metavar="AGENT", help="Which agents (default: all)")] = None,
) -> int:
    """Show the hooks of agents, and what they did last.

    The problem is the reason why the last turn was not recorded; scopes import records it later. A hook is outdated if
    it starts another scopes, or uses another store, than one that was installed now would; then the problem names both.
    Of git it also shows whether commits get trailers. In a pipe the hooks of an agent are installed, outdated, missing
    or unreadable.

    Examples:
      scopes hooks status
      scopes hooks status codex --json
    """
    invocation: Invocation = context.obj
    return invocation.show(read_status(hook_place(invocation), invocation.state_directory, tuple(targets or ())))


def hooks_remove(context: usage.Context, target: Annotated[str, usage.Argument(metavar="AGENT", help=_TARGETS)]) -> int:
    """Take the hooks of an agent out of its configuration.

    If nothing else in the file has changed since, it is again what it was before, byte for byte.

    Examples:
      scopes hooks remove claude-code
    """
    invocation: Invocation = context.obj
    return invocation.show(find_target(target).remove(hook_place(invocation)))
