"""The result of a push: a row for each conversation, and notes about branches that were not changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from shlex import quote
from typing import Final, Literal, NamedTuple, TypeAlias

from scopes.ids import BranchName, ConversationId, Oid
from scopes.result import HIDDEN, OMIT_EMPTY, Column, Note, Result, Rows, first_few, plural
from scopes.sync.accept import FetchedConversation
from scopes.sync.change_notes import describe_changes
from scopes.sync.remotes import Remote
from scopes.sync.source_push import SOURCE_COLUMNS, PushedSources
from scopes.sync.unmerged import UnmergedBranch

_CHANGED: Final = frozenset({"created", "moved", "grown"})
PushedStatus: TypeAlias = Literal["new", "updated", "unchanged", "deleted", "refused"]


class ReplacedBranch(NamedTuple):
    """A branch of the remote that lost this many messages by a forced push."""

    branch: BranchName
    messages: int


@dataclass(frozen=True, slots=True)
class PushedConversation:
    """Result of pushing one conversation.

    status: `refused` by the remote or by scopes, for the `reason`; `deleted` on the remote, and nothing is new here
    messages: how many were sent
    diverged: branches that were not changed on the remote, because it has messages that are not in them here
    behind: branches that have newer messages on the remote, such as after a rewind
    unsent: branches with messages of their own that were not sent, because somebody has deleted the branch there
    replaced: branches that lost messages on the remote, because the push was forced
    restored: branches that somebody had deleted there, and that were sent again, because the push was forced
    unmerged: branches that were not forced, because they have messages that no branch here ever had
    """

    conversation: ConversationId
    root: Oid
    status: PushedStatus
    branches: int
    messages: int = 0
    diverged: tuple[BranchName, ...] = ()
    reason: str | None = None
    behind: tuple[BranchName, ...] = ()
    unsent: tuple[BranchName, ...] = field(default=(), metadata=OMIT_EMPTY)
    replaced: tuple[ReplacedBranch, ...] = field(default=(), metadata=OMIT_EMPTY)
    restored: tuple[BranchName, ...] = field(default=(), metadata=HIDDEN)
    unmerged: tuple[UnmergedBranch, ...] = field(default=(), metadata=OMIT_EMPTY)

    @property
    def state(self) -> str:
        """The status; or that it was forced, or left as it is, of which only the metadata may have been sent."""
        return "forced" if self.replaced else "left" if self.diverged and not self.messages else self.status

    @property
    def why(self) -> str:
        """Why something was not sent, or what was sent that is no message."""
        if self.reason and not (self.replaced or self.restored):
            return self.reason
        found = []
        if self.restored:
            found.append(f"sent again: {', '.join(self.restored)}")
        if self.replaced:
            found.append(f"removed there: {', '.join(f'{each.messages} of {each.branch}' for each in self.replaced)}")
        if self.status == "updated" and not (self.messages or self.diverged or self.replaced or self.restored):
            found.append("metadata or branches only")
        if self.diverged:
            found.append(f"left as they are: {', '.join(self.diverged)}")
        if self.behind:
            found.append(f"behind: {', '.join(self.behind)}")
        return "; ".join([*found, *([self.reason] if self.reason else [])])

    @property
    def is_shown(self) -> bool:
        """Return True if the row has something to report."""
        return self.status != "unchanged" or bool(self.diverged or self.behind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed(Result):
    """What a push sent, or with `dry_run` would send.

    `unchanged` is the number of conversations of which the remote had everything; `sources` are the results for the
    original files; `purged` are the roots of conversations that were purged here as a whole, and were deleted there.
    """

    kind = "push"
    rows_in = "rows"
    is_one_row = True
    columns = (
        Column("conversation", form="branch"),
        Column("state", form="state"),
        Column("branches", form="count"),
        Column("messages", form="count"),
        Column("why", "Reason", "below"),
    )
    further = (Rows("sources", SOURCE_COLUMNS),)

    dry_run: bool = field(default=False, metadata=OMIT_EMPTY)
    remote: str
    address: str
    conversations: tuple[PushedConversation, ...]
    unchanged: int
    sources: tuple[PushedSources, ...] = field(default=(), metadata=OMIT_EMPTY)
    purged: tuple[Oid, ...] = field(default=(), metadata=HIDDEN)

    @property
    def rows(self) -> list[PushedConversation]:
        """The conversations, but not one of which only messages that may still grow were not sent: a note names it."""
        return [row for row in self.conversations if row.is_shown]

    @property
    def sentence(self) -> list[str]:
        """What was not sent."""
        return self.remark

    @property
    def remark(self) -> list[str]:
        """The same for a pipe."""
        lines = [f"nothing was sent to {self.remote}: this was a dry run"] if self.dry_run else []
        if self.unchanged:
            seen = " when it was last seen" if self.dry_run else ""
            number = f"{self.unchanged} {plural(self.unchanged, 'conversation')}"
            lines.append(f"{self.remote} had everything of {number}{seen}")
        elif not self.conversations:
            lines.append("there was no conversation to push")
        return lines

    @property
    def exit_code(self) -> int:
        """1 if something was refused or not changed, else 0."""
        refused = any(each.status == "refused" for each in self.sources)
        left = any(each.status == "refused" or each.diverged or each.unsent for each in self.conversations)
        return 1 if left or refused else 0


def explain_unsent(conversation: ConversationId, unsent: Mapping[BranchName, int], option: str) -> str:
    """Return why the messages of some branches were not sent, with the command that sends them."""
    number = sum(unsent.values())
    verb = "is" if number == 1 else "are"
    text = (
        f"somebody has deleted {', '.join(unsent)} on the remote: {number} {plural(number, 'message')} {verb} not sent"
    )
    names = " ".join(quote(f"{conversation}/{name}") for name in unsent)
    return f"{text}; to have {'it' if len(unsent) == 1 else 'them'} there again: scopes push{option} {names} --force"


def explain_unseen(conversation: ConversationId, unseen: Mapping[BranchName, int], remote: str) -> str:
    """Return why branches were not forced: somebody has pushed messages to them that this store had not seen."""
    counts = ", ".join(f"{number} on {name}" for name, number in unseen.items())
    number = sum(unseen.values())
    text = f"{remote} has {number} {plural(number, 'message')} that {'was' if number == 1 else 'were'} not seen here"
    see = f"scopes log {quote(conversation)}/{quote(remote)}/{quote(next(iter(unseen)))}"
    return f"{text} before this push ({counts}): see: {see}; to remove them there, run the same push again"


def note_fetched(rows: Sequence[FetchedConversation], remote: Remote) -> Iterator[Note]:
    """Yield notes about what a push has changed here, because the remote had moved and was fetched."""
    for row in rows:
        changed = [f"{each.local} {each.state}" for each in row.branches if each.state in _CHANGED and each.local]
        changed += ["metadata changed"] if row.metadata else []
        if changed and row.conversation is not None:
            text = f"{remote.name} had moved, so {row.conversation} was fetched first: {', '.join(changed)}"
            yield Note(text, "take it back here: scopes undo")
    yield from describe_changes(rows, remote)


def note_behind(rows: Sequence[PushedConversation], remote: Remote, option: str) -> tuple[Note, ...]:
    """Return a note about branches that have newer messages on the remote."""
    behind = [f"{row.conversation}/{name}" for row in rows for name in row.behind]
    if not behind:
        return ()
    number = len(behind)
    text = f"{number} {plural(number, 'branch')} of {remote.name} {'has' if number == 1 else 'have'} newer messages"
    conversation, _, branch = behind[0].partition("/")
    get = f"scopes merge {quote(conversation)} {quote(remote.name)}/{quote(branch)} --target {quote(branch)}"
    get = get if number == 1 else f"scopes pull{option}"
    hint = f"get them: {get}; or remove them there: scopes push{option} {quote(conversation)} --force"
    return (Note(f"{text}: {first_few(behind)}", hint),)


def note_diverged(
    rows: Sequence[PushedConversation], remote: Remote, option: str, merging: Mapping[ConversationId, str]
) -> tuple[Note, ...]:
    """Return a note about branches that have other messages on the remote.

    merging: "merge" or "rebase", by the conversations in which one is in progress
    """
    diverged = [f"{row.conversation}/{name}" for row in rows for name in row.diverged]
    if not diverged:
        return ()
    number = len(diverged)
    text = f"{number} {plural(number, 'branch')} of {remote.name} {'has' if number == 1 else 'have'} other messages"
    if merging:
        name, kind = next(iter(merging.items()))
        see = f"a {kind} of {name} is in progress: scopes conflicts list {quote(name)}"
        again = f"scopes {quote(kind)} {quote(name)} --continue (or --abort)"
        return (Note(f"{text}: {first_few(diverged)}", f"{see}; then: {again}, and push again"),)
    leave = f"scopes push{option} {quote(diverged[0].partition('/')[0])} --force"
    hint = f"get them: scopes pull{option}; or remove them there: {leave}"
    return (Note(f"{text}: {first_few(diverged)}", hint),)
