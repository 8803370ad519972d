"""`scopes bundle create`, `import` and `verify`."""

from __future__ import annotations

import os
from shlex import quote

from scopes.cli import usage
from scopes.cli.arguments import AllowSecrets, Force, Since
from scopes.cli.connection import choose, connect
from scopes.cli.invocation import Invocation
from scopes.cli.sharing_options import (
    BundleFile,
    Everything,
    IncludeOpen,
    OfProject,
    OfYear,
    ToGet,
    ToSend,
    WithSources,
)
from scopes.errors import Invalid
from scopes.history.revisions import conversation_ids
from scopes.sync.bundles import create_bundle, import_bundle, verify_bundle


def bundle_create(
    context: usage.Context,
    file: BundleFile,
    conversations: ToSend = None,
    everything: Everything = False,
    project: OfProject = None,
    since: Since = None,
    year: OfYear = None,
    force: Force = False,
    allow_secrets: AllowSecrets = False,
    include_open: IncludeOpen = False,
    with_sources: WithSources = False,
) -> int:
    """Write conversations into a file, to carry them by hand.

    The file is a git bundle. It has what a push to an empty remote would send, the whole of each conversation, and
    needs no connection and no other file: bundle import reads it on another machine. As with push, everything is
    searched for secrets first; a conversation that may have one is left out, and the exit code is 1. An open last
    message of an imported session, which may still grow, is held back, and said to be, unless --include-open is given.
    --with-sources adds the files that conversations were imported from, byte by byte; see push. Messages are counted as
    by list: those of all branches together.

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
            force=force, allow_secrets=allow_secrets, include_open=include_open, with_sources=with_sources,
        )  # fmt: skip
    return invocation.show(result)


def bundle_import(
    context: usage.Context,
    file: BundleFile,
    conversations: ToGet = None,
    project: OfProject = None,
    since: Since = None,
    year: OfYear = None,
) -> int:
    """Get conversations from a bundle.

    This is fetch from a file, with the same checks. A branch to which both sides have added messages stays as it is;
    the other side is called bundle/BRANCH, until the next bundle is imported: merge it. One undo takes all of it back.

    A bundle that is written again and again under one name can be a remote as well: scopes remote add usb FILE, then
    fetch, pull and clone read it.

    Examples:
      scopes bundle import talks.bundle
      scopes bundle import talks.bundle --year 2026
    """
    invocation: Invocation = context.obj
    selection = choose(invocation, conversations, project=project, since=since, year=year)
    with connect(invocation) as connection:
        result = import_bundle(invocation.repository(create=True), _path_of(invocation, file), selection, connection)
    return invocation.show(result)


def bundle_verify(context: usage.Context, file: BundleFile) -> int:
    """Check a bundle, and list what it has.

    All of it is checked as bundle import does, and nothing is taken. The exit code is 7 if a conversation is not
    acceptable.

    Examples:
      scopes bundle verify talks.bundle
    """
    invocation: Invocation = context.obj
    with connect(invocation) as connection:
        result = verify_bundle(invocation.repository(), _path_of(invocation, file), connection)
    return invocation.show(result)


def _path_of(invocation: Invocation, file: str) -> str:
    return os.path.join(invocation.cwd, os.path.expanduser(file))
