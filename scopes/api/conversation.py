"""A conversation with the operations as methods; each one calls the operation that the command line calls.

Opening a store imports this module, so what contexts, proposals, facts and exports need is imported at the first call.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack

from scopes.clock import new_id, now
from scopes.conversation import (
    append,
    changes,
    conflicts,
    decisions,
    diff,
    log,
    merge,
    rebase,
    show,
    stats,
)
from scopes.conversation import branch as branches
from scopes.errors import Invalid, Refused
from scopes.history.handles import BranchHandle, ConversationHandle
from scopes.history.messages import check_author
from scopes.history.names import read_active_branch, resolve_branch_name
from scopes.model.message import TYPED_KINDS, Author, Message, MessageKind, payload_key
from scopes.store.projects import cache_directory
from scopes.tokens.count import choose_tokenizer, rank_file_paths, resolve_model

if TYPE_CHECKING:
    import scopes
    from scopes.secret_scan.clearance import Mode


Who: TypeAlias = Author | str | None
"""An author; the name of an agent; or the author of the store."""

_PAYLOADS = frozenset(map(payload_key, TYPED_KINDS))


class MessageFields(TypedDict, total=False):
    """The optional fields of a message; they mean what they mean in a line of `append --jsonl`.

    `decision` and the fields after it are the documents of messages of that kind: `kind="decision", decision={...}`.
    """

    parts: Sequence[Mapping[str, Any]]
    to: str | Sequence[str]
    reply_to: str
    time: str
    work_item: str
    task: str
    activity: str
    tool: str
    model: str
    status: str
    stop_reason: str
    files: Sequence[Mapping[str, Any]]
    decision: Mapping[str, Any]
    proposal: Mapping[str, Any]
    analysis: Mapping[str, Any]
    collaboration_request: Mapping[str, Any]
    priority: Mapping[str, Any]
    method: Mapping[str, Any]


def make_message(text: str, author: Author, kind: MessageKind, fields: MessageFields) -> Message:
    """Return a message with a new id and the current time."""
    from scopes.model.validation import check_message

    unknown = fields.keys() - MessageFields.__annotations__.keys()
    if unknown:
        raise TypeError(f"a message has no field {min(unknown)!r}")
    foreign = (fields.keys() & _PAYLOADS) - {payload_key(kind)}
    if foreign:
        raise Invalid(f"a message of kind {kind} has no field {min(foreign)!r}")
    if not text.strip() and not fields.get("parts") and payload_key(kind) not in fields:
        raise Refused("the message is empty", hint="give a text, or parts")
    document = {**fields, "author": {"name": author.name, "kind": author.kind}, "text": text, "kind": kind}
    return check_message(document, message_id=new_id(), now=now())


@dataclass(frozen=True, slots=True)
class Branch(BranchHandle):
    """A branch of a `Conversation`, whose methods change it."""

    conversation: Conversation


@dataclass(frozen=True, slots=True)
class Conversation(ConversationHandle):
    """A conversation with the operations as methods; `author` is the default author of messages.

    Where a method takes an author, it is an `Author`, or the name of an agent as a text. With `dry_run` it returns what
    it would do, and changes nothing. Proposals and facts are named by their ids or unique prefixes; a collaboration by
    its branch, or it is the only open one.

    A merge, rebase or cherry-pick that stops on conflicts returns an outcome, and makes its conflict-resolution branch
    the active one: a message appended without a branch goes there. Finish with `resolve` and `continue_...`, or with
    `abort_...`; both make the branch active that was active before.

    A `ProposedFact` is no `Fact`; a type checker refuses one for the other. In the examples, `talk` is a conversation.
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
        """Return all branches, sorted by name.

        >>> [branch.name for branch in talk.branches()]
        """
        return [Branch(self, name) for name in self.tips]

    def branch(self, text: str | None = None) -> Branch:
        """Return a branch by its name or a unique prefix (default: the active one).

        >>> talk.branch("fix").tip
        """
        return Branch(self, resolve_branch_name(self.repository, self.id, text))

    def show(self) -> scopes.ConversationView:
        """Return title, participants, branches with their sizes, and the last messages.

        >>> talk.show().participants
        """
        return show.show(self.repository, self.id)

    def log(
        self,
        branch: str | None = None,
        *,
        limit: int | None = None,
        oldest_first: bool = False,
        only: scopes.LogFilter | None = None,
    ) -> Iterator[Message]:
        """Yield the messages of a branch (default: the active one), newest first, with their bodies.

        >>> [message.text for message in talk.log("main", limit=5)]
        """
        entries = log.log(self.repository, self._name(branch), oldest_first=oldest_first, limit=limit, only=only).items
        return (entry.message for entry in entries if isinstance(entry, log.LogEntry) and entry.message is not None)

    def decisions(self, branch: str | None = None) -> scopes.DecisionList:
        """Return the decisions of all branches, parents first, and whether each is in effect on the active one.

        branch: only those in the history of this branch, with their state there.

        >>> [row.decision for row in talk.decisions().decisions if row.current]
        """
        return decisions.decisions(self.repository, self._name(branch))

    def decision_candidates(self, branch: str | None = None) -> scopes.CandidateList:
        """Return the sentences that seem to state a decision and are neither accepted nor dismissed, oldest first.

        branch: only those in the history of this branch.

        >>> [each.text for each in talk.decision_candidates().candidates]
        """
        from scopes.memory.decision_candidates import list_candidates

        return list_candidates(self.repository, self._name(branch))

    def accept_decision(
        self, candidate: str, *, topic: str | None = None, author: Who = None, branch: str | None = None
    ) -> scopes.DecisionAccepted:
        """Append a decision with the text of a candidate, named by its id or a unique prefix.

        topic: default: words of the sentence.
        branch: the branch to append to; default: the candidate's.

        >>> talk.accept_decision("4fz2.1", topic="cookies")
        """
        from scopes.memory.decision_candidates import accept_candidate

        who = self._author(author)
        return accept_candidate(self.repository, self.id, candidate, topic=topic, author=who, branch=branch)

    def files(self) -> scopes.FileList:
        """Return the files that the messages touched, the most recently touched first.

        >>> [row.path for row in talk.files().files]
        """
        return stats.files(self.repository, self.id)

    def changes(self, *, since: str | None = None, field: str | None = None) -> Iterator[scopes.Change]:
        """Yield every change of the conversation and its cause, oldest first.

        since: a date or a time span, such as `2026-01-31` or `2 hours ago`.
        field: only this field, such as `messages`, `branches.main` or `title`.

        >>> [change.cause for change in talk.changes(since="2 hours ago", field="messages")]
        """
        items = changes.changes(self.repository, self.id, since=since, field=field).items
        return (item for item in items if isinstance(item, changes.Change))

    def append(
        self,
        text: str,
        *,
        author: Who = None,
        kind: MessageKind = "plain",
        branch: str | None = None,
        **fields: Unpack[MessageFields],
    ) -> scopes.MessageAppended:
        """Append a message to a branch (default: the active one); it is on disk when this returns.

        >>> talk.append("Secure it", author="codex", kind="decision", decision={"topic": "a", "decision": "b"})
        """
        message = make_message(text, self._author(author), kind, fields)
        return append.append(self.repository, self.id, message, branch=branch)

    def amend(
        self,
        message: str,
        text: str,
        *,
        author: Who = None,
        branch: str | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> scopes.MessageAmended:
        """Replace the text of a message by appending a new message; the old one stays in the history.

        `data` is the new document of a typed message; without it what the message stated is withdrawn.

        >>> talk.amend("fq7x2m", "Start with the session")
        """
        who = self._author(author)
        return append.amend(self.repository, self.id, message, text, author=who, branch=branch, data=data)

    def retract(
        self, message: str, reason: str = "", *, author: Who = None, branch: str | None = None
    ) -> scopes.MessageAmended:
        """Mark a message as retracted: contexts and summaries leave it out.

        >>> talk.retract("fq7x2m", "wrong branch")
        """
        return append.retract(self.repository, self.id, message, reason, author=self._author(author), branch=branch)

    def withdraw_decision(
        self, topic: str, reason: str = "", *, author: Who = None, branch: str | None = None, dry_run: bool = False
    ) -> scopes.DecisionWithdrawn:
        """Withdraw the decision on a topic, in any spelling, by appending a new message.

        >>> talk.withdraw_decision("cookies", "we use tokens")
        """
        who = self._author(author)
        return decisions.withdraw_decision(
            self.repository, self.id, topic, reason=reason, author=who, branch=branch, dry_run=dry_run
        )

    def create_branch(
        self, name: str | None = None, *, purpose: str | None = None, agent: str | None = None, start: str | None = None
    ) -> scopes.BranchCreated:
        """Create a branch at `start` (default: the active branch's tip) and make it the active one.

        >>> talk.create_branch("try", start="main~2")
        """
        return branches.branch(self.repository, self.id, name=name, purpose=purpose, agent=agent, start=start)

    def switch(self, branch: str) -> scopes.BranchSwitched:
        """Make another branch the active one.

        >>> talk.switch("main")
        """
        return branches.switch(self.repository, self.id, branch)

    def rewind(
        self, *, to: str | None = None, count: int | None = None, branch: str | None = None
    ) -> scopes.BranchRewound:
        """Move a branch (default: the active one) back to the message `to`, or by `count` messages (default: 1).

        >>> talk.rewind(count=2)
        """
        return branches.rewind(self.repository, self.id, branch=branch, to=to, count=count)

    def tag(self, name: str, message: str | None = None) -> scopes.Tagged:
        """Tag a message (default: the last one of the active branch).

        >>> talk.tag("good", "main~1")
        """
        return branches.tag(self.repository, self.id, name, message)

    def tags(self) -> scopes.TagList:
        """Return the tags with their messages.

        >>> talk.tags().tags
        """
        return branches.list_tags(self.repository, self.id)

    def delete_tag(self, name: str) -> scopes.Tagged:
        """Delete a tag.

        >>> talk.delete_tag("good")
        """
        return branches.delete_tag(self.repository, self.id, name)

    def resume(
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
    ) -> scopes.CheckedOut:
        """Write a branch (default: the active one) as a session of an agent: `scopes resume --in AGENT --print`.

        The agent is not started: `command` and `shell` of the result go on with the session, and an import puts what
        the agent adds on the branch `new_branch`.

        agent: `claude-code`, `codex`, `gemini`, `llm`, `opencode`, `pi` or `qwen`.
        directory: where the agent works; default: where the conversation was, or the current directory.
        max_tokens: of the history; default: what the agent's usual models have room for.
        full: all messages, not those since the last compaction.
        reasoning: quote the reasoning in the answers.
        secrets: what becomes of possible secrets: `refuse`, `redact` or `allow`.

        >>> talk.resume("codex", dry_run=True).shell
        """
        from scopes.handover import checkout
        from scopes.handover.resume import User

        user, place = User(os.environ, os.path.expanduser("~")), None if directory is None else os.fspath(directory)
        request = checkout.CheckoutRequest(
            where=self._name(branch), agent=agent, directory=place, here=os.getcwd(), max_tokens=max_tokens, full=full,
            reasoning=reasoning, secrets=secrets,
        )  # fmt: skip
        tokenizer = choose_tokenizer(rank_file_paths(os.environ), None)
        plan = checkout.plan_checkout(self.repository, request, tokenizer, user)
        return checkout.checkout(plan, user, dry_run=dry_run)

    def export(
        self,
        format: scopes.ExportFormat = "markdown",  # noqa: A002
        *,
        branch: str | None = None,
        all_branches: bool = False,
        source: str | None = None,
    ) -> scopes.Exported:
        """Export a branch (default: the active one) or all; the content is `pieces`, read from the store once.

        format: `original` are the imported files, byte for byte.
        source: the original file, if there are several.

        >>> b"".join(talk.export("html").pieces)
        """
        from scopes.exporters.export import export
        from scopes.importers.program_versions import find_program_versions

        return export(
            self.repository, self._name(branch), format_name=format, all_branches=all_branches, source=source,
            find_versions=find_program_versions,
        )  # fmt: skip

    def diff(self, left: str, right: str) -> scopes.Difference:
        """Compare two branches or messages of this conversation.

        >>> [head.subject for head in talk.diff("main", "try").only_right]
        """
        return diff.diff(self.repository, self.id, f"{left}..{right}")

    def range_diff(self, *names: str, patch: bool = True) -> scopes.RangeDifference:
        """Compare two ranges message by message: `A, B`, `A...B`, `BASE, A, B`, or `A..B, C..D`, as git does.

        Names are looked up in this conversation first. `BRANCH@{1}` is a branch before it was last moved.

        patch: also return the changed lines of each message.

        >>> [pair.mark for pair in talk.range_diff("main", "try@{1}", "try").pairs]
        """
        return diff.range_diff(self.repository, names, conversation=self.id, patch=patch)

    def bisect(
        self,
        judge: Callable[[scopes.BisectPoint], bool | None],
        *,
        branch: str | None = None,
        good: str | None = None,
        bad: str | None = None,
        verify: bool = True,
    ) -> scopes.Bisection:
        """Find the first bad message of a branch (default: the active one), by binary search along first parents.

        judge: return True if a commit is good, False if it is bad, None if it cannot be tested; an exception ends the
            search. It is called about once for each doubling of the number of messages. `point.head` is the header of
            the message, None before the first one; `context(at=point.oid)` is the context up to it.
        good, bad: a good message (default: before the first one) and a bad one (default: the last one).
        verify: first check that both ends are what they should be.

        `first_bad` of the result is None if untested messages hide it: then `candidates` has them, oldest first.

        >>> talk.bisect(lambda point: point.head is None or "sqlite" not in point.head.subject).first_bad
        """
        return log.bisect(
            self.repository, self._name(branch), lambda point: log.exit_code_of(judge(point)), good=good, bad=bad,
            verify=verify,
        )  # fmt: skip

    def context(
        self,
        branch: str | None = None,
        *,
        at: str | None = None,
        task: str | None = None,
        max_tokens: int | None = None,
        model: str | None = None,
        project: str | os.PathLike[str] | None = None,
    ) -> scopes.Context:
        """Build a context within a budget: the newest turns, or the most relevant ones for a task.

        at: as of this message, such as `main~2`; files have their recorded content then.
        max_tokens: default: the content part of the model's window, 4000 for a task, or 8000.
        project: the directory whose files may be embedded; None: no file is read.

        >>> talk.context(task="fix the cookie", max_tokens=4000).formatted_history
        """
        from scopes.context.context import context
        from scopes.context.request import new_request

        config = self.repository.config
        row = None if model is None else resolve_model(model, config.walk())
        where, files = self._name(branch), os.fspath(project or "")
        request = new_request(config, row, where=where, at=at, project=files, max_tokens=max_tokens, task=task)
        tokenizer = choose_tokenizer(rank_file_paths(os.environ), row)
        return context(self.repository, request, tokenizer, cache_directory(os.environ))

    def merge(
        self,
        source: str,
        *,
        target: str | None = None,
        strategy: scopes.MergeStrategy = "automatic",
        fast_forward: bool = True,
        message: str | None = None,
        dry_run: bool = False,
    ) -> scopes.MergeOutcome:
        """Merge a branch into another (default: the active one), or a merge request, such as `mr/1`, into its target.

        The outcome is UpToDate, FastForwarded, Merged or MergeConflicted. A conflict is a result and no exception: the
        target is unchanged, and the conflict-resolution branch is the active one.

        strategy: what happens to conflicts: `automatic`, `ours` (the target's side), `theirs` or `manual`.
        fast_forward: move the target without a merge message if it has no messages of its own.
        message: the text of the merge message.

        >>> talk.merge("fix", target="main")
        """
        options = merge.MergeOptions(strategy=strategy, fast_forward=fast_forward, message=message)
        if source.startswith("mr/"):
            return merge.merge_request(self.repository, self.id, source.removeprefix("mr/"), options=options)
        return merge.merge(self.repository, self.id, source, target=target, options=options, dry_run=dry_run)

    def continue_merge(self, branch: str | None = None) -> scopes.MergeOutcome:
        """Finish a merge whose conflicts are resolved; `branch` is its conflict-resolution branch if there are several.

        The outcome is Merged; or MergeConflicted, if the target received messages with new conflicts in the meantime.

        >>> talk.continue_merge()
        """
        return merge.continue_merge(self.repository, self.id, branch)

    def abort_merge(self, branch: str | None = None) -> scopes.MergeAborted:
        """Delete the conflict-resolution branch of a merge; the target is unchanged.

        >>> talk.abort_merge()
        """
        return merge.abort_merge(self.repository, self.id, branch)

    def merge_requests(self, *, state: str | None = None) -> scopes.MergeRequestList:
        """Return the merge requests, newest first: the open ones, or those in a state.

        state: `open`, `merged`, `closed` or `all`.

        >>> [row.request.title for row in talk.merge_requests(state="all").merge_requests]
        """
        return merge.list_merge_requests(self.repository, self.id, state=state)

    def merge_request(self, request: str | int) -> scopes.MergeRequestView:
        """Return a merge request, by number, id or unique prefix, and what its merge would do now.

        >>> talk.merge_request(1).outcome
        """
        return merge.show_merge_request(self.repository, self.id, str(request))

    def open_merge_request(
        self, source: str, title: str, *, target: str = "main", message: str = "", author: Who = None
    ) -> scopes.MergeRequestChanged:
        """Ask for the branch `source` to be merged into `target`; nothing is merged yet.

        title: one line of at most 200 characters.
        message: a longer description.

        >>> talk.open_merge_request("try", "Use SQLite")
        """
        return merge.open_merge_request(
            self.repository, self.id, source, title=title, target=target, message=message,
            requester=self._author(author),
        )  # fmt: skip

    def close_merge_request(
        self, request: str | int, reason: str = "", *, author: Who = None
    ) -> scopes.MergeRequestChanged:
        """Close a merge request without merging; its branch stays as it is.

        >>> talk.close_merge_request(1, "not needed")
        """
        return merge.close_merge_request(
            self.repository, self.id, str(request), reason=reason, author=self._author(author)
        )

    def conflicts(self, *, status: str | None = None, include_all: bool = False) -> scopes.ConflictList:
        """Return the open conflicts.

        status: only those that are `open`, in `debate`, `escalated`, `resolved` or `aborted`.
        include_all: also those that have ended, however they were resolved.

        >>> [row.conflict.key for row in talk.conflicts().conflicts]
        """
        return conflicts.list_conflicts(self.repository, self.id, status=status, include_all=include_all)

    def conflict(self, conflict: str | int, *, patch: bool = True) -> scopes.ConflictView:
        """Return both sides of a conflict and the messages about it; `conflict` is its number, id or key.

        patch: of a file, also the diff of each side.

        >>> talk.conflict(1).texts
        """
        return conflicts.show_conflict(self.repository, self.id, str(conflict), patch=patch)

    def resolve(
        self,
        conflict: str | int,
        *,
        take: scopes.ConflictSide | Literal["ours", "theirs"] | None = None,
        value: str | None = None,
        as_before: bool = False,
        reason: str = "",
        author: Who = None,
        continue_after: bool = False,
    ) -> scopes.ConflictResolved:
        """Resolve a conflict, named by its number, id or key: take a side, give another value, or as before.

        take: `source`, `target`, `base` or `both`; `ours` is the target, `theirs` the source.
        value: a text, or JSON for the value of a field.
        as_before: resolve it as it was resolved before, see `earlier` of the conflict.
        continue_after: finish the merge, rebase or cherry-pick if no conflict is open then; its outcome is `continued`.

        >>> talk.resolve(1, take="target", reason="it was measured")
        """
        return conflicts.resolve_conflict(
            self.repository, self.id, str(conflict), take=take, value=value, as_before=as_before, reason=reason,
            author=self._author(author), continue_after=continue_after,
        )  # fmt: skip

    def rebase(
        self, onto: str, *, branch: str | None = None, from_base: bool = False, dry_run: bool = False
    ) -> scopes.ReplayOutcome:
        """Move the own messages of a branch (default: the active one) onto `onto`, a branch or any message.

        Its own messages are those after its fork point; with `from_base` all since the merge base with `onto`.
        The outcome is ReplayUpToDate, Replayed or ReplayConflicted.

        >>> talk.rebase("main", branch="try")
        """
        return rebase.rebase(self.repository, self.id, onto=onto, branch=branch, from_base=from_base, dry_run=dry_run)

    def continue_rebase(self, branch: str | None = None) -> scopes.ReplayOutcome:
        """Continue a rebase whose conflicts are resolved; raises as `continue_merge` does.

        >>> talk.continue_rebase()
        """
        return rebase.continue_rebase(self.repository, self.id, branch)

    def skip_rebase(self, branch: str | None = None) -> scopes.ReplayOutcome:
        """Continue a rebase without the message that it stopped at.

        >>> talk.skip_rebase()
        """
        return rebase.skip_rebase(self.repository, self.id, branch)

    def abort_rebase(self, branch: str | None = None) -> scopes.ReplayAborted:
        """Delete the conflict-resolution branch of a rebase; the branch is unchanged.

        >>> talk.abort_rebase()
        """
        return rebase.abort_rebase(self.repository, self.id, branch)

    def cherry_pick(self, *messages: str, branch: str | None = None, dry_run: bool = False) -> scopes.ReplayOutcome:
        """Copy messages of other branches or conversations onto a branch (default: the active one).

        The outcome is ReplayUpToDate, Replayed or ReplayConflicted.

        >>> talk.cherry_pick("try~1", branch="main")
        """
        return rebase.cherry_pick(self.repository, self.id, messages, branch=branch, dry_run=dry_run)

    def continue_cherry_pick(self, branch: str | None = None) -> scopes.ReplayOutcome:
        """Continue a cherry-pick whose conflicts are resolved; raises as `continue_merge` does.

        >>> talk.continue_cherry_pick()
        """
        return rebase.continue_cherry_pick(self.repository, self.id, branch)

    def skip_cherry_pick(self, branch: str | None = None) -> scopes.ReplayOutcome:
        """Continue a cherry-pick without the message that it stopped at.

        >>> talk.skip_cherry_pick()
        """
        return rebase.skip_cherry_pick(self.repository, self.id, branch)

    def abort_cherry_pick(self, branch: str | None = None) -> scopes.ReplayAborted:
        """Delete the conflict-resolution branch of a cherry-pick; the branch is unchanged.

        >>> talk.abort_cherry_pick()
        """
        return rebase.abort_cherry_pick(self.repository, self.id, branch)

    def propose(
        self,
        entity: str,
        values: Mapping[str, Any],
        *,
        append: Mapping[str, Any] | None = None,
        before: Mapping[str, Any] | None = None,
        details: Mapping[str, Any] | None = None,
        expires: str | None = None,
        to: Sequence[str] | None = None,
        queue: bool = False,
        author: Who = None,
        branch: str | None = None,
    ) -> scopes.ProposalCreated:
        """Propose new values for fields of an entity, named `TYPE/ID`; None removes the value of a field.

        append: values to add to fields that are lists.
        before: values that fields are expected to have now.
        details: further fields of the proposal: rationale, confidence, category, impact_assessment, ...
        expires: when it expires: `7d` from now, or a date.
        to: send it: names or numbers of agents, `@capability` or `all`; empty: to the reviewers.
        queue: send it also if nobody is available.

        >>> talk.propose("task/42", {"state": "done"}, append={"labels": "ui"}, details={"rationale": "tests pass"})
        """
        from scopes.proposals.review import NewChange, create_proposal

        changes = [NewChange(field, "set", value) for field, value in values.items()]
        changes += [NewChange(field, "append", value) for field, value in (append or {}).items()]
        return create_proposal(
            self.branch(branch), entity, changes, author=self._author(author), before=before, details=details,
            expires=expires, to=to, queue=queue,
        )  # fmt: skip

    def proposals(
        self,
        branch: str | None = None,
        *,
        state: str | None = None,
        agent: str | None = None,
        include_closed: bool = False,
    ) -> scopes.ProposalList:
        """Return the pending and accepted proposals; with `include_closed` all, or those in one state.

        branch: only those of this branch, with their state there.

        >>> [row.proposal.entity for row in talk.proposals().proposals]
        """
        from scopes.proposals.list import list_proposals

        where = self._name(branch)
        return list_proposals(self.repository, where, state=state, agent=agent, include_closed=include_closed)

    def proposal(self, name: str, branch: str | None = None) -> scopes.ProposalView:
        """Return a proposal with the messages that led to its state.

        >>> talk.proposal("7d2e").history
        """
        from scopes.proposals.list import show_proposal

        return show_proposal(self.repository, self._name(branch), name)

    def accept_proposal(
        self,
        name: str,
        *,
        apply: bool = True,
        feedback: str = "",
        rating: int | None = None,
        author: Who = None,
        branch: str | None = None,
    ) -> scopes.ProposalReviewed:
        """Accept a proposal and, unless `apply` is false, apply it.

        rating: from 1 to 5.

        >>> talk.accept_proposal("7d2e", feedback="go on")
        """
        from scopes.proposals import review

        who, given = self._author(author), review.Feedback(feedback, rating)
        return review.accept_proposal(
            self.repository, self._name(branch), name, author=who, feedback=given, apply=apply
        )

    def reject_proposal(
        self,
        name: str,
        reason: str,
        *,
        feedback: str = "",
        rating: int | None = None,
        author: Who = None,
        branch: str | None = None,
    ) -> scopes.ProposalReviewed:
        """Reject a pending proposal; the reason is one of those of `scopes proposals reject`.

        >>> talk.reject_proposal("7d2e", "poor-timing")
        """
        from scopes.proposals import review

        who, given = self._author(author), review.Feedback(feedback, rating)
        return review.reject_proposal(
            self.repository, self._name(branch), name, reason=reason, author=who, feedback=given
        )

    def propose_fact(
        self,
        key: str,
        content: str,
        *,
        id: str | None = None,  # noqa: A002
        confidence: float = 1.0,
        sources: Sequence[str] = (),
        invalidates: str | None = None,
        expires_seconds: int | None = None,
        author: Who = None,
    ) -> scopes.FactProposed:
        """Propose a fact: `result.fact` is a `ProposedFact`; `accept_fact` makes a `Fact` of it.

        key: a context key such as `Constraints`, in any case.
        id: names it within its key; default: a hash of key and content.
        sources: messages or revisions that it is drawn from.
        invalidates: the id of the fact of the same key that it takes back.

        >>> talk.propose_fact("Constraints", "Node 20 only", confidence=0.9)
        """
        from scopes.facts.propose import Proposal, propose

        who = self._author(author).name
        proposal = Proposal(
            key=key, content=content, agent=who, id=id, confidence=confidence, sources=sources,
            invalidates=invalidates, expires_seconds=expires_seconds,
        )  # fmt: skip
        return propose(self.repository, self.id, proposal)

    def accept_fact(self, name: str, reason: str = "", *, author: Who = None) -> scopes.FactPromoted:
        """Approve a proposed fact: it is validated and becomes a fact, and the decision is recorded.

        >>> talk.accept_fact("n20", "CI has it")
        """
        from scopes.facts.decide import accept

        return accept(self.repository, self.id, name, actor=self._author(author).name, rationale=reason)

    def reject_fact(self, name: str, reason: str, *, author: Who = None) -> scopes.FactDecided:
        """Reject a proposed fact; it stays with the reason.

        >>> talk.reject_fact("n20", "we support 18")
        """
        from scopes.facts.decide import reject

        return reject(self.repository, self.id, name, actor=self._author(author).name, reason=reason)

    def facts(self, key: str | None = None, *, include_all: bool = False) -> scopes.FactList:
        """Return the facts by key and id; those that were taken back only with `include_all`.

        >>> [row.fact.content for row in talk.facts("Constraints").facts]
        """
        from scopes.facts.list import list_facts

        return list_facts(self.repository, self.id, key=key, everything=include_all)

    def proposed_facts(self, key: str | None = None, *, include_all: bool = False) -> scopes.ProposedFactList:
        """Return what waits for a decision: proposed facts and questions; all of them with `include_all`.

        >>> talk.proposed_facts().questions
        """
        from scopes.facts.list import list_proposed

        return list_proposed(self.repository, self.id, key=key, everything=include_all)

    def fact(self, name: str) -> scopes.FactView | scopes.ProposedFactView:
        """Return a fact with how it came about, or a proposed one with why it is none yet.

        >>> talk.fact("Constraints/n20")
        """
        from scopes.facts.list import show_fact

        return show_fact(self.repository, self.id, name)

    def run_facts(
        self,
        commands: Mapping[str, str] | None = None,
        *,
        max_cycles: int = 100,
        min_confidence: float = 0.0,
        review: bool = False,
        expires_seconds: int | None = None,
    ) -> scopes.FactRun:
        """Let registered agents derive facts, cycle by cycle, until no key has new ones or a limit is reached.

        commands: the program of an agent by its name, before that of the settings of the user.
        min_confidence, review: a person decides about facts below this confidence, or about all.
        expires_seconds: how long proposals of the run wait for a person.

        `ending` of the result says why it ended, and `failed` which agents did; its `exit_code` is 9 at a limit.

        >>> talk.run_facts({"bot": "./bot.py"}, max_cycles=5).ending
        """
        from scopes.facts.cycle import Acceptance
        from scopes.facts.run import RunLimits, run_programs

        limits = RunLimits(
            cycles=max_cycles, expires_seconds=expires_seconds, acceptance=Acceptance(review, min_confidence)
        )
        return run_programs(self.repository, self.id, commands or {}, limits)

    def send(
        self,
        text: str,
        *,
        queue: bool = False,
        author: Who = None,
        kind: MessageKind = "plain",
        branch: str | None = None,
        **fields: Unpack[MessageFields],
    ) -> scopes.Routed:
        """Append a message and put it into the inboxes of agents, in one operation.

        to: names or numbers of agents, `@capability`, or `all`; without any, the kind of the message decides.
        queue: send also if nobody is available: it waits for them.

        >>> talk.send("Please look at try", to=["@review"])
        """
        from scopes.agents.delivery import SentMessage, deliver_to_programs
        from scopes.agents.send import send

        to = fields.pop("to", ())
        message = make_message(text, self._author(author), kind, fields)
        done = send(self.branch(branch), message, [to] if isinstance(to, str) else to, queue=queue)
        sent = SentMessage(done.message, [done.operation])
        return replace(done, notes=(*done.notes, *deliver_to_programs(self.repository, done.delivered_to, sent)))

    def collaborate(
        self,
        type: scopes.CollaborationType,  # noqa: A002
        task: str,
        agents: str | Sequence[str],
        *,
        urgency: str = "normal",
        branch: str | None = None,
        author: Who = None,
    ) -> scopes.CollaborationStarted:
        """Open a branch for a task at the tip of the active branch, and put the request into the inboxes of agents.

        branch: its name; default: `collaboration/TYPE`. The active branch stays the same.

        >>> talk.collaborate("peer-review", "review try", ["ann", "bot"])
        """
        from scopes.collaboration.collaboration import start

        names, who = [agents] if isinstance(agents, str) else agents, self._author(author)
        return start(self.repository, self.id, type, task, names, urgency=urgency, branch=branch, author=who)

    def collaboration(self, branch: str | None = None) -> scopes.CollaborationReport:
        """Return the report of a collaboration: participants, positions, decisions, and how conflicts ended.

        branch: default: the only open one, else the only merged one, else the newest one.

        >>> talk.collaboration().debates
        """
        from scopes.collaboration.collaboration import show_collaboration

        return show_collaboration(self.repository, self.id, branch)

    def argue(
        self, argument: scopes.Argument, branch: str | None = None, *, author: Who = None
    ) -> scopes.CollaborationChanged:
        """State a position in a collaboration; a later one of the same author about the same subject replaces it.

        >>> talk.argue(scopes.Argument(about="the task", position="Ship it"))
        """
        from scopes.collaboration.collaboration import argue

        return argue(self.repository, self.id, branch, argument, author=self._author(author))

    def _name(self, branch: str | None) -> str:
        """Return the name of a branch, or of the active one, as a revision."""
        return self.id if branch is None else f"{self.id}/{branch}"

    def _author(self, author: Who) -> Author:
        return self.author if author is None else check_author(author)
