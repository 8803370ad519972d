"""The core objects store > conversation > branch > revision > message: `StoreHandle(repository).branch("conv-001")`.

Handles hold names and read when asked, so they never go stale and are cheap to make. A Revision is a plain value.
Verbs are functions of `scopes.conversation`, which resolve their arguments with these handles; `scopes.api` extends
the handles with the verbs as methods.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scopes.errors import NotFound
from scopes.history.messages import MessageHeader, read_body, walk_headers_newest_first
from scopes.history.metadata import Metadata, read_metadata
from scopes.history.revisions import (
    MAIN,
    Revision,
    conversation_ids,
    list_branch_tips,
    read_active_branch,
    resolve_branch,
    resolve_branch_name,
    resolve_conversation,
    resolve_revision,
)
from scopes.ids import BranchName, ConversationId, Oid
from scopes.model.conversation import BranchEntry
from scopes.model.message import Message
from scopes.store.refs import branch_ref
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True)
class StoreHandle:
    """All conversations of a repository."""

    repository: Repository

    def conversations(self) -> Sequence[ConversationHandle]:
        """Return all conversations, sorted by id."""
        return [self._handle(conversation_id) for conversation_id in conversation_ids(self.repository)]

    def conversation(self, text: str) -> ConversationHandle:
        """Resolve a conversation by its id or a unique prefix; raises as `resolve_conversation` does."""
        return self._handle(resolve_conversation(self.repository, text))

    def _handle(self, conversation_id: ConversationId) -> ConversationHandle:
        return ConversationHandle(self.repository, conversation_id)

    def branch(self, conversation: str, branch: str | None = None) -> BranchHandle:
        """Resolve a conversation, or `CONV/BRANCH`, and a branch in it; raises as `resolve_branch` does."""
        conversation_id, name = resolve_branch(self.repository, conversation, branch)
        return BranchHandle(self._handle(conversation_id), name)

    def revision(self, text: str) -> Revision:
        """Resolve a revision such as `conv-001/main~2`, a message id or a tag; raises as `resolve_revision` does."""
        return resolve_revision(self.repository, text)


@dataclass(frozen=True, slots=True)
class ConversationHandle:
    """One conversation."""

    repository: Repository
    id: ConversationId

    @property
    def metadata(self) -> Metadata:
        """Title, tags and branch entries."""
        return read_metadata(self.repository, self.id)

    @property
    def tips(self) -> dict[BranchName, Oid]:
        """The tip of each branch, sorted by name."""
        return list_branch_tips(self.repository, self.id)

    @property
    def active_branch(self) -> BranchHandle:
        """The branch that messages go to if none is named."""
        return BranchHandle(self, read_active_branch(self.repository, self.id))

    def branches(self) -> Sequence[BranchHandle]:
        """Return all branches, sorted by name."""
        return [BranchHandle(self, name) for name in self.tips]

    def branch(self, text: str | None = None) -> BranchHandle:
        """Resolve a branch by name or unique prefix (default: the active one); raises as `resolve_branch_name` does."""
        return BranchHandle(self, resolve_branch_name(self.repository, self.id, text))

    def revision(self, text: str) -> Revision:
        """Resolve a revision of this conversation; raises as `resolve_revision` does."""
        return resolve_revision(self.repository, text, self.id)


@dataclass(frozen=True, slots=True)
class BranchHandle:
    """One branch of a conversation."""

    conversation: ConversationHandle
    name: BranchName

    def __str__(self) -> str:
        return f"{self.conversation.id}/{self.name}"

    @property
    def repository(self) -> Repository:
        """The repository of the conversation."""
        return self.conversation.repository

    @property
    def tip(self) -> Oid:
        """The newest commit.

        Raises:
            NotFound: the branch was deleted.
        """
        value = self.repository.find_ref(branch_ref(self.conversation.id, self.name))
        if value is None:
            raise NotFound(f"branch {self} no longer exists", hint="restore it: scopes undo")
        return Oid(value)

    @property
    def revision(self) -> Revision:
        """The revision at the tip."""
        return Revision(self.conversation.id, self.name, self.tip)

    @property
    def entry(self) -> BranchEntry:
        """The metadata entry; an empty one if there is none."""
        return self.conversation.metadata.branches.get(self.name, BranchEntry())

    @property
    def parent(self) -> BranchName | None:
        """The branch that this one was forked from; main if that is unknown or was deleted; None for main itself."""
        parent = self.entry.parent
        found = parent if parent is not None and parent in self.conversation.tips else MAIN
        return None if found == self.name else found

    def headers(self) -> Iterator[MessageHeader]:
        """Yield the headers of the messages, newest first; no body is read."""
        return walk_headers_newest_first(self.repository, [self.tip])

    def messages(self) -> Iterator[Message]:
        """Yield the messages, newest first."""
        return (read_body(self.repository, head) for head in self.headers())
