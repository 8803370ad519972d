"""What a forced push would take from others: messages of a remote branch that no branch of this store ever had.

A fetch that somebody ran does not show that they have looked at what came, and a push fetches by itself. A branch that
has had the messages does: they were merged, or written, here. It is what git's `--force-if-includes` asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from shlex import quote
from typing import NamedTuple

from scopes.history.messages import header_of, is_root, message_id_of
from scopes.ids import BranchName, ConversationId, Oid
from scopes.result import first_few, plural
from scopes.store.graph import walk_newest_first
from scopes.store.operations import walk_moves
from scopes.store.refs import branch_ref
from scopes.store.repository import Repository
from scopes.sync.outgoing import LeftOut


class UnmergedBranch(NamedTuple):
    """A branch of a remote with messages that no branch here ever had: how many, and who wrote them."""

    branch: BranchName
    messages: int
    authors: tuple[str, ...]


def find_unmerged(
    repository: Repository, conversation: ConversationId, left_out: Sequence[LeftOut], local: Mapping[BranchName, Oid]
) -> tuple[UnmergedBranch, ...]:
    """Return the branches that would lose such messages by a forced push; `local` has the branches of this store.

    Copies of messages that are here, such as those of a rebase, are not counted.
    """
    if not left_out:
        return ()
    refs = (branch_ref(conversation, name) for name in local)
    moves = (oid for ref in refs for move in walk_moves(repository, ref) for oid in (move.new, move.old))
    known = [oid for oid in dict.fromkeys((*local.values(), *moves)) if repository.has(oid)]
    here = {commit.oid: message_id_of(commit) for commit in walk_newest_first(repository, known) if not is_root(commit)}
    ids = {*here.values()}
    found: list[UnmergedBranch] = []
    for each in left_out:
        commits = walk_newest_first(repository, [each.tip], hidden={*here})
        heads = {head.id: head for head in map(header_of, (one for one in commits if not is_root(one)))}
        authors = dict.fromkeys(str(head.author) for name, head in heads.items() if name not in ids)
        number = len(heads.keys() - ids)
        found += [UnmergedBranch(each.branch, number, tuple(authors))] if number else []
    return tuple(found)


def describe_unmerged(branches: Iterable[UnmergedBranch]) -> str:
    """Return `2 messages by bob`."""
    rows = list(branches)
    number = sum(each.messages for each in rows)
    authors = dict.fromkeys(author for each in rows for author in each.authors)
    return f"{number} {plural(number, 'message')} by {first_few(authors)}"


def explain_unmerged(
    conversation: ConversationId,
    unmerged: Sequence[UnmergedBranch],
    remote: str,
    option: str,
    forced: Iterable[BranchName] = (),
) -> str:
    """Return why branches were not forced, with the commands that get, show or remove the messages.

    forced: the branches that the user has named
    """
    number = sum(each.messages for each in unmerged)
    what = "it" if number == 1 else "them"
    where = ", ".join(f"{each.messages} on {each.branch}" for each in unmerged)
    names = " ".join(quote(f"{conversation}/{branch}") for branch in sorted(forced)) or quote(conversation)
    see = f"scopes log {quote(conversation)}/{quote(remote)}/{quote(unmerged[0].branch)}"
    return (
        f"{remote} has {describe_unmerged(unmerged)} that no branch here ever had ({where}): "
        f"get {what}: scopes pull{option} {quote(conversation)}; see {what}: {see}; "
        f"remove {what} there: scopes push{option} {names} --force --yes"
    )
