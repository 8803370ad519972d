"""`summarize`: say in short what was said since the last summary, as a message of its own that names its sources."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scopes.conversation.append import append_to, plain_message
from scopes.conversation.lookup import branch_tips, find_both
from scopes.errors import Invalid, Refused
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.memory.covered import Said, heads_beyond, heads_since_summary, read_said
from scopes.memory.summarizer import Count, Summary, find_asking, summarize_built_in, summarize_by_command
from scopes.result import Result
from scopes.store.repository import Repository

DEFAULT_RATIO = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarized(Result):
    """A summary of `messages` messages; `id` and `oid` are None when it was only to be looked at.

    `ratio` is that of its tokens to those of what it covers (S4-45).
    """

    id: MessageId | None
    oid: Oid | None
    conversation: ConversationId
    branch: BranchName
    text: str
    messages: int
    original_tokens: int
    summary_tokens: int
    method: str
    compact: bool

    @property
    def ratio(self) -> float:
        """How much is left, in tokens."""
        return round(self.summary_tokens / max(self.original_tokens, 1), 4)


def summarize(
    repository: Repository,
    where: str,
    count: Count,
    *,
    ratio: float = DEFAULT_RATIO,
    every: bool = False,
    dry_run: bool = False,
    built_in: bool = False,
    compact: bool = False,
) -> Summarized:
    """Append a summary of what a branch holds since its last one, or with `every` of the whole branch.

    `ratio` is how many of the tokens, by `count`, are wanted; the built-in summary has no more (S4-45, S4-46). With
    `compact` it is a compaction: a context begins there, and what it stands for remains its history.

    Raises:
        Refused: nothing was said since, or the user's summarizer did not do its work; nothing is stored.
        Invalid: the ratio is not above 0 and at most 1.
    """
    if not 0 < ratio <= 1:
        raise Invalid(f"the ratio is {ratio:g}", hint="a share above 0 and at most 1, for example --ratio 0.3")
    chosen, branch = find_both(repository, where, None)
    tip = branch_tips(repository, chosen)[branch]
    heads = heads_beyond(repository, tip, ()) if every else heads_since_summary(repository, tip)
    said = [each for each in read_said(repository, heads) if each.message.text.strip()]
    if not said:
        raise Refused(f"nothing was said on {chosen}/{branch} since its last summary", hint="the whole: --all")
    original_tokens = sum(count(each.message.text) for each in said)
    summary = _write(repository, said, ratio, original_tokens, count, built_in=built_in)
    if not summary.text:
        raise Refused(f"nothing but code was said on {chosen}/{branch} since its last summary", hint="the whole: --all")
    done = Summarized(
        id=None,
        oid=None,
        conversation=chosen,
        branch=branch,
        text=summary.text,
        messages=len(said),
        original_tokens=original_tokens,
        summary_tokens=count(summary.text),
        method=summary.method,
        compact=compact,
    )
    return done if dry_run else _append(repository, done, summary.author, said, tip)


def _write(
    repository: Repository, said: list[Said], ratio: float, original_tokens: int, count: Count, *, built_in: bool
) -> Summary:
    asking = None if built_in else find_asking(repository)
    if asking is None:
        return summarize_built_in(said, int(original_tokens * ratio), count)
    try:
        return summarize_by_command(asking, said, ratio)
    except Refused as error:
        raise Refused(f"{error.message}; nothing was stored", error.hint) from error


def _append(repository: Repository, done: Summarized, author: str, said: list[Said], tip: Oid) -> Summarized:
    message = plain_message(author, done.text, author_kind="system", kind="compaction" if done.compact else "summary")
    extra: dict[str, object] = {
        "summarizes": {"branch": done.branch, "messages": [each.head.id for each in said], "tip": tip},
        "original_tokens": done.original_tokens,
        "summary_tokens": done.summary_tokens,
        "ratio": done.ratio,
        "method": done.method,
    }
    if done.compact:
        extra["context_root"] = True
    stored = append_to(repository, done.conversation, done.branch, replace(message, extra=extra))
    return replace(done, id=stored.id, oid=stored.oid)
