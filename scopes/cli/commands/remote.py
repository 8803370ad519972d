"""`scopes remote add`, `list`, `set-url` and `remove`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from scopes.cli.commands.share import AsBranches
from scopes.cli.invocation import Invocation
from scopes.cli.options import Text, argument, option
from scopes.cli.progress import connect
from scopes.errors import Inaccessible, Invalid, NotFound
from scopes.result import Note
from scopes.sync.addresses import parse_address
from scopes.sync.change_remotes import RemoteChanged, add_remote, remove_remote, show_remotes
from scopes.sync.edit_remotes import rename_remote, set_remote_address
from scopes.sync.remotes import resolve_remote

RemoteName: TypeAlias = Annotated[str, argument("REMOTE", "The name of the remote")]


def remote_add(
    invocation: Invocation,
    name: Annotated[str, argument("NAME", "A name for it here, such as origin")],
    address: Annotated[str, argument("ADDRESS", "https://..., ssh://..., HOST:PATH or a directory")],
    as_branches: AsBranches = False,
) -> int:
    """Add a repository to share through.

    Any git server works, or a bare repository in a directory: scopes uses your git, with its credentials and ssh. It
    is checked at once whether it takes what scopes pushes. A repository that does not answer is added, with a note.

    Examples:
      scopes remote add origin git@example.com:team/talks.git
      scopes remote add disk /mnt/talks.git
    """
    checked = parse_address(address, invocation.cwd)._replace(as_branches=as_branches)
    repository = invocation.repository(create=True)
    with connect(invocation) as connection:
        try:
            result = add_remote(repository, name, checked, connection)
        except (Inaccessible, NotFound) as error:  # it may be away, or be made later
            result = add_remote(repository, name, checked, connection, probe=False)
            invocation.add_notes([Note(error.message, error.hint)])
    return invocation.show(result)


def remote_list(invocation: Invocation) -> int:
    """List the remotes.

    Examples:
      scopes remote
      scopes remote -v
      scopes show origin
    """
    return invocation.show(show_remotes(invocation.repository()))


def remote_set_url(
    invocation: Invocation,
    name: RemoteName,
    address: Annotated[Text, argument("[ADDRESS]", "The new address")] = None,
    new: Annotated[Text, option("--name NEW", "Rename it")] = None,
    rename: Annotated[bool, option("--rename", hidden=True)] = False,
) -> int:
    """Change the address or the name of a remote.

    A new address is checked as by remote add. What it does not have is sent by the next push. remote rename OLD NEW is
    the same as --name NEW.

    Examples:
      scopes remote set-url origin https://example.com/talks.git
      scopes remote rename origin team
    """
    if rename:
        address, new = None, address
    if (address is None) == (new is None):
        raise Invalid("give a new address or a new name", hint="scopes remote set-url NAME ADDRESS, or --name NEW")
    repository = invocation.repository()
    if new is not None:
        return invocation.show(rename_remote(repository, name, new))
    checked = parse_address(address or "", invocation.cwd)
    with connect(invocation) as connection:
        return invocation.show(set_remote_address(repository, name, checked, connection))


def remote_remove(invocation: Invocation, name: RemoteName) -> int:
    """Remove a remote, and nothing on it.

    Examples:
      scopes remote remove origin
      scopes remote remove origin --dry-run
    """
    repository = invocation.repository()
    if invocation.dry_run:
        found = resolve_remote(repository, name)
        return invocation.show(RemoteChanged(name=found.name, address=found.address.text, change="removed"))
    return invocation.show(remove_remote(repository, name))
