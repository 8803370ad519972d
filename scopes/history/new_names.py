"""Names that people give: like those that are read, but none that would be taken for something else.

What others have sent is named by `sync.registers` instead, which changes such a name and refuses nothing.
"""

from __future__ import annotations

from scopes.errors import Corrupt, Invalid
from scopes.history.ambiguous_names import LONG_FORMS, is_whole_id
from scopes.ids import BranchName, ConversationId, parse_branch_name, parse_conversation_id, parse_tag_name
from scopes.store.remote_file import BUNDLE, read_addresses
from scopes.store.repository import Repository


def parse_new_branch_name(repository: Repository, text: str) -> BranchName:
    """Check the name of a new branch; raises Invalid as `parse_branch_name`, or if it would mean something else."""
    name = parse_branch_name(text)
    _check_meaning(repository, name, "branch name")
    return name


def parse_new_tag_name(repository: Repository, text: str) -> str:
    """Check the name of a new tag; raises Invalid as `parse_tag_name`, or if it would mean something else."""
    name = parse_tag_name(text)
    _check_meaning(repository, name, "tag name")
    return name


def parse_new_conversation_id(text: str) -> ConversationId:
    """Check the id of a new conversation; raises Invalid as `parse_conversation_id`, or for the form of an id."""
    name = parse_conversation_id(text)
    _check_form(name, "conversation id")
    return name


def _check_meaning(repository: Repository, name: str, what: str) -> None:
    _check_form(name, what)
    first, slash, rest = name.partition("/")
    if slash and first in _list_remotes(repository):
        problem = f"{first}/... are the branches of the remote {first}"
        raise Invalid(f"{name!a} is not a valid {what}: {problem}", hint=f"for example: {first}-{rest}")


def _check_form(name: str, what: str) -> None:
    if is_whole_id(name):
        hint = "choose a name that does not look like an id"
        raise Invalid(f"{name!a} is not a valid {what}: it has the form of the id of a message", hint=hint)
    if name.startswith(LONG_FORMS):
        hint = f"leave {LONG_FORMS} out"
        raise Invalid(f"{name!a} is not a valid {what}: it begins with {LONG_FORMS}", hint=hint)


def _list_remotes(repository: Repository) -> set[str]:
    try:
        return {*read_addresses(repository.path), BUNDLE}
    except Corrupt:
        return {BUNDLE}
