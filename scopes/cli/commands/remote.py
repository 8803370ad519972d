"""`scopes remote add`, `list` and `remove`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from scopes.cli import usage
from scopes.cli.connection import connect
from scopes.cli.invocation import Invocation
from scopes.cli.sharing_options import AsBranches
from scopes.sync.addresses import parse_address
from scopes.sync.change_remotes import add_remote, remove_remote, show_remotes

Address: TypeAlias = Annotated[
    str, usage.Argument(metavar="ADDRESS", help="https://..., ssh://..., HOST:PATH or a directory")
]


def remote_add(
    context: usage.Context,
    name: Annotated[str, usage.Argument(metavar="NAME", help="A name for it here, such as origin")],
    address: Address,
    no_probe: Annotated[
        bool, usage.Option("--no-probe", help="Do not ask whether it answers and takes what scopes pushes")
    ] = False,
    as_branches: AsBranches = False,
) -> int:
    """Add a git repository to share through.

    Any git server will do, or a bare repository in a directory. scopes uses your own git for the connection, with its
    credentials, proxies and ssh; a password in an address is refused, and so is http to another machine than this one.
    The remote is asked at once: one tiny ref is written and deleted again, because some hosts take only branches and
    tags. Conversations are kept below refs/scopes, where nobody sees them in the code: a repository of their own is
    better all the same. For a host that takes only branches and tags, --as-branches keeps them below
    refs/heads/scopes, in a repository that has nothing else.

    Examples:
      scopes remote add origin git@example.org:team/talks.git --no-probe
      scopes remote add backup ~/backup/talks.git
    """
    invocation: Invocation = context.obj
    checked = parse_address(address, invocation.cwd)._replace(as_branches=as_branches)
    with connect(invocation) as connection:
        result = add_remote(invocation.repository(create=True), name, checked, connection, probe=not no_probe)
    return invocation.show(result)


def remote_list(context: usage.Context) -> int:
    """List the remotes.

    Examples:
      scopes remote list
      scopes remote list --json
    """
    invocation: Invocation = context.obj
    return invocation.show(show_remotes(invocation.repository()))


def remote_remove(
    context: usage.Context,
    name: Annotated[str, usage.Argument(metavar="REMOTE", help="The name of the remote")],
) -> int:
    """Remove a remote.

    Repositories that go on after a full one, such as origin-2, are removed with it. Nothing is deleted there, and no
    conversation here.

    Examples:
      scopes remote remove backup
    """
    invocation: Invocation = context.obj
    return invocation.show(remove_remote(invocation.repository(), name))
