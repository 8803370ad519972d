"""Find original files with messages that are held back because their session may still grow: the files are, too."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property

from scopes.history.messages import message_id_of
from scopes.history.names import list_branch_tips
from scopes.history.sessions import OpenTips
from scopes.history.sources import SourceInSet, walk_spans
from scopes.ids import ConversationId, MessageId, Oid
from scopes.store.graph import is_ancestor
from scopes.store.repository import Objects, Repository, read_commit
from scopes.sync.local_conversations import list_roots
from scopes.sync.manifest import read_manifest
from scopes.sync.names import tracking_ref


class HeldBack:
    """Finds the messages that are not sent, and the original files that contain them.

    open_tips: which last messages may leave
    family: the names of all repositories of the remote, which may have had more
    """

    def __init__(self, repository: Repository, open_tips: OpenTips, family: Collection[str] = ()) -> None:
        self._repository = repository
        self._open_tips = open_tips
        self._family = family
        self._messages: dict[Oid, frozenset[MessageId]] = {}

    def are_in(self, objects: Objects, source: SourceInSet) -> bool:
        """Return True if records of an original file became messages that are held back."""
        roots = {source.record.root, *source.record.more_roots}
        held = frozenset[MessageId]().union(*map(self._list_held, roots))
        return bool(held) and next(walk_spans(objects, source.commit, held), None) is not None

    def _list_held(self, root: Oid) -> frozenset[MessageId]:
        """Return the messages of a conversation that are held back; none if it is not here."""
        if root not in self._messages:
            conversation = self._conversations.get(root)
            held = () if conversation is None else self._walk_held(root, conversation)
            self._messages[root] = frozenset(held)
        return self._messages[root]

    def _walk_held(self, root: Oid, conversation: ConversationId) -> Iterator[MessageId]:
        tips = list_branch_tips(self._repository, conversation).values()
        shared = {tip: self._open_tips.shared_tip(tip) for tip in tips}
        if all(tip == each for tip, each in shared.items()):
            return
        ends = [*dict.fromkeys((*shared.values(), *self._walk_remote_tips(root)))]
        for tip, end in shared.items():
            place = tip
            while place != end and not any(is_ancestor(self._repository, place, each) for each in ends):
                commit = read_commit(self._repository, place)
                yield message_id_of(commit)
                place = commit.parents[0]

    def _walk_remote_tips(self, root: Oid) -> Iterator[Oid]:
        """Yield the tips that the remote has of a conversation, if these are here."""
        for name in self._family:
            value = self._repository.find_ref(tracking_ref(name, root))
            if value is not None:
                branches = read_manifest(self._repository, Oid(value)).manifest.branches.values()
                yield from (branch.tip for branch in branches if self._repository.has(branch.tip))

    @cached_property
    def _conversations(self) -> dict[Oid, ConversationId]:
        return list_roots(self._repository)
