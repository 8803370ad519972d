"""`scopes hooks install`, `status` and `remove`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.host_options import hook_environment
from scopes.cli.invocation import Invocation
from scopes.code_links.git_hooks import NAME as GIT
from scopes.code_links.git_hooks import GitHooks
from scopes.errors import Invalid
from scopes.live.hook_status import hooks_status as read_status
from scopes.live.hook_targets import find_target

_TARGETS = "claude-code, codex, gemini, cursor, opencode, or git"


def hooks_install(
    context: typer.Context,
    target: Annotated[str, typer.Argument(metavar="TARGET", help=_TARGETS)],
    only_show: Annotated[bool, typer.Option("--print", help="Show what would be added, and change nothing")] = False,
    trailer: Annotated[
        bool | None,
        typer.Option(
            "--trailer/--no-trailer",
            help="With git: add the trailer Scopes-Turn to commits of agents, or stop that (default: as before)",
        ),
    ] = None,
) -> int:
    """Record every turn of an agent as soon as it ends.

    Adds a hook to the agent's configuration, for all projects. At the end of a turn the agent starts scopes, which
    imports the turn in the background: the agent waits for some hundredths of a second only. A hook never makes the
    agent fail, even if scopes was uninstalled or has moved; scopes hooks status shows its errors. The turn goes into
    the store that --store or SCOPES_STORE selects when the hook is installed; without them, into the store of the
    directory where the agent works, as with scopes import.

    Everything else in the configuration stays. The file from before the first installation is kept next to it with the
    ending .before-scopes; scopes hooks remove removes the hook. If you have changed what scopes added, the file is kept
    with the ending .before-scopes-change before that is replaced or removed. A file with comments is not changed: use
    --print and add the hook yourself. A hook runs scopes hooks run TARGET, which reads the input that the agent gives
    to its hook. Codex runs a new hook only after you have trusted it. For agents without hooks there is scopes watch.
    A branch that somebody else has moved is left as it is: see scopes import.

    The hooks of Cursor receive prompts, answers, edits and commands. They are kept in the state directory, in a file
    for each conversation, and imported at the end of a turn. These hooks follow the documentation of Cursor and were
    not run with it.

    Hooks of git:

    The target git installs post-commit and post-rewrite in the repository around the current directory, or in its
    core.hooksPath. They record which session of an agent made a commit, by the environment variables that agents set in
    their shells, and follow amended and rebased commits. Each commit of an agent takes some hundredths of a second
    longer, and so does each one of a rebase; none can fail because of it. A hook that exists is kept with the ending
    .before-scopes and still runs. Nothing is written through a link that leads out of the repository, or into a
    core.hooksPath that only the configuration of all your repositories names. See scopes show --commits, scopes log
    --commit and scopes why.

    Nothing is written into commits unless --trailer is given. Then commits of agents get the line
    `Scopes-Turn: MESSAGE`, which names the prompt, and a commit of Claude Code or Codex waits until its session is
    imported, some tenths of a second. A later installation keeps the trailer, unless --no-trailer is given.

    Examples:
      scopes hooks install claude-code
      scopes hooks install codex --print
      scopes --store ~/notes.git hooks install opencode
      scopes hooks install git
    """
    invocation: Invocation = context.obj
    found = find_target(target)
    if trailer is not None and target != GIT:
        raise Invalid("--trailer is for the target git only", hint="scopes hooks install git --trailer")
    if target == GIT:
        found = GitHooks(trailer=trailer)
    return invocation.show(found.install(hook_environment(invocation), print_only=only_show))


def hooks_status(
    context: typer.Context,
    targets: Annotated[list[str] | None, typer.Argument(metavar="TARGET", help="Which targets (default: all)")] = None,
) -> int:
    """Show the hooks, and what they did last.

    The problem is the reason why the last turn was not recorded; scopes import records it later, of OpenCode from a
    file that opencode export SESSION wrote. It is shown until a turn is recorded, its file is imported, or the hooks
    are removed. A hook is outdated if a new installation would start another scopes or use another store; then the
    problem names both. It also says if the store that a hook names is gone, such as with a disk that is not mounted.
    For git it also shows whether commits get trailers. In a pipe the state of the hooks is one of installed, outdated,
    missing and unreadable. With --json, cure says what to do.

    Examples:
      scopes hooks status
      scopes hooks status codex --json
    """
    invocation: Invocation = context.obj
    return invocation.show(read_status(hook_environment(invocation), invocation.state_directory, tuple(targets or ())))


def hooks_remove(
    context: typer.Context, target: Annotated[str, typer.Argument(metavar="TARGET", help=_TARGETS)]
) -> int:
    """Remove the hooks of an agent or of git.

    If nothing else in the file has changed since the installation, the file is restored byte for byte.

    Examples:
      scopes hooks remove claude-code
    """
    invocation: Invocation = context.obj
    return invocation.show(find_target(target).remove(hook_environment(invocation)))
