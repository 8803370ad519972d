"""`scopes clone`."""

from __future__ import annotations

import os
from functools import partial
from typing import Annotated

import typer

from scopes.cli.connection import choose, connect
from scopes.cli.invocation import Invocation
from scopes.cli.sharing_options import AsBranches, OfProject, OfYear, RemoteAddress
from scopes.store.config import ORIGIN
from scopes.sync.addresses import parse_address
from scopes.sync.clone import clone as run_clone
from scopes.sync.clone import clone_manifests
from scopes.sync.names import parse_remote_name


def clone(
    context: typer.Context,
    address: RemoteAddress,
    directory: Annotated[
        str | None, typer.Argument(metavar="[DIRECTORY]", help="The new store (default: where init makes it)")
    ] = None,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="The name of the remote here")] = ORIGIN,
    project: OfProject = None,
    year: OfYear = None,
    as_branches: AsBranches = False,
    manifests: Annotated[
        bool, typer.Option("--manifests", help="Only get the list of conversations, without their messages")
    ] = False,
) -> int:
    """Make a store of the conversations of a remote.

    The store is created at DIRECTORY or --store, by default where scopes init creates it; it must not have
    conversations yet. The address becomes its remote origin. If the clone fails, a new store is removed again. ADDRESS
    must be a repository that conversations were pushed to, neither another scopes store nor a repository of code only.

    For a remote with very many conversations, --manifests gets only the list: scopes list --remote origin shows it, and
    the first command that reads a conversation, such as log, fetches that conversation. Later, fetch and pull update
    the list and the conversations that were fetched; scopes fetch --all gets everything.

    Examples:
      scopes clone ~/backup/talks.git ~/talks
      scopes --store ~/talks-2026 clone ~/backup/talks.git --year 2026
      scopes clone --manifests git@example.org:team/talks.git ~/talks
    """
    invocation: Invocation = context.obj
    checked = parse_address(address, invocation.cwd)._replace(as_branches=as_branches)
    selection = choose(invocation, None, project=project, year=year)
    path = invocation.new_store_path
    if directory is not None:
        path = os.path.join(invocation.cwd, os.path.expanduser(directory))
    invocation.store = path
    run = partial(clone_manifests, directory=invocation.index_directory) if manifests else run_clone
    with connect(invocation) as connection:
        result = run(
            path, checked, selection, connection, open_store=invocation.repository, name=parse_remote_name(name)
        )
    return invocation.show(result)
