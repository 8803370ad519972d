"""`scopes remote add`, `list`, `show`, `rename`, `set-url` and `remove`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from scopes.cli import usage
from scopes.cli.connection import connect
from scopes.cli.invocation import Invocation
from scopes.cli.sharing_options import AsBranches, RemoteName
from scopes.sync.addresses import parse_address
from scopes.sync.change_remotes import add_remote, remove_remote, show_remotes
from scopes.sync.edit_remotes import rename_remote, set_remote_address, show_remote

NoProbe: TypeAlias = Annotated[
    bool, usage.Option("--no-probe", help="Do not ask whether it answers and takes what scopes pushes")
]
Address: TypeAlias = Annotated[
    str, usage.Argument(metavar="ADDRESS", help="https://..., ssh://..., HOST:PATH or a directory")
]


def remote_add(
    context: usage.Context,
    name: Annotated[str, usage.Argument(metavar="NAME", help="A name for it here, such as origin")],
    address: Address,
    no_probe: NoProbe = False,
    as_branches: AsBranches = False,
) -> int:
    """Add a git repository to share through.

    Any git server will do, or a bare repository in a directory. scopes uses your own git for the connection, with its
    credentials, proxies and ssh; a password in an address is refused, and so is http to another machine than this one.
    The remote is asked at once: one tiny ref is written and deleted again, because some hosts take only branches and
    tags. Conversations are kept below refs/scopes, where nobody sees them in the code: a repository of their own is
    better all the same. For a host that takes only branches and tags, --as-branches keeps them below
    refs/heads/scopes, in a repository that has nothing else.

    Commands that name no remote use the one in the setting scopes.defaultRemote; else origin, or the one that was added
    first.

    The hooks of a directory do not run when scopes pushes to it: git would run them as you, and whoever can write there
    writes them. A hook that is to accept or refuse what is pushed needs a server: ssh or https.

    Examples:
      scopes remote add origin git@example.org:team/talks.git --no-probe
      scopes remote add backup ~/backup/talks.git
    """
    invocation: Invocation = context.obj
    checked = parse_address(address, invocation.cwd)._replace(as_branches=as_branches)
    with connect(invocation) as connection:
        result = add_remote(invocation.repository(create=True), name, checked, connection, probe=not no_probe)
    code = invocation.show(result)
    invocation.hint_author(in_scripts=True)
    return code


def remote_list(context: usage.Context) -> int:
    """List the remotes.

    Examples:
      scopes remote list
      scopes remote list --json
    """
    invocation: Invocation = context.obj
    return invocation.show(show_remotes(invocation.repository()))


def remote_show(
    context: usage.Context,
    name: Annotated[
        str | None, usage.Argument(metavar="[REMOTE]", help="The name of the remote (default: the default one)")
    ] = None,
) -> int:
    """Show what is known about a remote.

    Nobody is asked: the numbers are those of when it was last seen, by a fetch, push or pull.

    Examples:
      scopes remote show
      scopes remote show backup --json
    """
    invocation: Invocation = context.obj
    return invocation.show(show_remote(invocation.repository(), name))


def remote_rename(
    context: usage.Context,
    name: RemoteName,
    new: Annotated[str, usage.Argument(metavar="NAME", help="The new name")],
) -> int:
    """Rename a remote.

    What is known about it stays: its branches are called NAME/main and so on from now on. Repositories that go on after
    a full one are renamed with it: origin-2 becomes NAME-2.

    Examples:
      scopes remote rename backup usb
    """
    invocation: Invocation = context.obj
    return invocation.show(rename_remote(invocation.repository(), name, new))


def remote_set_url(
    context: usage.Context,
    name: RemoteName,
    address: Address,
    no_probe: NoProbe = False,
    as_branches: AsBranches = False,
) -> int:
    """Change the address of a remote.

    The new address is checked as by remote add: one tiny ref is written there and deleted again. What is known about
    conversations that are not there is forgotten, so that the next push sends them whole. With --no-probe nobody is
    asked, and all of it stays: for a repository that has moved. Repositories that go on after a full one, such as
    origin-2, are looked for next to the new address: those that are not there are forgotten, too.

    Examples:
      scopes remote set-url origin git@example.org:team/talks.git --no-probe
    """
    invocation: Invocation = context.obj
    checked = parse_address(address, invocation.cwd)._replace(as_branches=as_branches)
    with connect(invocation) as connection:
        result = set_remote_address(invocation.repository(), name, checked, connection, probe=not no_probe)
    return invocation.show(result)


def remote_remove(context: usage.Context, name: RemoteName) -> int:
    """Remove a remote.

    Repositories that go on after a full one, such as origin-2, are removed with it. Nothing is deleted there, and no
    conversation here.

    Examples:
      scopes remote remove backup
    """
    invocation: Invocation = context.obj
    return invocation.show(remove_remote(invocation.repository(), name))
