"""A conversation with the operations as methods; each one calls the operation that the command line calls.

Opening a store imports this module, so what merges, contexts and exports need is imported at the first call.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from scopes.api.collaborating import CollaboratingConversation
from scopes.api.message_fields import MessageFields, make_message
from scopes.conversation.amend import MessageAmended
from scopes.conversation.amend import amend as amend_message
from scopes.conversation.amend import retract as retract_message
from scopes.conversation.append import MessageAppended
from scopes.conversation.append import append as append_message
from scopes.conversation.branch import BranchCreated
from scopes.conversation.branch import branch as run_branch
from scopes.conversation.change import Change
from scopes.conversation.changes import changes as walk_changes
from scopes.conversation.decisions import DecisionList
from scopes.conversation.decisions import decisions as list_decisions
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
from scopes.history.handles import BranchHandle
from scopes.history.revisions import read_active_branch, resolve_branch_name
from scopes.model.message import Author, Message, MessageKind
from scopes.tokens.rank_files import rank_file_paths

if TYPE_CHECKING:
    from scopes.exporters.atomic_save import ExportSaved
    from scopes.exporters.export import Exported, ExportFormat
    from scopes.handover.checkout import CheckedOut
    from scopes.memory.decision_candidates import (
        CandidateDismissed,
        CandidateList,
        DecisionAccepted,
    )
    from scopes.memory.uncompact import Uncompacted
    from scopes.secret_scan.clearance import Mode
    from scopes.usage.usage import By, Usage


@dataclass(frozen=True, slots=True)
class Branch(BranchHandle):
    """A branch of a `Conversation`, whose methods change it."""

    conversation: Conversation


@dataclass(frozen=True, slots=True)
class Conversation(CollaboratingConversation):
    """A conversation with the operations as methods; `author` is the default author of messages.

    Where a method takes an author, it is an `Author`, or the name of an agent as a text.
    """

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
        """Return a branch by its name or a unique prefix (default: the active one)."""
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
        """Yield the messages of a branch (default: the active one), newest first, with their bodies."""
        entries = walk_log(self.repository, self._name(branch), oldest_first=oldest_first, limit=limit, only=only).items
        return (entry.message for entry in entries if isinstance(entry, LogEntry) and entry.message is not None)

    def decisions(self, branch: str | None = None) -> DecisionList:
        """Return the decisions of all branches, parents first, and whether each is in effect on the active one.

        branch: only those in the history of this branch, with their state there.
        """
        return list_decisions(self.repository, self._name(branch))

    def decision_candidates(self, branch: str | None = None) -> CandidateList:
        """Return the sentences that seem to state a decision and are neither accepted nor dismissed, oldest first.

        branch: only those in the history of this branch.
        """
        from scopes.memory.decision_candidates import list_candidates

        return list_candidates(self.repository, self._name(branch))

    def accept_decision(
        self,
        candidate: str,
        *,
        topic: str | None = None,
        author: Author | str | None = None,
        branch: str | None = None,
    ) -> DecisionAccepted:
        """Append a decision with the text of a candidate, named by its id or a unique prefix.

        topic: default: words of the sentence.
        branch: the branch to append to; default: the candidate's.
        """
        from scopes.memory.decision_candidates import accept_candidate

        who = self._author(author)
        return accept_candidate(self.repository, self.id, candidate, topic=topic, author=who, branch=branch)

    def dismiss_decision(
        self, candidate: str, reason: str = "", *, author: Author | str | None = None
    ) -> CandidateDismissed:
        """Take a candidate off the list; its message stays as it is."""
        from scopes.memory.decision_candidates import dismiss_candidate

        return dismiss_candidate(self.repository, self.id, candidate, reason=reason, author=self._author(author))

    def files(self) -> FileList:
        """Return the files that the messages touched, the most recently touched first."""
        return list_files(self.repository, self.id)

    def changes(self, *, since: str | None = None, field: str | None = None) -> Iterator[Change]:
        """Yield every change of the conversation and its cause, oldest first.

        since: a date or a time span, such as `2026-01-31` or `2 hours ago`.
        field: only this field, such as `messages`, `branches.main` or `title`.
        """
        items = walk_changes(self.repository, self.id, since=since, field=field).items
        return (item for item in items if isinstance(item, Change))

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
        """
        sender = self._author(author)
        return amend_message(self.repository, self.id, message, text, author=sender, branch=branch, data=data)

    def retract(
        self, message: str, reason: str = "", *, author: Author | str | None = None, branch: str | None = None
    ) -> MessageAmended:
        """Mark a message as retracted: contexts and summaries leave it out."""
        return retract_message(self.repository, self.id, message, reason, author=self._author(author), branch=branch)

    def withdraw_decision(
        self,
        topic: str,
        reason: str = "",
        *,
        author: Author | str | None = None,
        branch: str | None = None,
        dry_run: bool = False,
    ) -> DecisionWithdrawn:
        """Withdraw the decision on a topic, in any spelling, by appending a new message.

        dry_run: return what would be withdrawn, and change nothing.
        """
        who = self._author(author)
        return withdraw_decision(
            self.repository, self.id, topic, reason=reason, author=who, branch=branch, dry_run=dry_run
        )

    def uncompact(
        self,
        branch: str | None = None,
        *,
        only_last: bool = False,
        reason: str = "",
        author: Author | str | None = None,
        dry_run: bool = False,
    ) -> Uncompacted:
        """Make contexts of a branch (default: the active one) start at the first message, not at a compaction.

        The compactions stay in the history, each with a notice that retracts it.

        only_last: contexts start at the compaction before the last one.
        reason: the text of the notices.
        dry_run: return the compactions, and change nothing.
        """
        from scopes.memory.uncompact import uncompact as uncompact_branch

        who, where = self._author(author), self._name(branch)
        return uncompact_branch(self.repository, where, reason=reason, author=who, only_last=only_last, dry_run=dry_run)

    def create_branch(
        self, name: str | None = None, *, purpose: str | None = None, agent: str | None = None, start: str | None = None
    ) -> BranchCreated:
        """Create a branch at `start` (default: the active branch's tip) and make it the active one."""
        return run_branch(self.repository, self.id, name=name, purpose=purpose, agent=agent, start=start)

    def switch(self, branch: str) -> BranchSwitched:
        """Make another branch the active one."""
        return switch_branch(self.repository, self.id, branch)

    def rewind(self, *, to: str | None = None, count: int | None = None, branch: str | None = None) -> BranchRewound:
        """Move a branch (default: the active one) back to the message `to`, or by `count` messages (default: 1)."""
        return rewind_branch(self.repository, self.id, branch=branch, to=to, count=count)

    def tag(self, name: str, message: str | None = None) -> Tagged:
        """Tag a message (default: the last one of the active branch)."""
        return tag_message(self.repository, self.id, name, message)

    def tags(self) -> TagList:
        """Return the tags with their messages."""
        return list_tags(self.repository, self.id)

    def delete_tag(self, name: str) -> Tagged:
        """Delete a tag."""
        return delete_tag(self.repository, self.id, name)

    def usage(
        self,
        by: By | Sequence[By] = "model",
        *,
        since: str | None = None,
        until: str | None = None,
        model: str | None = None,
        agent: str | None = None,
        utc: bool = False,
        prices: str | os.PathLike[str] | None = None,
    ) -> Usage:
        """Return the tokens and the cost of the model answers of all branches; options as of `Store.usage`."""
        from scopes.api.counting import count_usage

        return count_usage(
            self.repository, by, conversations=[self.id], since=since, until=until, model=model, agent=agent,
            utc=utc, prices=prices,
        )  # fmt: skip

    def checkout(
        self,
        agent: str,
        *,
        branch: str | None = None,
        directory: str | os.PathLike[str] | None = None,
        max_tokens: int | None = None,
        full: bool = False,
        reasoning: bool = False,
        secrets: Mode = "refuse",
        dry_run: bool = False,
    ) -> CheckedOut:
        """Write a branch (default: the active one) as a session of another agent, as `scopes checkout --to` does.

        The agent is not started: `command` and `shell` of the result go on with the session, and an import puts what
        the agent adds on the branch `new_branch`.

        agent: `claude-code`, `codex`, `gemini`, `llm`, `opencode`, `pi` or `qwen`.
        directory: where the agent works; default: where the conversation was, or the current directory.
        max_tokens: of the history; default: what the agent's usual models have room for.
        full: all messages, not those since the last compaction.
        reasoning: quote the reasoning in the answers.
        secrets: what becomes of possible secrets: `refuse`, `redact` or `allow`.
        dry_run: return what would be written, and write nothing.
        """
        from scopes.handover.checkout import CheckoutRequest, plan_checkout
        from scopes.handover.checkout import checkout as write_session
        from scopes.handover.resume import User
        from scopes.tokens.choose import choose_tokenizer

        user = User(os.environ, os.path.expanduser("~"))
        request = CheckoutRequest(
            where=self._name(branch),
            agent=agent,
            directory=None if directory is None else os.fspath(directory),
            here=os.getcwd(),
            max_tokens=max_tokens,
            full=full,
            reasoning=reasoning,
            secrets=secrets,
        )
        plan = plan_checkout(self.repository, request, choose_tokenizer(rank_file_paths(os.environ), None), user)
        return write_session(plan, user, dry_run=dry_run)

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
        """
        from scopes.exporters.export import export as export_messages
        from scopes.importers.program_versions import find_program_versions

        where = self._name(branch)
        return export_messages(
            self.repository,
            where,
            format_name=format,
            all_branches=all_branches,
            source=source,
            find_versions=find_program_versions,
        )

    def save(
        self,
        path: str | os.PathLike[str],
        format: ExportFormat = "markdown",  # noqa: A002
        *,
        branch: str | None = None,
        force: bool = False,
    ) -> ExportSaved:
        """Export to a file, or to a directory for several original files; an existing file is kept without `force`."""
        from scopes.exporters.atomic_save import save_unless_purged as save_export

        return save_export(self.repository, lambda: self.export(format, branch=branch), os.fspath(path), force=force)
