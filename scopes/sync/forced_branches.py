"""The branches that `push --force` was given as CONV/BRANCH: only these are replaced on the remote."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote

from scopes.errors import Invalid, NotFound
from scopes.history.names import HEADS_FORM, list_branch_tips, resolve_conversation
from scopes.ids import BranchName, ConversationId
from scopes.store.repository import Repository
from scopes.sync.local_conversations import Selection


def take_branches(
    repository: Repository, selection: Selection, *, force: bool
) -> tuple[Selection, Mapping[ConversationId, frozenset[BranchName]]]:
    """Split a selection into conversations and the named branches of each conversation.

    A conversation that is also named without a branch has no entry: all of its branches are forced.

    Raises:
        Invalid: a branch is named without `force`: a push sends all branches.
        NotFound, Ambiguous: a name cannot be resolved.
    """
    names: dict[str, None] = {}
    found: dict[ConversationId, frozenset[BranchName]] = {}
    whole: set[ConversationId] = set()
    for text in selection.names:
        name, slash, branch = text.partition("/")
        branch = branch.removeprefix(HEADS_FORM)
        conversation = resolve_conversation(repository, name)
        names[conversation] = None
        if not slash:
            whole.add(conversation)
            continue
        if not force:
            force_it = f"scopes push {quote(text)} --force"
            hint = f"send it: scopes push {quote(name)}; replace one branch there: {force_it}"
            raise Invalid("a push sends all branches of a conversation", hint=hint)
        if branch not in list_branch_tips(repository, conversation):
            raise NotFound(
                f"{conversation} has no branch {branch!a}", hint=f"list them: scopes branch {quote(conversation)}"
            )
        found[conversation] = found.get(conversation, frozenset()) | {BranchName(branch)}
    branches = {name: each for name, each in found.items() if name not in whole}
    return selection._replace(names=tuple(names)), branches
