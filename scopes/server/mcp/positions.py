"""Where an agent is: the fields of an answer with which it goes on, and the names that it gives."""

from __future__ import annotations

import os
from contextlib import suppress

from scopes.errors import Inaccessible, NotFound
from scopes.history.handles import check_limits, read_limits
from scopes.history.names import list_branch_tips, resolve_branch
from scopes.ids import BranchName, ConversationId, Oid
from scopes.model.canonical_json import without_none
from scopes.store.repository import Repository


def position(
    repository: Repository, conversation: ConversationId, branch: BranchName, tip: Oid | None = None
) -> dict[str, object]:
    """Return the fields with which an agent goes on: the branch, its commit, and the turns that it has left.

    tip: the commit that was written, which is in the answer whatever others have written since.

    Raises:
        NotFound: the branch was deleted.
    """
    commit = list_branch_tips(repository, conversation).get(branch) if tip is None else tip
    if commit is None:
        raise NotFound(f"branch {conversation}/{branch} was deleted", hint="list the conversations: scopes list")
    remaining, _ = check_limits(repository, commit, read_limits(repository.config), appended=True)
    return without_none(
        conversation=conversation,
        branch=branch,
        continuation_id=f"{conversation}/{branch}",
        commit=commit,
        remaining_turns=remaining,
    )


def find_conversation_id(repository: Repository, name: str) -> ConversationId:
    """Return the conversation of a name, which may be the continuation id of one of its branches.

    Raises:
        NotFound, Ambiguous, Invalid: there is no such conversation or branch, or there are several.
    """
    return resolve_branch(repository, name, None)[0]


def without_conversation(repository: Repository, conversation: ConversationId, name: str) -> str:
    """Return the branch of a name such as conv-001/main in its own conversation; other names stay as they are."""
    head, slash, branch = name.partition("/")
    is_own = slash and head == conversation and name not in list_branch_tips(repository, conversation)
    return branch if is_own else name


def find_directory() -> str | None:
    """Return the directory in which the server was started; None if it was deleted."""
    with suppress(OSError):
        return os.getcwd()
    return None


def current_directory() -> str:
    """Return the directory in which the server was started.

    Raises:
        Inaccessible: it was deleted.
    """
    found = find_directory()
    if found is None:
        text = "the directory in which the server was started no longer exists"
        raise Inaccessible(text, hint="ask the user to start the server again")
    return found
