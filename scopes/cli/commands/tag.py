"""`scopes conv tag`."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import typer

from scopes.cli.arguments import LATEST, find_conversation, names_revision
from scopes.cli.invocation import Invocation
from scopes.conversation.branch import delete_tag, list_tags
from scopes.conversation.branch import tag as run_tag
from scopes.history.names import conversation_ids, parse_latest, resolve_branch
from scopes.ids import BranchName, ConversationId
from scopes.store.repository import Repository


class _Words(NamedTuple):
    conversation: ConversationId
    branch: BranchName
    name: str | None
    message: str | None


def tag(
    context: typer.Context,
    where: Annotated[
        str | None,
        typer.Argument(metavar="[CONV[/BRANCH]]", help="The conversation (default: the latest), or one branch of it"),
    ] = None,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The name of the tag")] = None,
    message: Annotated[
        str | None, typer.Argument(metavar="[MESSAGE]", help="The message (default: the last one of the branch)")
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", "-d", help="Delete the tag")] = False,
) -> int:
    """Tag a message, or list the tags.

    A tag is a fixed name for a message. It can be used wherever a message is named. NAME and MESSAGE may be in either
    order if only one of them names a message; the id of a message is no name of a tag.

    Examples:
      scopes tag
      scopes tag good
      scopes tag good main~3
      scopes tag conv-001 before-refactoring
      scopes tag conv-001/analysis/security-review reviewed
      scopes tag conv-001 good main~3
      scopes tag conv-001
      scopes tag -d good
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    given = _read_words(repository, [word for word in (where, name, message) if word is not None])
    if given.name is None:
        return invocation.show(list_tags(repository, given.conversation))
    if delete:
        return invocation.show(delete_tag(repository, given.conversation, given.name))
    return invocation.show(run_tag(repository, given.conversation, given.name, given.message, branch=given.branch))


def _read_words(repository: Repository, words: list[str]) -> _Words:
    """Read `[CONV[/BRANCH]] [NAME] [MESSAGE]`: a single word is the tag unless it is the whole id of a conversation.

    Raises:
        NotFound, Ambiguous: the first word names no conversation, or several, and is not a tag for the second one.
    """
    place = LATEST
    if len(words) == 3 or (words and _is_place(repository, *words)):
        place, *words = words
    conversation, branch = resolve_branch(repository, place, None)
    name, message = (*words, None, None)[:2]
    if name is not None and message is not None:
        is_message = [names_revision(repository, f"{conversation}/{word}") for word in (name, message)]
        if is_message == [True, False]:
            name, message = message, name
    return _Words(conversation, branch, name, message)


def _is_place(repository: Repository, first: str, second: str | None = None) -> bool:
    head = first.partition("/")[0]
    if second is None:
        return head in conversation_ids(repository) or parse_latest(head) is not None
    return find_conversation(repository, first) is not None or not any(
        names_revision(repository, f"{LATEST}/{word}") or names_revision(repository, word) for word in (first, second)
    )
