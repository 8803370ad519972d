"""`scopes remote add`, `list`, `show`, `rename`, `set-url` and `remove`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from scopes.cli.connection import connect
from scopes.cli.invocation import Invocation
from scopes.cli.sharing_options import AsBranches, RemoteAddress, RemoteName
from scopes.sync.addresses import parse_address
from scopes.sync.change_remotes import add_remote, remove_remote, show_remotes
from scopes.sync.edit_remotes import rename_remote, set_remote_address, show_remote

NoProbe: TypeAlias = Annotated[bool, typer.Option("--no-probe", help="Do not check that it answers and accepts pushes")]


def remote_add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name for it here, such as origin")],
    address: RemoteAddress,
    no_probe: NoProbe = False,
    as_branches: AsBranches = False,
) -> int:
    """Add a git repository to share through.

    Any git server works, or a bare repository in a directory. scopes connects with your git, its credential helpers,
    proxies and ssh. Addresses with a password are refused, as is http to another machine. The remote is checked at
    once: scopes pushes one tiny ref and deletes it again, because some hosts accept only branches and tags.
    Conversations are stored below refs/scopes, where they are not shown among the branches of a project; a separate
    repository is still better. For a host that accepts only branches and tags, --as-branches stores them below
    refs/heads/scopes, in a repository that has no other branches.

    Commands without --remote use the remote in the setting scopes.defaultRemote; if it is not set, origin, or the
    remote that was added first.

    If the remote is a directory, its hooks do not run when scopes pushes to it: git would run them as you, although
    others may have written them. To have hooks that accept or refuse a push, use a server, with ssh or https.

    Examples:
      scopes remote add origin git@example.org:team/talks.git --no-probe
      scopes remote add backup ~/backup/talks.git
    """
    invocation: Invocation = context.obj
    checked = parse_address(address, invocation.cwd)._replace(as_branches=as_branches)
    with connect(invocation) as connection:
        result = add_remote(invocation.repository(create=True), name, checked, connection, probe=not no_probe)
    return invocation.show(result)


def remote_list(context: typer.Context) -> int:
    """List the remotes.

    Examples:
      scopes remote list
      scopes remote list --json
    """
    invocation: Invocation = context.obj
    return invocation.show(show_remotes(invocation.repository()))


def remote_show(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="[REMOTE]", help="The name of the remote (default: the default one)")
    ] = None,
) -> int:
    """Show what is known about a remote.

    The remote is not contacted: the numbers are those of the last fetch, push or pull.

    Examples:
      scopes remote show
      scopes remote show backup --json
    """
    invocation: Invocation = context.obj
    return invocation.show(show_remote(invocation.repository(), name))


def remote_rename(
    context: typer.Context,
    name: RemoteName,
    new: Annotated[str, typer.Argument(metavar="NAME", help="The new name")],
) -> int:
    """Rename a remote.

    What is known about the remote is kept: its branches are called NAME/main and so on from now on. Later repositories
    of the remote, such as origin-2, are renamed with it, to NAME-2.

    Examples:
      scopes remote rename backup usb
    """
    invocation: Invocation = context.obj
    return invocation.show(rename_remote(invocation.repository(), name, new))


def remote_set_url(
    context: typer.Context,
    name: RemoteName,
    address: RemoteAddress,
    no_probe: NoProbe = False,
    as_branches: AsBranches = False,
) -> int:
    """Change the address of a remote.

    The new address is checked as by remote add: scopes pushes one tiny ref and deletes it again. Conversations that the
    new repository does not have are pushed as a whole by the next push. Later repositories of the remote, such as
    origin-2, are looked for next to the new address, and forgotten if they are not there.

    With --no-probe the new address is not contacted, and everything known about the remote is kept: use it for a
    repository that has moved.

    Examples:
      scopes remote set-url origin git@example.org:team/talks.git --no-probe
    """
    invocation: Invocation = context.obj
    checked = parse_address(address, invocation.cwd)._replace(as_branches=as_branches)
    with connect(invocation) as connection:
        result = set_remote_address(invocation.repository(), name, checked, connection, probe=not no_probe)
    return invocation.show(result)


def remote_remove(context: typer.Context, name: RemoteName) -> int:
    """Remove a remote.

    Later repositories of the remote, such as origin-2, are removed with it. Nothing is deleted on the remote, and no
    conversation is deleted here.

    Examples:
      scopes remote remove backup
    """
    invocation: Invocation = context.obj
    return invocation.show(remove_remote(invocation.repository(), name))
