"""`summarize`: append a message that summarizes the messages since the last summary and names its sources.

The built-in summary consists of the sentences that TextRank ranks highest, within a number of tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from scopes.errors import Busy, Invalid, NotFound, Refused
from scopes.history.handles import BranchHandle, StoreHandle
from scopes.history.messages import (
    find_amendments,
    latest,
    plain_message,
    read_body,
    write_message_blob,
    write_message_commit,
)
from scopes.history.names import list_branch_tips
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.memory.compaction_base import MERGED_BRANCHES, CompactionBase, PreviousSummary, find_compaction_base
from scopes.memory.sentences import split_sentences
from scopes.memory.source_messages import SourceMessage, headers_beyond, headers_since_summary, read_source_messages
from scopes.memory.summarizer_command import BY_RULES, Summary, find_summarizer_command, summarize_by_command
from scopes.memory.textrank import rank_sentences
from scopes.merge.lanes import MarkedLanes
from scopes.model.message import Author
from scopes.result import Result, counted, named, short_id, shown
from scopes.store.graph import walk_oldest_first
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write, require_unpurged
from scopes.tokens.count import Tokenizer

DEFAULT_RATIO = 0.3
_BUILT_IN_AUTHOR = "scopes"
_MAX_CUT_CHARACTERS = 1000
_MAX_MERGES = 10
_Count = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarized(Result):
    """A summary of `messages` messages, and of the compaction `earlier` if it continues from one.

    `id`, `oid` and `operation` are None after a dry run; `counted` is exact or estimate.
    """

    kind = "summary"

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
    compact: bool = field(metadata=named("context_root"))
    operation: OperationId | None = None

    @property
    def sentence(self) -> list[str]:
        """What was summarized, the size of the summary, and its text."""
        done = ("" if self.id else "would have ") + ("compacted" if self.compact else "summarized")
        before = f" after the compaction {short_id(self.earlier)}" if self.earlier else ""
        name = f" in {short_id(self.id)}" if self.id else ""
        about = "" if self.counted == "exact" else "~"
        whose = f"{counted(self.messages, 'message')} with text of {self.conversation}/{self.branch}{before}"
        tokens = f"{about}{self.summary_tokens:,} of {about}{self.original_tokens:,} in texts, without tool calls"
        return [
            f"{done} {whose}{name} ({self.method})",
            f"Tokens: {tokens} ({self.ratio:.0%})",
            *self.text.split("\n"),
        ]

    @property
    def answer(self) -> str:
        """The id of the summary; of one that is not stored the text."""
        return self.id or self.text

    @property
    @shown
    def ratio(self) -> float:
        """The summary's tokens divided by the tokens of what it covers (S4-45)."""
        return round(self.summary_tokens / max(self.original_tokens, 1), 4)


class _Input(NamedTuple):
    """What to summarize: the messages, and the compaction to continue from with its text."""

    messages: list[SourceMessage]
    original_tokens: int
    base: CompactionBase | None = None
    earlier: PreviousSummary | None = None

    @property
    def source_ids(self) -> list[MessageId]:
        """The ids that the summary names as its sources, oldest first."""
        return [*(() if self.base is None else (self.base.head.id,)), *(each.head.id for each in self.messages)]


def summarize(
    repository: Repository,
    branch: str,
    tokenizer: Tokenizer,
    *,
    ratio: float = DEFAULT_RATIO,
    include_all: bool = False,
    dry_run: bool = False,
    built_in: bool = False,
    compact: bool = False,
) -> Summarized:
    """Append a summary of the messages since the last one to a branch (`conversation[/branch]`).

    ratio: the wanted tokens as a share of the original's; the built-in summary stays within it (S4-45, S4-46).
    include_all: summarize the whole branch.
    built_in: do not run the user's summarizer.
    compact: make a compaction, from which contexts start: of the compaction before it and all messages since, whether
        or not a summary covers them.

    Raises:
        Refused: there is nothing new, or the user's summarizer failed; nothing is stored.
        Busy: a message was appended while a compaction was written, or one was purged; nothing is stored.
        Invalid: the ratio is not above 0 and at most 1.
    """
    if not 0 < ratio <= 1:
        raise Invalid(f"invalid ratio {ratio:g}: must be above 0 and at most 1", hint="for example: --ratio 0.3")
    handle = StoreHandle(repository).branch(branch)
    tip = handle.tip
    given = _collect(repository, tip, tokenizer, include_all=include_all, compact=compact)
    since = f"on {handle} since its last {'compaction' if compact else 'summary'}"
    if not given.messages:
        raise Refused(f"there are no new messages {since}", hint="summarize the whole branch: --all")
    summary = _write(repository, given, ratio, tokenizer.count, built_in=built_in)
    if not summary.text:
        raise Refused(f"there is only code {since}", hint="summarize the whole branch: --all")
    if compact:
        merges = describe_merges(repository, handle, tip)
        summary = summary._replace(text="\n\n".join(filter(None, (summary.text, merges))))
    result = Summarized(
        id=None,
        oid=None,
        conversation=handle.conversation.id,
        branch=handle.name,
        text=summary.text,
        messages=len(given.messages),
        earlier=None if given.base is None else given.base.head.id,
        original_tokens=given.original_tokens + (given.earlier.original_tokens if given.earlier else 0),
        summary_tokens=tokenizer.count(summary.text),
        counted=tokenizer.method,
        method=summary.method,
        compact=compact,
    )
    return result if dry_run else _append(repository, result, summary.author, given.source_ids, tip)


def describe_merges(repository: Repository, handle: BranchHandle, tip: Oid) -> str:
    """Return what the last merges of a branch brought together and how their conflicts ended; empty without a merge.

    A model that reads a compaction does not see which messages were of which side.
    """
    commits = list(walk_oldest_first(repository, [tip]))
    lanes = MarkedLanes(repository, handle.conversation.id, commits, handle.name)
    if not lanes:
        return ""
    amendments = find_amendments(repository, tip, lanes.heads)
    marks = list(lanes.walk_marks(lambda head: latest(read_body(repository, head), amendments)))[-_MAX_MERGES:]
    lines = [MERGED_BRANCHES]
    for mark in marks:
        lines.append(f"- {mark.branch} into {mark.into or handle.name}, {mark.content()}")
        lines += [f"  - {line}" for line in mark.digest]
    return "\n".join(lines)


def _collect(repository: Repository, tip: Oid, tokenizer: Tokenizer, *, include_all: bool, compact: bool) -> _Input:
    base = find_compaction_base(repository, tip) if compact and not include_all else None
    if include_all or compact:
        heads = headers_beyond(repository, tip, () if base is None else (base.head.oid,))
    else:
        heads = headers_since_summary(repository, tip)
    messages = [source for source in read_source_messages(repository, heads) if source.text.strip()]
    earlier = base.previous_summary(repository, tokenizer) if base is not None and messages else None
    return _Input(messages, sum(tokenizer.count(source.text) for source in messages), base, earlier)


def _write(repository: Repository, given: _Input, ratio: float, count: _Count, *, built_in: bool) -> Summary:
    command = None if built_in else find_summarizer_command(repository)
    messages, original_tokens, _, earlier = given
    if command is None:
        return summarize_built_in(messages, ratio, count, original_tokens=original_tokens, earlier=earlier)
    try:
        return summarize_by_command(command, messages, ratio, None if earlier is None else earlier.text)
    except Refused as error:
        raise Refused(f"{error.message}; nothing was stored", error.hint) from error


def _append(repository: Repository, result: Summarized, author: str, sources: list[MessageId], tip: Oid) -> Summarized:
    """Store a summary as an operation, so that undo removes it; `tip` is the branch tip it was made from."""
    kind = "compaction" if result.compact else "summary"
    message = plain_message(Author(author, "system"), result.text, kind=kind)
    extra: dict[str, object] = {
        "summarizes": {"branch": result.branch, "messages": sources, "tip": tip},
        "original_tokens": result.original_tokens,
        "summary_tokens": result.summary_tokens,
        "counted": result.counted,
        "ratio": result.ratio,
        "method": result.method,
    }
    if result.compact:
        extra["context_root"] = True
    message = replace(message, extra=extra)
    name = f"{result.conversation}/{result.branch}"
    with exclusive_write(repository):
        require_unpurged(repository, name, [tip])
        blob = write_message_blob(repository, message)
        parent = list_branch_tips(repository, result.conversation).get(result.branch)
        if parent is None:
            raise NotFound(f"branch {name} was deleted meanwhile", hint="restore it: scopes undo")
        if result.compact and parent != tip:  # a context that starts at the compaction would lack the new message
            raise Busy(f"a message was appended to {name} meanwhile; nothing was stored", hint="try again")
        oid = write_message_commit(repository, parent, message, blob)
        verb = "compact" if result.compact else "summarize"
        transaction = Transaction(repository, result.conversation)
        transaction.move_branch(result.branch, parent, oid)
        operation = transaction.commit(verb, f"{verb} {name}").id
    return replace(result, id=message.id, oid=oid, operation=operation)


def summarize_built_in(
    messages: Sequence[SourceMessage],
    ratio: float,
    count: _Count,
    *,
    original_tokens: int,
    earlier: PreviousSummary | None = None,
) -> Summary:
    """Return typed decisions and the highest-ranked sentences, in order, after the previous summary's.

    Either part has at most `ratio` of its original tokens, but at least a few words. Its method is textrank.
    """
    sentences = [(s, source.topic is not None) for source in messages for s in split_sentences(source.text)]
    decisions = [index for index, (_, is_decision) in enumerate(sentences) if is_decision]
    chosen = choose_within([s for s, _ in sentences], int(original_tokens * ratio), count, decisions)
    before = "" if earlier is None else _shorten(earlier.text, int(earlier.original_tokens * ratio), count)
    return Summary("\n".join(filter(None, (before, chosen))), BY_RULES, _BUILT_IN_AUTHOR)


def _shorten(text: str, max_tokens: int, count: _Count) -> str:
    """Return a text if it fits, otherwise its highest-ranked sentences."""
    return text if count(text) <= max_tokens else choose_within(split_sentences(text), max_tokens, count)


def choose_within(sentences: Sequence[str], max_tokens: int, count: _Count, first: Sequence[int] = ()) -> str:
    """Choose the highest-ranked sentences that fit into a number of tokens, and join them in order.

    The indices `first` are preferred. If no sentence fits, the best one is cut.
    """
    ranked = list(dict.fromkeys((*first, *rank_sentences(sentences))))
    chosen: list[int] = []
    remaining = max_tokens
    for index in ranked:
        tokens = count(f"{sentences[index]}\n")
        if tokens <= remaining:
            remaining -= tokens
            chosen.append(index)
    while chosen and count(_joined(sentences, chosen)) > max_tokens:  # the joined text may have more tokens
        chosen.pop()
    return _joined(sentences, chosen) or (_cut(sentences[ranked[0]], max_tokens, count) if ranked else "")


def _joined(sentences: Sequence[str], chosen: Sequence[int]) -> str:
    return "\n".join(sentences[index] for index in sorted(chosen))


def _cut(sentence: str, max_tokens: int, count: _Count) -> str:
    """Cut a sentence to a number of tokens, but keep at least its first word."""
    words = sentence[:_MAX_CUT_CHARACTERS].rstrip("…").split() or ["…"]  # a summary's sentence may be cut already
    cut = f"{words[0][:40]}…"
    for number in range(2, min(len(words), max(max_tokens, 1)) + 1):
        longer = f"{' '.join(words[:number])}…"
        if count(longer) > max_tokens:
            break
        cut = longer
    return cut
