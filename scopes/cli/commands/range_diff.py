"""`scopes range-diff`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import LATEST, find_conversation, names_revision
from scopes.cli.invocation import Invocation
from scopes.conversation.diff import range_diff as run_range_diff
from scopes.render.view_options import ViewOptions
from scopes.store.repository import Repository


def range_diff(
    context: typer.Context,
    names: Annotated[
        list[str], typer.Argument(metavar="A..B", help="[CONV] and two versions: A B, BASE A B, or A..B C..D")
    ],
    no_patch: Annotated[
        bool, typer.Option("--no-patch", "-s", "--oneline", help="Only one line per message, without inner diffs")
    ] = False,
) -> int:
    """Compare two versions of a branch, or two runs.

    Pairs the messages of two ranges as git range-diff pairs commits: by message id, which a rebase keeps, and others by
    content, in the same order: kind, kind of author, tools and text. Each row has the number of the message in its
    range and its commit. = is unchanged, ! is changed, with the changed lines below it, < is only in the old range,
    > is only in the new one. A B compares what only A has with what only B has; BASE A B what each has since BASE.
    BRANCH@{1} is the branch before it was last moved. Merges are left out. The exit code is 0 if nothing differs, and 1
    otherwise.

    Examples:
      scopes range-diff main fix@{1} fix
      scopes range-diff conv-001 main try-1 try-2
      scopes range-diff conv-001 main~5..main fix~5..fix --no-patch
      scopes range-diff run-1 run-2 --json
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    conversation, rest = _split_conversation(repository, names)
    result = run_range_diff(repository, rest, conversation=conversation, patch=not no_patch)
    return invocation.show(result, options=ViewOptions(oneline=no_patch))


def _split_conversation(repository: Repository, names: list[str]) -> tuple[str | None, list[str]]:
    """Split the words into the conversation, if it is the first one or has to be the latest, and the versions."""
    first, *rest = names
    is_name = ".." not in first and "/" not in first
    if is_name and rest and (len(rest) > 1 or ".." in rest[0]) and find_conversation(repository, first):
        return first, rest
    name = first.partition("..")[0]
    found = bool(name) and (find_conversation(repository, name) is not None or names_revision(repository, name))
    return None if found else LATEST, names
