"""A conversation with the operations as methods; each one calls the operation that the command line calls.

Opening a store imports this module, so what merges, contexts and exports need is imported at the first call.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from scopes.api.message_fields import MessageFields, make_message
from scopes.conversation.amend import MessageAmended
from scopes.conversation.amend import amend as amend_message
from scopes.conversation.amend import retract as retract_message
from scopes.conversation.append import MessageAppended
from scopes.conversation.append import append as append_message
from scopes.conversation.branch import BranchCreated
from scopes.conversation.branch import branch as run_branch
from scopes.conversation.changes import Change
from scopes.conversation.changes import changes as walk_changes
from scopes.conversation.decisions import DecisionList
from scopes.conversation.decisions import decisions as list_decisions
from scopes.conversation.diff import Difference
from scopes.conversation.diff import diff as compare
from scopes.conversation.files import FileList
from scopes.conversation.files import files as list_files
from scopes.conversation.log import LogEntry, LogFilter
from scopes.conversation.log import log as walk_log
from scopes.conversation.rewind import BranchRewound
from scopes.conversation.rewind import rewind as rewind_branch
from scopes.conversation.show import ConversationView
from scopes.conversation.show import show as describe
from scopes.conversation.switch import BranchSwitched
from scopes.conversation.switch import switch as switch_branch
from scopes.conversation.tag import Tagged, TagList, delete_tag, list_tags
from scopes.conversation.tag import tag as tag_message
from scopes.conversation.withdraw import DecisionWithdrawn, withdraw_decision
from scopes.history.handles import BranchHandle, ConversationHandle
from scopes.history.messages import check_author
from scopes.history.revisions import read_active_branch, resolve_branch_name
from scopes.loading import deferred
from scopes.model.message import Author, Message, MessageKind
from scopes.store.discovery import cache_directory
from scopes.tokens.rank_files import rank_file_paths

if TYPE_CHECKING:
    from scopes.context.context import context as build_context
    from scopes.context.request import new_request
    from scopes.context.result import Context
    from scopes.conversation.cherry_pick import abort_cherry_pick, continue_cherry_pick, skip_cherry_pick
    from scopes.conversation.cherry_pick import cherry_pick as pick_messages
    from scopes.conversation.conflicts import ConflictList, ConflictView, list_conflicts, show_conflict
    from scopes.conversation.merge import MergeAborted, MergeOptions, MergeOutcome, abort_merge, continue_merge
    from scopes.conversation.merge import merge as merge_branches
    from scopes.conversation.rebase import abort_rebase, continue_rebase, skip_rebase
    from scopes.conversation.rebase import rebase as rebase_branch
    from scopes.conversation.resolve import ConflictResolved, ConflictSide, resolve_conflict
    from scopes.exporters.atomic_save import ExportSaved
    from scopes.exporters.atomic_save import save as save_export
    from scopes.exporters.export import Exported, ExportFormat
    from scopes.exporters.export import export as export_messages
    from scopes.merge.automatic_resolution import MergeStrategy
    from scopes.merge.replay_control import ReplayAborted, ReplayOutcome
    from scopes.tokens.choose import choose_tokenizer
    from scopes.tokens.models import resolve_model
else:
    build_context = deferred("scopes.context.context:context")
    new_request = deferred("scopes.context.request:new_request")
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
    abort_rebase = deferred("scopes.conversation.rebase:abort_rebase")
    continue_rebase = deferred("scopes.conversation.rebase:continue_rebase")
    skip_rebase = deferred("scopes.conversation.rebase:skip_rebase")
    rebase_branch = deferred("scopes.conversation.rebase:rebase")
    resolve_conflict = deferred("scopes.conversation.resolve:resolve_conflict")
    save_export = deferred("scopes.exporters.atomic_save:save")
    export_messages = deferred("scopes.exporters.export:export")
    choose_tokenizer = deferred("scopes.tokens.choose:choose_tokenizer")
    resolve_model = deferred("scopes.tokens.models:resolve_model")


@dataclass(frozen=True, slots=True)
class Branch(BranchHandle):
    """A branch of a `Conversation`, whose methods change it."""

    conversation: Conversation


@dataclass(frozen=True, slots=True)
class Conversation(ConversationHandle):
    """A conversation with the operations as methods; `author` is the default author of messages.

    Where a method takes an author, it is an `Author`, or the name of an agent as a text.

    A merge, rebase or cherry-pick that stops on conflicts returns an outcome, and makes its conflict-resolution branch
    the active one: a message appended without a branch goes there. Finish with `resolve` and `continue_...`, or with
    `abort_...`; both make the branch active that was active before.
    """

    author: Author

    @property
    def title(self) -> str | None:
        """The title, if it has one."""
        return self.metadata.title

    @property
    def active_branch(self) -> Branch:
        """The branch that messages go to if none is named."""
        return Branch(self, read_active_branch(self.repository, self.id))

    def branches(self) -> Sequence[Branch]:
        """Return all branches, sorted by name."""
        return [Branch(self, name) for name in self.tips]

    def branch(self, text: str | None = None) -> Branch:
        """Return a branch by its name or a unique prefix (default: the active one).

        Raises:
            NotFound, Ambiguous: no branch, or several, have this name.
        """
        return Branch(self, resolve_branch_name(self.repository, self.id, text))

    def show(self) -> ConversationView:
        """Return title, participants, branches with their sizes, and the last messages."""
        return describe(self.repository, self.id)

    def log(
        self,
        branch: str | None = None,
        *,
        limit: int | None = None,
        oldest_first: bool = False,
        only: LogFilter | None = None,
    ) -> Iterator[Message]:
        """Yield the messages of a branch (default: the active one), newest first, with their bodies.

        Raises:
            NotFound, Ambiguous: no branch, or several, have this name.
        """
        entries = walk_log(self.repository, self._name(branch), oldest_first=oldest_first, limit=limit, only=only).items
        return (entry.message for entry in entries if isinstance(entry, LogEntry) and entry.message is not None)

    def decisions(self) -> DecisionList:
        """Return the decisions of all branches, and whether each is in effect on the active one."""
        return list_decisions(self.repository, self.id)

    def files(self) -> FileList:
        """Return the files that the messages touched, the most recently touched first."""
        return list_files(self.repository, self.id)

    def changes(self, *, since: str | None = None, field: str | None = None) -> Iterator[Change]:
        """Yield every change of the conversation and its cause, oldest first.

        since: a date or a time span, such as `2026-01-31` or `2 hours ago`.
        field: only this field, such as `messages`, `branches.main` or `title`.

        Raises:
            Invalid: the date cannot be read.
        """
        items = walk_changes(self.repository, self.id, since=since, field=field).items
        return (item for item in items if isinstance(item, Change))

    def diff(self, left: str, right: str) -> Difference:
        """Compare two branches or messages of this conversation."""
        return compare(self.repository, self.id, f"{left}..{right}")

    def append(
        self,
        text: str,
        *,
        author: Author | str | None = None,
        kind: MessageKind = "plain",
        branch: str | None = None,
        **fields: Unpack[MessageFields],
    ) -> MessageAppended:
        """Append a message to a branch (default: the active one); it is on disk when this returns.

        author: an `Author`, or the name of an agent; default: the author of the store, a human unless set otherwise.

        Raises:
            TypeError: there is no such field.
            Invalid: a field is not valid, or does not belong to the kind of message.
            Refused: the text is blank, and there are neither parts nor the document of a typed kind.
            NotFound, Busy: the branch does not exist; the store is locked.
        """
        message = make_message(text, self._author(author), kind, fields)
        return append_message(self.repository, self.id, message, branch=branch)

    def amend(
        self,
        message: str,
        text: str,
        *,
        author: Author | str | None = None,
        branch: str | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> MessageAmended:
        """Replace the text of a message by appending a new message; the old one stays in the history.

        `data` is the new document of a typed message; without it what the message stated is withdrawn.

        Raises:
            NotFound: the message is not on the branch.
            Refused: it was retracted.
        """
        sender = self._author(author)
        return amend_message(self.repository, self.id, message, text, author=sender, branch=branch, data=data)

    def retract(
        self, message: str, reason: str = "", *, author: Author | str | None = None, branch: str | None = None
    ) -> MessageAmended:
        """Mark a message as retracted: contexts and summaries leave it out.

        Raises:
            NotFound: the message is not on the branch.
            Refused: it was retracted already.
        """
        return retract_message(self.repository, self.id, message, reason, author=self._author(author), branch=branch)

    def withdraw_decision(
        self, topic: str, reason: str = "", *, author: Author | str | None = None, branch: str | None = None
    ) -> DecisionWithdrawn:
        """Withdraw the decision on a topic, in any spelling, by appending a new message.

        Raises:
            NotFound: no decision on the topic is in effect on the branch.
        """
        sender = self._author(author)
        return withdraw_decision(self.repository, self.id, topic, reason=reason, author=sender, branch=branch)

    def create_branch(
        self, name: str | None = None, *, purpose: str | None = None, agent: str | None = None, start: str | None = None
    ) -> BranchCreated:
        """Create a branch at `start` (default: the active branch's tip) and make it the active one.

        Raises:
            Invalid, Refused: the name or purpose is not valid, or the name is taken.
        """
        return run_branch(self.repository, self.id, name=name, purpose=purpose, agent=agent, start=start)

    def switch(self, branch: str) -> BranchSwitched:
        """Make another branch the active one.

        Raises:
            NotFound, Ambiguous: no branch, or several, have this name.
        """
        return switch_branch(self.repository, self.id, branch)

    def rewind(self, *, to: str | None = None, count: int | None = None, branch: str | None = None) -> BranchRewound:
        """Move a branch (default: the active one) back to the message `to`, or by `count` messages (default: 1).

        Raises:
            NotFound, Ambiguous: there is no such message or branch.
            Refused, Invalid: the message is not on the branch, or it has fewer messages.
        """
        return rewind_branch(self.repository, self.id, branch=branch, to=to, count=count)

    def tag(self, name: str, message: str | None = None) -> Tagged:
        """Tag a message (default: the last one of the active branch).

        Raises:
            Invalid, Refused: the name is not valid, or it is taken.
            NotFound, Ambiguous: there is no such message.
        """
        return tag_message(self.repository, self.id, name, message)

    def tags(self) -> TagList:
        """Return the tags with their messages."""
        return list_tags(self.repository, self.id)

    def delete_tag(self, name: str) -> Tagged:
        """Delete a tag.

        Raises:
            NotFound: there is no such tag.
        """
        return delete_tag(self.repository, self.id, name)

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

    def conflicts(self) -> ConflictList:
        """Return the open conflicts."""
        return list_conflicts(self.repository, self.id)

    def conflict(self, conflict: str | int) -> ConflictView:
        """Return both sides of a conflict and what was said about it; `conflict` is its id or number.

        Raises:
            NotFound, Ambiguous: there is no such conflict.
        """
        return show_conflict(self.repository, self.id, str(conflict))

    def resolve(
        self,
        conflict: str | int,
        *,
        take: ConflictSide | None = None,
        value: str | None = None,
        as_before: bool = False,
        reason: str = "",
        author: Author | str | None = None,
    ) -> ConflictResolved:
        """Resolve a conflict, named by its id or number: take a side, give another value, or repeat what was decided.

        take: `source`, `target`, `base` or `both`.
        value: a text, or JSON for the value of a field.
        as_before: resolve it as the same question was resolved before, see `decided_before` of the conflict.

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
        )

    def rebase(self, onto: str, *, branch: str | None = None, dry_run: bool = False) -> ReplayOutcome:
        """Move the own messages of a branch (default: the active one) onto `onto`, a branch or any message.

        The outcome is ReplayUpToDate, Replayed or ReplayConflicted.

        Raises:
            NotFound, Ambiguous: there is no such branch or message.
            Refused: the branch takes part in something in progress, or has a merge that cannot be replayed.
        """
        return rebase_branch(self.repository, self.id, onto=onto, branch=branch, dry_run=dry_run)

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

    def export(
        self,
        format: ExportFormat = "markdown",  # noqa: A002
        *,
        branch: str | None = None,
        all_branches: bool = False,
        source: str | None = None,
    ) -> Exported:
        """Export a branch (default: the active one) or all; the content is `pieces`, read from the store once.

        format: `original` are the imported files, byte for byte.
        source: the original file, if there are several.

        Raises:
            NotFound, Ambiguous, Invalid: the branch, the format or the source does not exist.
            Refused: there are no original bytes.
        """
        where = self._name(branch)
        return export_messages(self.repository, where, format_name=format, all_branches=all_branches, source=source)

    def save(
        self,
        path: str | os.PathLike[str],
        format: ExportFormat = "markdown",  # noqa: A002
        *,
        branch: str | None = None,
        force: bool = False,
    ) -> ExportSaved:
        """Export to a file, or to a directory for several original files; an existing file is kept without `force`.

        Raises as `export` does, and:
            Refused: the file exists.
            Inaccessible: it cannot be written.
        """
        return save_export(self.export(format, branch=branch), os.fspath(path), force=force)

    def context(
        self,
        branch: str | None = None,
        *,
        max_tokens: int | None = None,
        task: str | None = None,
        model: str | None = None,
        project: str | os.PathLike[str] | None = None,
    ) -> Context:
        """Build a context of at most `max_tokens` tokens: the newest turns, or the most relevant ones for a task.

        max_tokens: default: the content part of the model's window, 4000 for a task, or 8000.
        project: the directory whose files may be embedded; None: no file is read.

        Raises:
            Invalid: the budget is negative or the task has no words.
        """
        repository = self.repository
        row = None if model is None else resolve_model(model, repository.config.walk())
        request = new_request(
            repository.config,
            row,
            where=self._name(branch),
            max_tokens=max_tokens,
            task=task,
            project="" if project is None else os.fspath(project),
        )
        tokenizer = choose_tokenizer(rank_file_paths(os.environ), row)
        return build_context(repository, request, tokenizer, cache_directory(os.environ))

    def _name(self, branch: str | None) -> str:
        """Return the name of a branch, or of the active one, as a revision."""
        return self.id if branch is None else f"{self.id}/{branch}"

    def _author(self, author: Author | str | None) -> Author:
        return self.author if author is None else check_author(author)
