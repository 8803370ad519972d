"""The methods of a conversation that merge, rebase and cherry-pick, ask for merges, and resolve conflicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from scopes.history.handles import ConversationHandle
from scopes.history.messages import check_author
from scopes.loading import deferred
from scopes.model.message import Author

if TYPE_CHECKING:
    from scopes.conversation.cherry_pick import abort_cherry_pick, continue_cherry_pick, skip_cherry_pick
    from scopes.conversation.cherry_pick import cherry_pick as pick_messages
    from scopes.conversation.conflicts import ConflictList, ConflictView, list_conflicts, show_conflict
    from scopes.conversation.merge import MergeOptions, abort_merge, continue_merge
    from scopes.conversation.merge import merge as merge_branches
    from scopes.conversation.merge_outcomes import MergeAborted, MergeOutcome
    from scopes.conversation.merge_requests import (
        MergeRequestChanged,
        MergeRequestList,
        MergeRequestView,
        close_merge_request,
        list_merge_requests,
        open_merge_request,
        show_merge_request,
    )
    from scopes.conversation.merge_requests import merge_request as merge_requested_branch
    from scopes.conversation.rebase import abort_rebase, continue_rebase, skip_rebase
    from scopes.conversation.rebase import rebase as rebase_branch
    from scopes.conversation.resolve import ConflictResolved, resolve_conflict
    from scopes.merge.automatic_resolution import MergeStrategy
    from scopes.merge.replay_control import ReplayAborted, ReplayOutcome
    from scopes.model.conflicts import ConflictSide
else:
    abort_cherry_pick = deferred("scopes.conversation.cherry_pick:abort_cherry_pick")
    continue_cherry_pick = deferred("scopes.conversation.cherry_pick:continue_cherry_pick")
    skip_cherry_pick = deferred("scopes.conversation.cherry_pick:skip_cherry_pick")
    pick_messages = deferred("scopes.conversation.cherry_pick:cherry_pick")
    list_conflicts = deferred("scopes.conversation.conflicts:list_conflicts")
    show_conflict = deferred("scopes.conversation.conflicts:show_conflict")
    MergeOptions = deferred("scopes.conversation.merge:MergeOptions")
    abort_merge = deferred("scopes.conversation.merge:abort_merge")
    continue_merge = deferred("scopes.conversation.merge:continue_merge")
    merge_branches = deferred("scopes.conversation.merge:merge")
    close_merge_request = deferred("scopes.conversation.merge_requests:close_merge_request")
    list_merge_requests = deferred("scopes.conversation.merge_requests:list_merge_requests")
    merge_requested_branch = deferred("scopes.conversation.merge_requests:merge_request")
    open_merge_request = deferred("scopes.conversation.merge_requests:open_merge_request")
    show_merge_request = deferred("scopes.conversation.merge_requests:show_merge_request")
    abort_rebase = deferred("scopes.conversation.rebase:abort_rebase")
    continue_rebase = deferred("scopes.conversation.rebase:continue_rebase")
    skip_rebase = deferred("scopes.conversation.rebase:skip_rebase")
    rebase_branch = deferred("scopes.conversation.rebase:rebase")
    resolve_conflict = deferred("scopes.conversation.resolve:resolve_conflict")


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

        Raises:
            NotFound, Ambiguous, Invalid: a branch or the strategy does not exist.
            Refused: the histories have nothing in common, or a rule forbids the merge.
        """
        options = MergeOptions(strategy=strategy, fast_forward=fast_forward, message=message)
        return merge_branches(self.repository, self.id, source, target=target, options=options, dry_run=dry_run)

    def continue_merge(self, branch: str | None = None) -> MergeOutcome:
        """Finish a merge whose conflicts are resolved; `branch` is its conflict-resolution branch if there are several.

        The outcome is Merged; or MergeConflicted, if the target received messages with new conflicts in the meantime.

        Raises:
            NotFound, Ambiguous: no merge is in progress, or several are.
            Conflicted: a conflict is still open.
        """
        return continue_merge(self.repository, self.id, branch)

    def abort_merge(self, branch: str | None = None) -> MergeAborted:
        """Delete the conflict-resolution branch of a merge; the target is unchanged.

        Raises:
            NotFound, Ambiguous: no merge is in progress, or several are.
        """
        return abort_merge(self.repository, self.id, branch)

    def merge_requests(self, *, state: str | None = None) -> MergeRequestList:
        """Return the merge requests, newest first: the open ones, or those in a state.

        state: `open`, `merged`, `closed` or `all`.

        Raises:
            Invalid: there is no such state.
        """
        return list_merge_requests(self.repository, self.id, state=state)

    def merge_request(self, request: str | int) -> MergeRequestView:
        """Return a merge request and what its merge would do now; `request` is its number, its id or a unique prefix.

        Raises:
            NotFound, Ambiguous: there is no such request, or several.
        """
        return show_merge_request(self.repository, self.id, str(request))

    def open_merge_request(
        self, source: str, title: str, *, target: str = "main", message: str = "", author: Author | str | None = None
    ) -> MergeRequestChanged:
        """Ask for the branch `source` to be merged into `target`; nothing is merged yet.

        title: one line of at most 200 characters.
        message: a longer description.

        Raises:
            NotFound, Ambiguous: there is no such branch.
            Invalid: the branches are the same, or the title is empty or too long.
            Refused: there is nothing to merge, or such a request is open.
        """
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
        """Merge the branch of a merge request; options and outcome are those of `merge`.

        Raises as `merge` does, and:
            NotFound, Ambiguous: there is no such request, or several; or one of its branches does not exist.
            Refused: the request is closed or merged.
        """
        options = MergeOptions(strategy=strategy, fast_forward=fast_forward, message=message)
        return merge_requested_branch(self.repository, self.id, str(request), options=options)

    def close_merge_request(
        self, request: str | int, reason: str = "", *, author: Author | str | None = None
    ) -> MergeRequestChanged:
        """Close a merge request without merging; its branch stays as it is.

        Raises:
            NotFound, Ambiguous: there is no such request, or several.
            Refused: it is not open.
        """
        return close_merge_request(self.repository, self.id, str(request), reason=reason, author=self._author(author))

    def conflicts(self, *, status: str | None = None, include_all: bool = False) -> ConflictList:
        """Return the open conflicts.

        status: only those that are `open`, in `debate`, `escalated`, `resolved` or `aborted`.
        include_all: also those that have ended, however they were resolved.

        Raises:
            Invalid: there is no such status.
        """
        return list_conflicts(self.repository, self.id, status=status, include_all=include_all)

    def conflict(self, conflict: str | int, *, patch: bool = True) -> ConflictView:
        """Return both sides of a conflict and the messages about it; `conflict` is its number, id or key.

        patch: of a file, also the diff of each side.

        Raises:
            NotFound, Ambiguous: there is no such conflict.
        """
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

        Raises:
            NotFound, Ambiguous: there is no such conflict.
            Refused: it is resolved already; or it was not resolved before, or in ways that contradict each other.
            Invalid: none or several of the three are given, or the key cannot have the value.
        """
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

        Raises:
            NotFound, Ambiguous: there is no such branch or message.
            Refused: the branch takes part in something in progress, or has a merge that cannot be replayed.
        """
        return rebase_branch(self.repository, self.id, onto=onto, branch=branch, from_base=from_base, dry_run=dry_run)

    def continue_rebase(self, branch: str | None = None) -> ReplayOutcome:
        """Continue a rebase whose conflicts are resolved; raises as `continue_merge` does."""
        return continue_rebase(self.repository, self.id, branch)

    def skip_rebase(self, branch: str | None = None) -> ReplayOutcome:
        """Continue a rebase without the message that it stopped at."""
        return skip_rebase(self.repository, self.id, branch)

    def abort_rebase(self, branch: str | None = None) -> ReplayAborted:
        """Delete the conflict-resolution branch of a rebase; the branch is unchanged."""
        return abort_rebase(self.repository, self.id, branch)

    def cherry_pick(self, *messages: str, branch: str | None = None, dry_run: bool = False) -> ReplayOutcome:
        """Copy messages of other branches or conversations onto a branch (default: the active one).

        The outcome is ReplayUpToDate, Replayed or ReplayConflicted.

        Raises:
            NotFound, Ambiguous: there is no such branch or message.
            Refused: the branch takes part in something in progress, or a message cannot be copied.
        """
        return pick_messages(self.repository, self.id, messages, branch=branch, dry_run=dry_run)

    def continue_cherry_pick(self, branch: str | None = None) -> ReplayOutcome:
        """Continue a cherry-pick whose conflicts are resolved; raises as `continue_merge` does."""
        return continue_cherry_pick(self.repository, self.id, branch)

    def skip_cherry_pick(self, branch: str | None = None) -> ReplayOutcome:
        """Continue a cherry-pick without the message that it stopped at."""
        return skip_cherry_pick(self.repository, self.id, branch)

    def abort_cherry_pick(self, branch: str | None = None) -> ReplayAborted:
        """Delete the conflict-resolution branch of a cherry-pick; the branch is unchanged."""
        return abort_cherry_pick(self.repository, self.id, branch)

    def _author(self, author: Author | str | None) -> Author:
        return self.author if author is None else check_author(author)
