"""`summarize`: say in short what was said since the last summary, as a message of its own that names its sources."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scopes.clock import format_seconds
from scopes.conversation.append import append_to, plain_message
from scopes.conversation.heads import MessageHead, read_message, walk_heads_newest_first
from scopes.conversation.lookup import branch_tips, find_both
from scopes.errors import Invalid, Refused
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.memory.covered import SUMMARIES, Said, heads_beyond, heads_since_summary, read_said
from scopes.memory.summarizer import (
    DEFAULT_TIMEOUT_SECONDS,
    Summary,
    summarize_built_in,
    summarize_by_command,
)
from scopes.model.keys import leaf
from scopes.result import Result
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import find_entry, walk_blobs

DEFAULT_RATIO = 0.2
_STATE = "state/messages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarized(Result):
    """A summary of `messages` messages; `id` and `oid` are None when it was only to be looked at."""

    id: MessageId | None
    oid: Oid | None
    conversation: ConversationId
    branch: BranchName
    text: str
    messages: int
    ratio: float
    method: str
    compact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """One summary of a branch; it is stale when `changed`, of what it covers, was amended or retracted since."""

    head: MessageHead
    method: str
    messages: int
    changed: tuple[MessageId, ...]

    @property
    def time(self) -> str:
        """When it was made."""
        return format_seconds(self.head.time)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryList(Result):
    """The summaries of a branch, newest first, and how many messages no summary covers yet."""

    conversation: ConversationId
    branch: BranchName
    summaries: tuple[SummaryRow, ...]
    uncovered: int


def summarize(
    repository: Repository,
    where: str,
    *,
    ratio: float = DEFAULT_RATIO,
    every: bool = False,
    dry_run: bool = False,
    built_in: bool = False,
    compact: bool = False,
) -> Summarized:
    """Append a summary of what a branch holds since its last one, or with `every` of the whole branch.

    With `compact` it is a compaction: a context begins there, and what it stands for remains its history.

    Raises:
        Refused: nothing was said since, or the user's summarizer did not do its work; nothing is stored.
        Invalid: the ratio is not above 0 and at most 1.
    """
    if not 0 < ratio <= 1:
        raise Invalid(f"the ratio is {ratio:g}", hint="a share above 0 and at most 1, for example --ratio 0.2")
    chosen, branch = find_both(repository, where, None)
    tip = branch_tips(repository, chosen)[branch]
    heads = heads_beyond(repository, tip, ()) if every else heads_since_summary(repository, tip)
    said = [each for each in read_said(repository, heads) if each.message.text.strip()]
    if not said:
        raise Refused(f"nothing was said on {chosen}/{branch} since its last summary", hint="the whole: --all")
    summary = _write(repository, said, ratio, built_in=built_in)
    done = Summarized(
        id=None,
        oid=None,
        conversation=chosen,
        branch=branch,
        text=summary.text,
        messages=len(said),
        ratio=ratio,
        method=summary.method,
        compact=compact,
    )
    return done if dry_run else _append(repository, done, summary.author, said, tip)


def _write(repository: Repository, said: list[Said], ratio: float, *, built_in: bool) -> Summary:
    command = None if built_in else repository.config.find("scopes.summarizer")
    if not command:
        return summarize_built_in(said, ratio)
    seconds = repository.config.find_integer("scopes.summarizerTimeout", DEFAULT_TIMEOUT_SECONDS)
    return summarize_by_command(command, said, ratio, seconds)


def _append(repository: Repository, done: Summarized, author: str, said: list[Said], tip: Oid) -> Summarized:
    message = plain_message(author, done.text, author_kind="system", kind="compaction" if done.compact else "summary")
    sources = {"messages": [each.head.id for each in said], "tip": tip}
    extra = {"summarizes": sources, "ratio": done.ratio, "method": done.method}
    if done.compact:
        extra["context_root"] = True
    stored = append_to(repository, done.conversation, done.branch, replace(message, extra=extra))
    return replace(done, id=stored.id, oid=stored.oid)


def list_summaries(repository: Repository, where: str) -> SummaryList:
    """List the summaries of a branch, and which of them do not say any more what is there."""
    chosen, branch = find_both(repository, where, None)
    tip = branch_tips(repository, chosen)[branch]
    state = find_entry(repository, read_commit(repository, tip).tree, _STATE)
    touched = set() if state is None else {path for path, _ in walk_blobs(repository, state.oid, "messages/")}
    rows = []
    for head in walk_heads_newest_first(repository, [tip]):
        if head.kind in SUMMARIES:
            message = read_message(repository, head.oid)
            sources = source_ids(message.extra.get("summarizes"))
            changed = tuple(source for source in sources if leaf("messages", source) in touched)
            method = str(message.extra.get("method", "unknown"))
            rows.append(SummaryRow(head=head, method=method, messages=len(sources), changed=changed))
    uncovered = len(read_said(repository, heads_since_summary(repository, tip)))
    return SummaryList(conversation=chosen, branch=branch, summaries=tuple(rows), uncovered=uncovered)


def source_ids(summarizes: object) -> list[MessageId]:
    """Return the messages that a summary says it covers; none where it says nothing that we understand."""
    match summarizes:
        case {"messages": list(messages)}:
            return [MessageId(source) for source in messages if isinstance(source, str)]
    return []
