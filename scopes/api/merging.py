"""The methods of a conversation that merge, rebase and cherry-pick, ask for merges, and resolve conflicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from scopes.history.handles import ConversationHandle
from scopes.history.messages import check_author
from scopes.model.message import Author

if TYPE_CHECKING:
    from scopes.conversation.conflicts import ConflictList, ConflictView
    from scopes.conversation.merge_outcomes import MergeAborted, MergeOutcome
    from scopes.conversation.merge_requests import (
        MergeRequestChanged,
        MergeRequestList,
        MergeRequestView,
    )
    from scopes.conversation.resolve import ConflictResolved
    from scopes.merge.automatic_resolution import MergeStrategy
    from scopes.merge.replay_control import ReplayAborted, ReplayOutcome
    from scopes.model.conflicts import ConflictSide


@dataclass(frozen=True, slots=True)
class MergingConversation(ConversationHandle):
    """A conversation whose branches can be merged and replayed; `author` is the default author of messages.

    A merge, rebase or cherry-pick that stops on conflicts returns an outcome, and makes its conflict-resolution branch
    the active one: a message appended without a branch goes there. Finish with `resolve` and `continue_...`, or with
    `abort_...`; both make the branch active that was active before.
    """

    author: Author

    def merge(
        self,
        source: str,
        *,
        target: str | None = None,
        strategy: MergeStrategy = "automatic",
        fast_forward: bool = True,
        message: str | None = None,
        dry_run: bool = False,
    ) -> MergeOutcome:
        """Merge a branch into another (default: the active one).

        strategy: what happens to conflicts: `automatic`, `ours` (the target's side), `theirs` or `manual`.
        fast_forward: move the target without a merge message if it has no messages of its own.
        message: the text of the merge message.

        The outcome is UpToDate, FastForwarded, Merged or MergeConflicted. A conflict is a result and no exception: the
        target is unchanged, and the conflict-resolution branch is the active one.
        """
        from scopes.conversation.merge import MergeOptions
        from scopes.conversation.merge import merge as merge_branches

        options = MergeOptions(strategy=strategy, fast_forward=fast_forward, message=message)
        return merge_branches(self.repository, self.id, source, target=target, options=options, dry_run=dry_run)

    def continue_merge(self, branch: str | None = None) -> MergeOutcome:
        """Finish a merge whose conflicts are resolved; `branch` is its conflict-resolution branch if there are several.

        The outcome is Merged; or MergeConflicted, if the target received messages with new conflicts in the meantime.
        """
        from scopes.conversation.merge import continue_merge

        return continue_merge(self.repository, self.id, branch)

    def abort_merge(self, branch: str | None = None) -> MergeAborted:
        """Delete the conflict-resolution branch of a merge; the target is unchanged."""
        from scopes.conversation.merge import abort_merge

        return abort_merge(self.repository, self.id, branch)

    def merge_requests(self, *, state: str | None = None) -> MergeRequestList:
        """Return the merge requests, newest first: the open ones, or those in a state.

        state: `open`, `merged`, `closed` or `all`.
        """
        from scopes.conversation.merge_requests import list_merge_requests

        return list_merge_requests(self.repository, self.id, state=state)

    def merge_request(self, request: str | int) -> MergeRequestView:
        """Return a merge request, by number, id or unique prefix, and what its merge would do now."""
        from scopes.conversation.merge_requests import show_merge_request

        return show_merge_request(self.repository, self.id, str(request))

    def open_merge_request(
        self, source: str, title: str, *, target: str = "main", message: str = "", author: Author | str | None = None
    ) -> MergeRequestChanged:
        """Ask for the branch `source` to be merged into `target`; nothing is merged yet.

        title: one line of at most 200 characters.
        message: a longer description.
        """
        from scopes.conversation.merge_requests import open_merge_request

        who = self._author(author)
        return open_merge_request(
            self.repository, self.id, source, title=title, target=target, message=message, requester=who
        )

    def merge_merge_request(
        self,
        request: str | int,
        *,
        strategy: MergeStrategy = "automatic",
        fast_forward: bool = True,
        message: str | None = None,
    ) -> MergeOutcome:
        """Merge the branch of a merge request; options and outcome are those of `merge`."""
        from scopes.conversation.merge import MergeOptions
        from scopes.conversation.merge_requests import merge_request as merge_requested_branch

        options = MergeOptions(strategy=strategy, fast_forward=fast_forward, message=message)
        return merge_requested_branch(self.repository, self.id, str(request), options=options)

    def close_merge_request(
        self, request: str | int, reason: str = "", *, author: Author | str | None = None
    ) -> MergeRequestChanged:
        """Close a merge request without merging; its branch stays as it is."""
        from scopes.conversation.merge_requests import close_merge_request

        return close_merge_request(self.repository, self.id, str(request), reason=reason, author=self._author(author))

    def conflicts(self, *, status: str | None = None, include_all: bool = False) -> ConflictList:
        """Return the open conflicts.

        status: only those that are `open`, in `debate`, `escalated`, `resolved` or `aborted`.
        include_all: also those that have ended, however they were resolved.
        """
        from scopes.conversation.conflicts import list_conflicts

        return list_conflicts(self.repository, self.id, status=status, include_all=include_all)

    def conflict(self, conflict: str | int, *, patch: bool = True) -> ConflictView:
        """Return both sides of a conflict and the messages about it; `conflict` is its number, id or key.

        patch: of a file, also the diff of each side.
        """
        from scopes.conversation.conflicts import show_conflict

        return show_conflict(self.repository, self.id, str(conflict), patch=patch)

    def resolve(
        self,
        conflict: str | int,
        *,
        take: ConflictSide | Literal["ours", "theirs"] | None = None,
        value: str | None = None,
        as_before: bool = False,
        reason: str = "",
        author: Author | str | None = None,
        continue_after: bool = False,
    ) -> ConflictResolved:
        """Resolve a conflict, named by its number, id or key: take a side, give another value, or as before.

        take: `source`, `target`, `base` or `both`; `ours` is the target, `theirs` the source.
        value: a text, or JSON for the value of a field.
        as_before: resolve it as it was resolved before, see `earlier` of the conflict.
        continue_after: finish the merge, rebase or cherry-pick if no conflict is open then; its outcome is `continued`.
        """
        from scopes.conversation.resolve import resolve_conflict

        return resolve_conflict(
            self.repository,
            self.id,
            str(conflict),
            take=take,
            value=value,
            as_before=as_before,
            reason=reason,
            author=self._author(author),
            continue_after=continue_after,
        )

    def rebase(
        self, onto: str, *, branch: str | None = None, from_base: bool = False, dry_run: bool = False
    ) -> ReplayOutcome:
        """Move the own messages of a branch (default: the active one) onto `onto`, a branch or any message.

        Its own messages are those after its fork point; with `from_base` all since the merge base with `onto`.
        The outcome is ReplayUpToDate, Replayed or ReplayConflicted.
        """
        from scopes.conversation.rebase import rebase as rebase_branch

        return rebase_branch(self.repository, self.id, onto=onto, branch=branch, from_base=from_base, dry_run=dry_run)

    def continue_rebase(self, branch: str | None = None) -> ReplayOutcome:
        """Continue a rebase whose conflicts are resolved; raises as `continue_merge` does."""
        from scopes.conversation.rebase import continue_rebase

        return continue_rebase(self.repository, self.id, branch)

    def skip_rebase(self, branch: str | None = None) -> ReplayOutcome:
        """Continue a rebase without the message that it stopped at."""
        from scopes.conversation.rebase import skip_rebase

        return skip_rebase(self.repository, self.id, branch)

    def abort_rebase(self, branch: str | None = None) -> ReplayAborted:
        """Delete the conflict-resolution branch of a rebase; the branch is unchanged."""
        from scopes.conversation.rebase import abort_rebase

        return abort_rebase(self.repository, self.id, branch)

    def cherry_pick(self, *messages: str, branch: str | None = None, dry_run: bool = False) -> ReplayOutcome:
        """Copy messages of other branches or conversations onto a branch (default: the active one).

        The outcome is ReplayUpToDate, Replayed or ReplayConflicted.
        """
        from scopes.conversation.cherry_pick import cherry_pick as pick_messages

        return pick_messages(self.repository, self.id, messages, branch=branch, dry_run=dry_run)

    def continue_cherry_pick(self, branch: str | None = None) -> ReplayOutcome:
        """Continue a cherry-pick whose conflicts are resolved; raises as `continue_merge` does."""
        from scopes.conversation.cherry_pick import continue_cherry_pick

        return continue_cherry_pick(self.repository, self.id, branch)

    def skip_cherry_pick(self, branch: str | None = None) -> ReplayOutcome:
        """Continue a cherry-pick without the message that it stopped at."""
        from scopes.conversation.cherry_pick import skip_cherry_pick

        return skip_cherry_pick(self.repository, self.id, branch)

    def abort_cherry_pick(self, branch: str | None = None) -> ReplayAborted:
        """Delete the conflict-resolution branch of a cherry-pick; the branch is unchanged."""
        from scopes.conversation.cherry_pick import abort_cherry_pick

        return abort_cherry_pick(self.repository, self.id, branch)

    def _author(self, author: Author | str | None) -> Author:
        return self.author if author is None else check_author(author)
