"""`scopes bundle create`, `import` and `verify`."""

from __future__ import annotations

import os
from shlex import quote

import typer

from scopes.cli.arguments import AllowSecrets, Force, Since
from scopes.cli.connection import choose, connect
from scopes.cli.invocation import Invocation
from scopes.cli.sharing_options import (
    BundleFile,
    Everything,
    OfProject,
    OfYear,
    ToGet,
    ToSend,
    WithSources,
)
from scopes.errors import Invalid
from scopes.history.names import conversation_ids
from scopes.sync.bundles import create_bundle, import_bundle, verify_bundle


def bundle_create(
    context: typer.Context,
    file: BundleFile,
    conversations: ToSend = None,
    everything: Everything = False,
    project: OfProject = None,
    since: Since = None,
    year: OfYear = None,
    force: Force = False,
    allow_secrets: AllowSecrets = False,
    with_sources: WithSources = False,
) -> int:
    """Write conversations into a file, to carry them by hand.

    The file is a git bundle with the complete conversations, as a push to an empty remote would send them. On another
    machine, scopes bundle import reads it without a connection. As with push, everything is searched for secrets first;
    a conversation with a possible secret is left out, and the exit code is 1. --with-sources adds the original
    files that the conversations were imported from; see push. The count of messages is that of scopes list: all
    branches together.

    Examples:
      scopes bundle create talks.bundle --all
      scopes bundle create shop.bundle --project . --since '1 month ago'
      scopes bundle create talks.bundle conv-001 conv-002 --force
      scopes bundle create whole.bundle conv-001 --with-sources
    """
    invocation: Invocation = context.obj
    selection = choose(invocation, conversations, everything=everything, project=project, since=since, year=year)
    if selection.is_empty:
        raise Invalid("nothing was chosen", hint="name conversations, or use --project DIR, --since or --all")
    if file == "-":
        raise Invalid("a bundle is a file, and is not written to standard output", hint="a file of this name is ./-")
    if selection.names and file in conversation_ids(invocation.repository()):
        named = " ".join(map(quote, [file, *selection.names]))
        hint = f"name the file first: scopes bundle create FILE {named}; a file of this name is ./{quote(file)}"
        raise Invalid(f"{file} is a conversation, and the file comes first", hint=hint)
    with connect(invocation) as connection:
        result = create_bundle(
            invocation.repository(), _path_of(invocation, file), selection, connection,
            force=force, allow_secrets=allow_secrets, with_sources=with_sources,
        )  # fmt: skip
    return invocation.show(result)


def bundle_import(
    context: typer.Context,
    file: BundleFile,
    conversations: ToGet = None,
    project: OfProject = None,
    since: Since = None,
    year: OfYear = None,
) -> int:
    """Get conversations from a bundle.

    Works as fetch, with the same checks. A branch with new messages on both sides is not changed; the branch of the
    bundle is called bundle/BRANCH until the next bundle is imported: merge it. One scopes undo reverts all of it.

    A bundle that is regularly rewritten under the same name can be a remote: scopes remote add usb FILE. fetch, pull
    and clone read it.

    Examples:
      scopes bundle import talks.bundle
      scopes bundle import talks.bundle --year 2026
    """
    invocation: Invocation = context.obj
    selection = choose(invocation, conversations, project=project, since=since, year=year)
    with connect(invocation) as connection:
        result = import_bundle(invocation.repository(create=True), _path_of(invocation, file), selection, connection)
    return invocation.show(result)


def bundle_verify(context: typer.Context, file: BundleFile) -> int:
    """Check a bundle, and list what it has.

    The whole bundle is checked as by bundle import, and nothing is imported. The exit code is 7 if a conversation fails
    a check.

    Examples:
      scopes bundle verify talks.bundle
    """
    invocation: Invocation = context.obj
    with connect(invocation) as connection:
        result = verify_bundle(invocation.repository(), _path_of(invocation, file), connection)
    return invocation.show(result)


def _path_of(invocation: Invocation, file: str) -> str:
    return os.path.join(invocation.cwd, os.path.expanduser(file))
