"""Find a conversation by the beginning of the id of its root commit: one of this store, or one that a remote has.

Commands call this for every unknown name, so the modules that fetch a conversation are not imported here.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from scopes.errors import Ambiguous
from scopes.history.names import may_be_root
from scopes.ids import ConversationId, Oid
from scopes.store.repository import Repository
from scopes.sync.local_conversations import list_roots
from scopes.sync.manifest_list import ListedConversation, read_manifest_list
from scopes.sync.remotes import Remote, list_remotes
from scopes.sync.seen_conversations import add_seen

_SHORT_ROOT: Final = 12


class FoundElsewhere(NamedTuple):
    """A conversation that a remote has and this store has not."""

    remote: Remote
    listed: ListedConversation

    @property
    def short_root(self) -> str:
        """The beginning of the id of its root commit, by which it is named."""
        return self.listed.name.root[:_SHORT_ROOT]


def find_by_root(repository: Repository, text: str, directory: str) -> ConversationId | FoundElsewhere | None:
    """Find a conversation by the beginning of the id of its root commit: one of this store, or of a remote's list.

    Raises:
        Ambiguous: there are several.
    """
    if not may_be_root(text):
        return None
    here = list_roots(repository, text)
    there: dict[Oid, FoundElsewhere] = {}
    for remote in list_remotes(repository):
        listed = add_seen(repository, remote.name, read_manifest_list(directory, remote), prefix=text)
        for root, each in {} if listed is None else listed.conversations.items():
            if root.startswith(text) and root not in here:
                there.setdefault(root, FoundElsewhere(remote, each))
    if len(here) + len(there) > 1:
        raise Ambiguous(f"{len(here) + len(there)} conversations begin with {text}", hint="give more digits")
    for found in there.values():
        return found
    return next(iter(here.values()), None)
