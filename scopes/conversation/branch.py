"""`branch`, `switch`, `rewind`, `abandon` and `tag`: names for places in the history of a conversation.

Each change is one operation.
"""

from __future__ import annotations

from collections.abc import Container
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import NamedTuple
from unicodedata import combining, normalize

from scopes.clock import now
from scopes.conversation.append import MessageAppended, message_writers
from scopes.conversation.show import BranchRow, show
from scopes.errors import Ambiguous, Invalid, NotFound, Refused
from scopes.history.handles import BranchHandle, ConversationHandle, StoreHandle
from scopes.history.messages import MessageHeader, header_of, is_root, message_id_of, walk_headers_newest_first
from scopes.history.names import (
    HEADS_FORM,
    MAIN,
    could_be_id,
    parse_new_branch_name,
    parse_new_tag_name,
    resolve_revision,
    step_back,
)
from scopes.history.transaction import Transaction
from scopes.ids import (
    AgentName,
    BranchName,
    ConversationId,
    MessageId,
    Oid,
    OperationId,
    free_name,
    is_name,
    parse_agent_name,
    parse_branch_name,
    slug,
)
from scopes.merge.in_progress import list_in_progress
from scopes.merge.plan import open_conflicts_at
from scopes.model.conversation import BranchEntry, parse_purpose
from scopes.model.message import Message
from scopes.result import HIDDEN, OMIT_EMPTY, Column, Result, counted, named, plural, short_id, shown
from scopes.store.graph import is_ancestor, list_new_commits, walk_newest_first
from scopes.store.objects import read_commit
from scopes.store.operations import walk_operations
from scopes.store.refs import SYMBOLIC, active_ref, split_branch_ref
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

_MAX_SLUG_LENGTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchCreated(Result):
    """A new branch; it has no messages of its own yet, unless one was given (S4-2, S4-6).

    `start` is the message at which it begins, unless that is the tip of `parent`.
    """

    kind = "branch"

    conversation: ConversationId
    name: BranchName
    tip: Oid
    parent: BranchName
    start: MessageId | None = None
    purpose: str | None
    agent: AgentName | None
    active: bool
    operation: OperationId

    @property
    def sentence(self) -> str:
        """Where it begins."""
        begin = f"from {self.parent}" if self.start is None else f"at message {short_id(self.start)} of {self.parent}"
        return f"created {self.conversation}/{self.name} {begin}{'; it is active now' if self.active else ''}"

    @property
    def answer(self) -> str:
        """The name: branch=$(scopes branch conv-001 --purpose analysis)."""
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchList(Result):
    """The branches of a conversation, main first, then by name."""

    rows_in = "branches"
    columns = (
        Column("star", " ", on="terminal"),
        Column("name", "Branch", "branch", on="terminal"),
        Column("name", on="pipe"),
        Column("messages", form="count"),
        Column("total", "In all", "count", on="terminal"),
        Column("total", on="pipe"),
        Column("purpose", on="pipe"),
        Column("agent", on="pipe"),
        Column("status", form="state"),
        Column("star", "Active", on="pipe"),
        Column("last_activity", form="time"),
        Column("tip", on="pipe"),
        Column("parent", on="pipe"),
        Column("why", "Reason"),
    )

    conversation: ConversationId
    branches: tuple[BranchRow, ...]


def list_branches(repository: Repository, conversation: str, *, include_hidden: bool = False) -> BranchList:
    """List the branches of a conversation; abandoned ones, and those of ended conflicts, only with `include_hidden`."""
    view = show(repository, conversation, recent=0, include_hidden=include_hidden)
    return BranchList(conversation=view.id, branches=view.branches)


def branch(
    repository: Repository,
    conversation: str,
    *,
    purpose: str | None = None,
    agent: str | None = None,
    start: str | None = None,
    base: str | None = None,
    name: str | None = None,
    switch: bool = True,
    message: Message | None = None,
    force: bool = False,
) -> BranchCreated:
    """Create a branch at `start` (default: the tip) of the branch `base` (default: the active one).

    With `switch` it becomes the active one. With `force` it takes the place of a branch of that name.

    The default name is `<purpose>/<slug of the agent>`, followed by `-2` and so on if that is taken (S4-4). With
    `message` the branch has this message, and both are one operation.

    Raises:
        Invalid: the purpose or the name is not valid.
        Refused: a branch of that name exists; with `force`, if it is main or the active one.
        NotFound, Ambiguous: the conversation or the message cannot be resolved.
    """
    handle = StoreHandle(repository).conversation(conversation)
    role = None if purpose is None else parse_purpose(purpose)
    agent_name = None if agent is None else parse_agent_name(agent)
    writers = message_writers(repository, handle.id, () if message is None else (message,))
    with exclusive_write(repository):
        parent = handle.branch(base)
        revision = parent.revision if start is None else parent.find(start)
        new_name = default_branch_name(handle.tips, role, agent_name)
        if name is not None:
            new_name = parse_new_branch_name(repository, name)
            if new_name in handle.tips and (not force or new_name in {MAIN, handle.active_branch.name}):
                raise Refused(f"branch {new_name!a} already exists in {handle.id}", hint="choose another name")
        forked, tip = revision.branch or parent.name, revision.oid
        entry = BranchEntry(purpose=role, agent=agent_name, parent=forked, fork=tip, created=now())
        at_tip = handle.tips.get(forked) == tip
        for write in writers:
            tip = write(tip)
        tx = Transaction(repository, handle.id)
        if new_name in handle.tips:
            tx.move_branch(new_name, handle.tips[new_name], tip)
        else:
            tx.create_branch(new_name, tip)
        tx.set_branch_entry(new_name, entry)
        if switch:
            tx.activate(new_name)
        operation = tx.commit("branch", f"create {handle.id}/{new_name}", metadata_message=f"create {new_name}")
    return BranchCreated(
        conversation=handle.id,
        name=new_name,
        tip=tip,
        parent=forked,
        purpose=role,
        agent=agent_name,
        active=switch,
        operation=operation.id,
        start=None if at_tip else message_id_of(read_commit(repository, revision.oid)),
    )


def append_to_new_branch(
    repository: Repository, conversation: str, message: Message, *, start: str | None, name: str, switch: bool = True
) -> MessageAppended:
    """Create a branch at `start` and append a message to it, as one operation; raises as `branch` and `append` do."""
    created = branch(repository, conversation, start=start, name=name, message=message, switch=switch)
    return MessageAppended(
        id=message.id,
        oid=created.tip,
        conversation=created.conversation,
        branch=created.name,
        parent=created.parent,
        start=created.start,
        active=created.active,
        operation=created.operation,
    )


def default_branch_name(taken: Container[str], purpose: str | None, agent: AgentName | None) -> BranchName:
    """Return the first free name of `<purpose>/<slug>`, `<purpose>/<slug>-2`, ...; the default purpose is `branch`.

    Accents are removed: `Zoë X` becomes `zoe-x`. A slug that is not valid in a ref, such as `con` or `build.lock`, is
    replaced by `agent`.
    """
    plain = "".join(character for character in normalize("NFKD", agent or "agent") if not combining(character))
    stem = f"{purpose or 'branch'}/{slug(plain)[:_MAX_SLUG_LENGTH]}"
    if not is_name(stem):
        stem = f"{purpose or 'branch'}/agent"
    return parse_branch_name(free_name(stem, taken))


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchSwitched(Result):
    """The active branch and the previously active one; `operation` is None if they are the same."""

    kind = "switch"

    conversation: ConversationId
    branch: BranchName
    previous: BranchName
    operation: OperationId | None

    @property
    def sentence(self) -> str:
        """Which branch is active now."""
        before = f"now; before it was {self.previous}" if self.operation is not None else "already"
        return f"{self.conversation}/{self.branch} is active {before}"

    @property
    def answer(self) -> str:
        """The active branch."""
        return self.branch


def switch(repository: Repository, conversation: str, branch: str) -> BranchSwitched:
    """Make a branch active: commands without a branch name then use it.

    Raises:
        NotFound, Ambiguous: the conversation or branch cannot be resolved.
    """
    handle = StoreHandle(repository).conversation(conversation)
    with exclusive_write(repository):
        name, previous = handle.branch(branch).name, handle.active_branch.name
        tx = Transaction(repository, handle.id)
        tx.activate(name)
        operation = tx.commit("switch", f"switch {handle.id} to {name}").id if tx else None
    return BranchSwitched(conversation=handle.id, branch=name, previous=previous, operation=operation)


def find_previous_branch(repository: Repository, conversation: str) -> BranchName:
    """Return the branch that was active before the active one.

    Raises:
        NotFound: no other branch was active, or it does not exist any more.
    """
    handle = StoreHandle(repository).conversation(conversation)
    active, tips = handle.active_branch.name, handle.tips
    for _, operation in walk_operations(repository):
        for change in operation.changes:
            pair = split_branch_ref((change.old or "").removeprefix(SYMBOLIC))
            if change.ref == active_ref(handle.id) and pair is not None and pair[1] in tips and pair[1] != active:
                return pair[1]
    hint = f"list the branches: scopes branch {quote(handle.id)}"
    raise NotFound(f"no other branch of {handle.id} was active before", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRewound(Result):
    """A rewound branch: `messages` is the number of removed messages, `message` the last remaining one.

    With `dry_run` nothing was changed, and `heads` are the messages that would be removed, newest first.
    """

    kind = "rewind"
    rows_in = "heads"
    is_one_row = True
    columns = (
        Column("id", "ID", "id"),
        Column("who", "Author"),
        Column("line", "Subject"),
    )

    conversation: ConversationId
    branch: BranchName
    messages: int
    old: Oid
    new: Oid
    message: MessageId | None
    operation: OperationId | None
    dry_run: bool = field(default=False, metadata=OMIT_EMPTY)
    heads: tuple[MessageHeader, ...] = field(default=(), metadata=HIDDEN)

    @property
    @shown
    def removed(self) -> list[MessageId] | None:
        """The ids of the messages that would be removed; None if nothing is asked."""
        return [head.id for head in self.heads] if self.dry_run else None

    @property
    def sentence(self) -> str:
        """How many messages were removed, and which one is the last now."""
        place, number = f"{self.conversation}/{self.branch}", counted(self.messages, "message")
        last = None if self.message is None else short_id(self.message)
        if self.dry_run:
            return f"would rewind {number}; {place} would {f'end with {last}' if last else 'be empty'}"
        end = f"{place} {f'ends with {last}' if last else 'is empty'}"
        return f"{end} already" if self.operation is None else f"rewound {number}; {end} now"

    @property
    def answer(self) -> str:
        """The branch; after a dry run the rows are written."""
        return "" if self.dry_run else self.branch


def rewind(
    repository: Repository,
    conversation: str,
    *,
    branch: str | None = None,
    to: str | None = None,
    count: int | None = None,
    dry_run: bool = False,
) -> BranchRewound:
    """Move a branch back to the message `to`, or by the last `count` messages of its log; by one step if not given.

    Of a merge all is taken back that it brought.

    Raises:
        Refused: the message is not in the history of the branch, the count ends among the messages of a merge, or a
            merge would stay without the resolution of its conflicts.
        Invalid: both are given, or the count is not positive.
        NotFound: the branch has fewer messages than `count`.
    """
    if to is not None and count is not None:
        raise Invalid("name either a message or a number of messages", hint="scopes rewind CONV MESSAGE")
    if count is not None and count < 1:
        raise Invalid(f"cannot rewind {count} messages", hint="for example: -n 2")
    with nullcontext() if dry_run else exclusive_write(repository):
        handle = StoreHandle(repository).branch(conversation, branch)
        old = handle.tip
        if count is None:
            new = handle.find(f"{HEADS_FORM}{handle.name}~1" if to is None else to).oid
        else:
            new = _find_before(repository, handle, old, count)
        if not is_ancestor(repository, new, old):
            raise Refused(
                f"that message is not in the history of {handle}",
                hint=f"see: scopes log {quote(str(handle))}",
            )
        _check_stays_resolved(repository, handle, old, new)
        remaining = {commit.oid for commit in walk_newest_first(repository, [new])}
        removed = tuple(walk_headers_newest_first(repository, [old], remaining))
        tx = Transaction(repository, handle.conversation.id)
        tx.move_branch(handle.name, old, new)
        operation = tx.commit("rewind", f"take back {len(removed)} of {handle}").id if tx and not dry_run else None
    tip = read_commit(repository, new)
    last = None if is_root(tip) else header_of(tip).id
    return BranchRewound(
        conversation=handle.conversation.id,
        branch=handle.name,
        messages=len(removed),
        old=old,
        new=new,
        message=last,
        operation=operation,
        dry_run=dry_run,
        heads=removed if dry_run else (),
    )


def _find_before(repository: Repository, branch: BranchHandle, tip: Oid, count: int) -> Oid:
    """Return the commit on the line of first parents below which the last `count` messages of the log are not."""
    fewer = more = 0
    oid = tip
    while more < count:
        fewer, parent = more, step_back(repository, branch.conversation.id, oid, 1)
        more += len(list_new_commits(repository, oid, parent))
        oid = parent
    if more > count:
        text = f"the last {count} {plural(count, 'message')} of {branch} are only a part of what a merge brought"
        hint = f"take back the whole merge: scopes rewind {quote(str(branch))} -n {more}"
        raise Refused(text, hint=hint + (f"; or only the messages after it: -n {fewer}" if fewer else ""))
    return oid


def _check_stays_resolved(repository: Repository, branch: BranchHandle, old: Oid, new: Oid) -> None:
    """Refuse to end a branch between a merge and its resolution, except a conflict-resolution branch."""
    if open_conflicts_at(repository, old) or not (conflicts := open_conflicts_at(repository, new)):
        return
    if any(each.branch == branch.name for each in list_in_progress(repository, branch.conversation.id)):
        return
    count = f"{len(conflicts)} {plural(len(conflicts), 'conflict')}"
    commit = read_commit(repository, new)  # at the end the newest one whose conflicts are resolved
    while commit.parents and open_conflicts_at(repository, commit.oid):
        commit = read_commit(repository, commit.parents[0])
    before = commit.oid if is_root(commit) else message_id_of(commit)
    raise Refused(
        f"{branch} would keep a merge without the resolution of its {count}",
        hint=f"take back the merge too: scopes rewind {quote(str(branch))} {quote(before[:8])}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchAbandoned(Result):
    """The new status of a branch; `operation` is None if it did not change."""

    kind = "abandon"

    conversation: ConversationId
    branch: BranchName
    status: str
    active_branch: BranchName
    operation: OperationId | None

    @property
    def sentence(self) -> str:
        """The status of the branch, and the active branch, which may have changed."""
        already = " already" if self.operation is None else ""
        return f"{self.conversation}/{self.branch} is {self.status}{already}; the active branch is {self.active_branch}"

    @property
    def answer(self) -> str:
        """The branch."""
        return self.branch


def abandon(repository: Repository, conversation: str, branch: str, *, revive: bool = False) -> BranchAbandoned:
    """Mark a branch as abandoned, or with `revive` as active; if the active branch is abandoned, main becomes active.

    Raises:
        Refused: the branch is main.
    """
    handle = StoreHandle(repository).conversation(conversation)
    status = "active" if revive else "abandoned"
    with exclusive_write(repository):
        target = handle.branch(branch)
        if target.name == MAIN:
            hint = f"delete the whole conversation instead: scopes delete {quote(handle.id)}"
            raise Refused("the branch main cannot be hidden", hint=hint)
        entry = target.entry
        active = handle.active_branch.name
        operation = None
        if entry.status != status:
            tx = Transaction(repository, handle.id)
            tx.set_branch_entry(target.name, replace(entry, status=status))
            if active == target.name and not revive and MAIN in handle.tips:
                tx.activate(MAIN)
                active = MAIN
            verb = "revive" if revive else "abandon"
            operation = tx.commit("abandon", f"{verb} {target}", metadata_message=f"{status} {target.name}").id
    return BranchAbandoned(
        conversation=handle.id, branch=target.name, status=status, active_branch=active, operation=operation
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged(Result):
    """A tag that was created, or deleted if `oid` is None."""

    kind = "tag"

    conversation: ConversationId
    tag: str = field(metadata=named("name"))
    oid: Oid | None
    operation: OperationId

    @property
    @shown
    def removed(self) -> bool:
        """Whether the tag was deleted."""
        return self.oid is None

    @property
    def sentence(self) -> str:
        """What was tagged, or which tag was removed."""
        if self.oid is None:
            return f"removed the tag {self.tag} from {self.conversation}"
        return f"tagged {short_id(self.oid)} of {self.conversation} as {self.tag}"

    @property
    def answer(self) -> str:
        """The tag."""
        return self.tag


class TagRow(NamedTuple):
    """A tag and its message."""

    name: str
    message: MessageHeader

    @property
    def author(self) -> str:
        """The author that people see."""
        return self.message.who

    @property
    def time(self) -> str | None:
        """The time that people see."""
        return self.message.when

    @property
    def subject(self) -> str:
        """The subject that people see."""
        return self.message.line


@dataclass(frozen=True, slots=True, kw_only=True)
class TagList(Result):
    """The tags of a conversation and their messages, sorted by name."""

    rows_in = "tags"
    columns = (
        Column("name", "Tag"),
        Column("message.id", "ID", "id"),
        Column("author"),
        Column("time", form="time"),
        Column("subject"),
        Column("message.oid", "OID", on="template"),
    )
    empty = "The conversation has no tags."

    conversation: ConversationId
    tags: tuple[TagRow, ...]


def list_tags(repository: Repository, conversation: str) -> TagList:
    """List the tags of a conversation."""
    handle = StoreHandle(repository).conversation(conversation)
    tags = sorted(handle.metadata.tags.items())
    return TagList(
        conversation=handle.id, tags=tuple(TagRow(tag, header_of(read_commit(repository, oid))) for tag, oid in tags)
    )


def tag(
    repository: Repository,
    conversation: str,
    name: str,
    message: str | None = None,
    branch: str | None = None,
    *,
    force: bool = False,
) -> Tagged:
    """Tag a message (default: the tip) of a branch (default: the active one); with `force` a tag is moved.

    Raises:
        Refused: a tag or a branch of that name exists, or the name is the beginning of the id of a message.
    """
    handle = StoreHandle(repository).conversation(conversation)
    tag_name = parse_new_tag_name(repository, name, handle.id)
    with exclusive_write(repository):
        if tag_name in handle.tips:
            raise Refused(f"{tag_name!a} is a branch of {handle.id}", hint="choose another name for the tag")
        if tag_name in handle.metadata.tags and not force:
            hint = f"move it: scopes tag -f {quote(handle.id)} {quote(tag_name)} MESSAGE"
            raise Refused(f"tag {tag_name!a} already exists in {handle.id}", hint=hint)
        if tag_name not in handle.metadata.tags and _is_message_id(repository, handle.id, tag_name):
            hint = f"the name comes first: scopes tag {quote(handle.id)} NAME {quote(tag_name)}"
            raise Refused(f"{tag_name!a} is a message of {handle.id}", hint=hint)
        of = handle.branch(branch)
        oid = of.tip if message is None else of.find(message).oid
        return _set_tag(handle, tag_name, oid)


def _is_message_id(repository: Repository, conversation: ConversationId, name: str) -> bool:
    try:
        return could_be_id(name) and resolve_revision(repository, name, conversation).branch is None
    except NotFound:
        return False
    except Ambiguous:
        return True


def delete_tag(repository: Repository, conversation: str, name: str) -> Tagged:
    """Delete a tag, but not its message.

    Raises:
        NotFound: there is no such tag.
    """
    handle = StoreHandle(repository).conversation(conversation)
    with exclusive_write(repository):
        if name not in handle.metadata.tags:
            raise NotFound(f"there is no tag {name!a} in {handle.id}", hint=f"list them: scopes tag {quote(handle.id)}")
        return _set_tag(handle, name, None)


def _set_tag(conversation: ConversationHandle, name: str, oid: Oid | None) -> Tagged:
    change = f"{'tag' if oid else 'remove tag'} {name}"
    tx = Transaction(conversation.repository, conversation.id)
    tx.set_tag(name, oid)
    operation = tx.commit("tag", f"{change} in {conversation.id}", metadata_message=change)
    return Tagged(conversation=conversation.id, tag=name, oid=oid, operation=operation.id)
