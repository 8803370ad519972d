"""`scopes watch`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from scopes.cli.arguments import AllProjects
from scopes.cli.host_options import store_option
from scopes.cli.invocation import Invocation
from scopes.cli.watch_runner import WatchRun, check_poll
from scopes.errors import Invalid
from scopes.hosts.program import program_words
from scopes.hosts.service_units import describe_service


def watch(
    context: typer.Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="Transcripts or folders (default: those that scopes import reads)"),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Import what has changed, and end")] = False,
    poll: Annotated[
        float | None,
        typer.Option(
            "--poll", metavar="SECONDS", help="Look at the files this often, without the notifications of the system"
        ),
    ] = None,
    all_projects: AllProjects = False,
    unit: Annotated[
        str | None,
        typer.Option("--print-unit", metavar="MANAGER", help="Print a unit for a service manager: systemd or launchd"),
    ] = None,
) -> int:
    """Import transcripts as they change.

    Imports what is there, and then every transcript that changes, as soon as it has been quiet for a moment, at most
    once a second each. It prints a line for each import that found messages: the time, the conversation, the number of
    messages and the file; with --json as lines of JSON. It runs until Ctrl-C or a TERM signal, which let an import
    finish; then the exit code is 0. A shell script that starts it with & makes it ignore Ctrl-C, as nohup does with
    hang-ups: end it with kill PID. If the disk is full or the store is busy it says so, and tries again. Agents notice
    nothing: their files are only read. For agents with hooks, scopes hooks install records a turn without a process
    that runs all the time; both may be used together.

    With --once the exit code is that of scopes import: 7 if what you name has no transcript, 1 if some of it has none.
    A note about transcripts, such as one on sessions whose parents are missing, is printed at the first start only.
    A branch that somebody else has moved is left as it is: see scopes import.

    The store is that of scopes import: that of the project takes only its sessions, unless --all-projects is given.
    A file that you name is always imported. Only one process can watch for a store. If the extra watch is
    installed (pip install 'scopes-ai[watch]'), the operating system reports changes; else the files are looked at every
    two seconds.
    --print-unit prints a unit that starts this command at login; nothing is installed.

    Examples:
      scopes watch
      scopes watch --once
      scopes watch ~/.claude/projects --poll 5
      scopes watch --json --all-projects
      scopes watch --print-unit systemd
    """
    invocation: Invocation = context.obj
    if once and (unit is not None or poll is not None):
        other = "--print-unit" if unit is not None else "--poll"
        raise Invalid(f"--once cannot be combined with {other}", hint="leave out one of them")
    if poll is not None:
        check_poll(poll)
    if unit is not None:
        options = [*(["--poll", f"{poll:g}"] if poll else []), *(["--all-projects"] if all_projects else [])]
        words = [*program_words(), *store_option(invocation), "watch", *options, *map(os.path.abspath, paths or [])]
        return invocation.show(describe_service(unit, words))
    run = WatchRun(invocation, paths or [], poll=poll, all_projects=all_projects)
    invocation.stream(run.run(once=once))
    return run.exit_code if once else 0
