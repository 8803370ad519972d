"""`summarize`: say in short what was said since the last summary, as a message of its own that names its sources."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from scopes.conversation.append import plain_message
from scopes.errors import Busy, Invalid, NotFound, Refused
from scopes.history.messages import write_message_blob, write_message_commit
from scopes.history.revparse import list_branch_tips, resolve_branch
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.memory.compaction_base import CompactionBase, find_compaction_base
from scopes.memory.source_messages import SourceMessage, heads_beyond, heads_since_summary, read_source_messages
from scopes.memory.summarizer import (
    Count,
    Counter,
    PreviousSummary,
    Summary,
    find_summarizer_command,
    summarize_built_in,
    summarize_by_command,
)
from scopes.result import Result
from scopes.store.repository import Repository
from scopes.store.transaction import exclusive_write

DEFAULT_RATIO = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarized(Result):
    """A summary of `messages` messages, and of the compaction `earlier` before them where it goes on from one.

    `id`, `oid` and `operation` are None when it was only to be looked at.

    `ratio` is that of its tokens to those of what it covers (S4-45), `counted` exact or estimate.
    """

    id: MessageId | None
    oid: Oid | None
    conversation: ConversationId
    branch: BranchName
    text: str
    messages: int
    earlier: MessageId | None
    original_tokens: int
    summary_tokens: int
    counted: str
    method: str
    compact: bool
    operation: OperationId | None = None

    @property
    def ratio(self) -> float:
        """How much is left, in tokens."""
        return round(self.summary_tokens / max(self.original_tokens, 1), 4)


class _Material(NamedTuple):
    """What a summary is made of: the compaction it goes on from, with what that stands for, and what was said since."""

    said: list[SourceMessage]
    original_tokens: int
    root: CompactionBase | None = None
    earlier: PreviousSummary | None = None

    @property
    def sources(self) -> list[MessageId]:
        """The messages that the summary names, the oldest first."""
        return [*(() if self.root is None else (self.root.head.id,)), *(each.head.id for each in self.said)]


def summarize(
    repository: Repository,
    where: str,
    counter: Counter,
    *,
    ratio: float = DEFAULT_RATIO,
    every: bool = False,
    dry_run: bool = False,
    built_in: bool = False,
    compact: bool = False,
) -> Summarized:
    """Append a summary of what a branch holds since its last one, or with `every` of the whole branch.

    `ratio` is how many of the tokens, by `counter`, are wanted; the built-in summary has no more (S4-45, S4-46). With
    `compact` it is a compaction: a context begins there, and what it stands for remains its history. That is all of
    it: it holds what the compaction before it held, and what was said since, also where a summary has said that.

    Raises:
        Refused: nothing was said since, or the user's summarizer did not do its work; nothing is stored.
        Busy: something was said while a compaction was written; nothing is stored.
        Invalid: the ratio is not above 0 and at most 1.
    """
    if not 0 < ratio <= 1:
        raise Invalid(f"the ratio is {ratio:g}", hint="a share above 0 and at most 1, for example --ratio 0.3")
    chosen, branch = resolve_branch(repository, where, None)
    tip = list_branch_tips(repository, chosen)[branch]
    material = _gather(repository, tip, counter.count, every=every, compact=compact)
    since = f"{chosen}/{branch} since its last {'compaction' if compact else 'summary'}"
    if not material.said:
        raise Refused(f"nothing was said on {since}", hint="the whole: --all")
    summary = _write(repository, material, ratio, counter.count, built_in=built_in)
    if not summary.text:
        raise Refused(f"nothing but code was said on {since}", hint="the whole: --all")
    done = Summarized(
        id=None,
        oid=None,
        conversation=chosen,
        branch=branch,
        text=summary.text,
        messages=len(material.said),
        earlier=None if material.root is None else material.root.head.id,
        original_tokens=material.original_tokens + (material.earlier.original_tokens if material.earlier else 0),
        summary_tokens=counter.count(summary.text),
        counted=counter.method,
        method=summary.method,
        compact=compact,
    )
    return done if dry_run else _append(repository, done, summary.author, material.sources, tip)


def _gather(repository: Repository, tip: Oid, count: Count, *, every: bool, compact: bool) -> _Material:
    root = find_compaction_base(repository, tip) if compact and not every else None
    if every or compact:
        heads = heads_beyond(repository, tip, () if root is None else (root.head.oid,))
    else:
        heads = heads_since_summary(repository, tip)
    said = [each for each in read_source_messages(repository, heads) if each.text.strip()]
    earlier = root.earlier(repository, count) if root is not None and said else None
    return _Material(said, sum(count(each.text) for each in said), root, earlier)


def _write(repository: Repository, material: _Material, ratio: float, count: Count, *, built_in: bool) -> Summary:
    asking = None if built_in else find_summarizer_command(repository)
    said, original_tokens, _, earlier = material
    if asking is None:
        return summarize_built_in(said, ratio, count, original_tokens=original_tokens, earlier=earlier)
    try:
        return summarize_by_command(asking, said, ratio, earlier)
    except Refused as error:
        raise Refused(f"{error.message}; nothing was stored", error.hint) from error


def _append(repository: Repository, done: Summarized, author: str, sources: list[MessageId], tip: Oid) -> Summarized:
    message = plain_message(author, done.text, author_kind="system", kind="compaction" if done.compact else "summary")
    extra: dict[str, object] = {
        "summarizes": {"branch": done.branch, "messages": sources, "tip": tip},
        "original_tokens": done.original_tokens,
        "summary_tokens": done.summary_tokens,
        "counted": done.counted,
        "ratio": done.ratio,
        "method": done.method,
    }
    if done.compact:
        extra["context_root"] = True
    message = replace(message, extra=extra)
    place = f"{done.conversation}/{done.branch}"
    with exclusive_write(
        repository
    ):  # an operation, which `append` is not: nobody has typed this, and undo takes it back
        blob = write_message_blob(repository, message)
        below = list_branch_tips(repository, done.conversation).get(done.branch)
        if below is None:
            raise NotFound(f"there is no branch {place} any more", hint="bring it back: scopes undo")
        if done.compact and below != tip:  # a context that begins there would not have it
            raise Busy(f"something was said on {place} meanwhile; nothing was stored", hint="try again")
        oid = write_message_commit(repository, below, message, blob)
        kind = "compact" if done.compact else "summarize"
        tx = Transaction(repository, done.conversation)
        tx.move_branch(done.branch, below, oid)
        operation = tx.commit(kind, f"{kind} {place}").id
    return replace(done, id=message.id, oid=oid, operation=operation)
