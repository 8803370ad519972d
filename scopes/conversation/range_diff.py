"""`range-diff`: compare two versions of a branch, or two runs of a task, message by message.

The messages are paired by id, as after a rebase, or else by content. Messages of merges are left out, as in git.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from scopes.conversation.diff_lines import diff_lines
from scopes.conversation.pair_messages import Content, pair_messages, read_content, similarity
from scopes.errors import Invalid
from scopes.history.messages import NO_TEXT, MessageHeader, header_of, is_root, read_body, subject_of
from scopes.history.revisions import Revision, resolve_conversation, resolve_revision, resolve_revision_anywhere
from scopes.ids import ConversationId, Oid
from scopes.model.claims import content_of
from scopes.model.message import Message
from scopes.model.tool_calls import summarize_calls
from scopes.result import Result
from scopes.store.graph import list_merge_bases, list_new_commits
from scopes.store.repository import Repository

Mark: TypeAlias = Literal["=", "!", "<", ">"]
_HINT = "for example: scopes range-diff main fix@{1} fix"


class RangeSide(NamedTuple):
    """One of the two ranges: its name, the conversation, and the tip whose messages are compared."""

    name: str
    conversation: ConversationId
    tip: Oid
    messages: int


class NumberedMessage(NamedTuple):
    """A message, its number in its range, counted from 1, and its first line or tool call."""

    number: int
    head: MessageHeader
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RangePair:
    """A row: a message of both ranges (`=` or `!` if it changed), of the old one (`<`) or of the new one (`>`).

    `similarity` is from 0 to 1, and None for a message of one range; `lines` are a unified diff of the content.
    """

    old: NumberedMessage | None = None
    new: NumberedMessage | None = None
    equal: bool = False
    similarity: float | None = None
    lines: tuple[str, ...] = ()

    @property
    def mark(self) -> Mark:
        """The mark of the row, as in git."""
        if self.new is None:
            return "<"
        if self.old is None:
            return ">"
        return "=" if self.equal else "!"


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeDifference(Result):
    """The messages of two ranges in the order of the new one, with those of the old one where they were."""

    old: RangeSide
    new: RangeSide
    pairs: tuple[RangePair, ...]

    @property
    def exit_code(self) -> int:
        """1 if a message differs or is in one range only, otherwise 0, as for `diff`."""
        return 0 if all(pair.equal for pair in self.pairs) else 1


class _Range(NamedTuple):
    name: str
    start: Revision
    tip: Revision


class _Entry(NamedTuple):
    head: MessageHeader
    message: Message
    content: Content


def range_diff(
    repository: Repository, names: Sequence[str], *, conversation: str | None = None, patch: bool = True
) -> RangeDifference:
    """Compare two ranges of messages: `A B` or `A...B`, `BASE A B`, or `A..B C..D`, as in git.

    conversation: where the names are looked up first; without it the first one is looked up in the whole store.
    patch: also return the differing lines of each changed message.

    Raises:
        NotFound, Ambiguous: a revision cannot be resolved.
        Invalid: the names are not one of these forms.
    """
    old_range, new_range = _resolve_ranges(repository, names, conversation)
    old, new = _read_range(repository, old_range), _read_range(repository, new_range)
    matches = pair_messages([entry.content for entry in old], [entry.content for entry in new])
    return RangeDifference(
        old=RangeSide(old_range.name, old_range.tip.conversation, old_range.tip.oid, len(old)),
        new=RangeSide(new_range.name, new_range.tip.conversation, new_range.tip.oid, len(new)),
        pairs=tuple(_rows(old, new, dict(matches), patch=patch)),
    )


def _resolve_ranges(repository: Repository, names: Sequence[str], conversation: str | None) -> tuple[_Range, _Range]:
    resolver = _Resolver(repository, conversation)
    ranges = [".." in name for name in names]
    if len(names) == 1 and "..." in names[0]:
        one, _, two = names[0].partition("...")
        return _symmetric(resolver.revision(one), resolver.revision(two), one, two)
    if len(names) == 2 and not any(ranges):
        return _symmetric(resolver.revision(names[0]), resolver.revision(names[1]), *names)
    if len(names) == 3 and not any(ranges):
        base, left, right = map(resolver.revision, names)
        return _Range(f"{names[0]}..{names[1]}", base, left), _Range(f"{names[0]}..{names[2]}", base, right)
    if len(names) == 2 and all(ranges) and not any("..." in name for name in names):
        (one, _, two), (three, _, four) = (name.partition("..") for name in names)
        first = _Range(names[0], resolver.revision(one), resolver.revision(two))
        return first, _Range(names[1], resolver.revision(three), resolver.revision(four))
    raise Invalid("name two versions: A B, A...B, BASE A B, or A..B C..D", hint=_HINT)


class _Resolver:
    """Resolves names in the conversation that was named, or in that of the first name."""

    def __init__(self, repository: Repository, conversation: str | None) -> None:
        self._repository = repository
        self._conversation = None if conversation is None else resolve_conversation(repository, conversation)

    def revision(self, name: str) -> Revision:
        if self._conversation is None:
            first = resolve_revision(self._repository, name)
            self._conversation = first.conversation
            return first
        return resolve_revision_anywhere(self._repository, name or self._conversation, self._conversation)


def _symmetric(one: Revision, two: Revision, one_name: str, two_name: str) -> tuple[_Range, _Range]:
    """Return the ranges of `A...B`: what only A reaches, and what only B reaches."""
    first, second = one_name or one.conversation, two_name or two.conversation
    return _Range(f"{second}..{first}", two, one), _Range(f"{first}..{second}", one, two)


def _read_range(repository: Repository, named: _Range) -> list[_Entry]:
    """Read the messages of a range, oldest first, without those of merges."""
    bases = list_merge_bases(repository, named.tip.oid, named.start.oid)
    commits = list_new_commits(repository, named.tip.oid, named.start.oid, bases)
    heads: dict[str, MessageHeader] = {}
    for head in (header_of(commit) for commit in commits if not is_root(commit) and len(commit.parents) < 2):
        heads[head.id] = head
    messages = [(head, read_body(repository, head)) for head in heads.values()]
    return [_Entry(head, message, read_content(message)) for head, message in messages]


def _rows(old: Sequence[_Entry], new: Sequence[_Entry], matches: dict[int, int], *, patch: bool) -> Iterator[RangePair]:
    """Yield the rows in the order of git: an old message without a pair comes after those before it."""
    partner = {j: i for i, j in matches.items()}
    shown: set[int] = set()
    i = j = 0
    while i < len(old) or j < len(new):
        while i in shown:
            i += 1
        if i < len(old) and i not in matches:
            yield RangePair(old=_numbered(i, old[i]))
            i += 1
        elif j < len(new) and j not in partner:
            yield RangePair(new=_numbered(j, new[j]))
            j += 1
        elif j < len(new):
            yield _compare(partner[j], old[partner[j]], j, new[j], patch=patch)
            shown.add(partner[j])
            j += 1


def _numbered(position: int, entry: _Entry) -> NumberedMessage:
    subject = subject_of(entry.head, entry.message)
    return NumberedMessage(
        position + 1, entry.head, (summarize_calls(entry.message) or subject) if subject == NO_TEXT else subject
    )


def _compare(i: int, old: _Entry, j: int, new: _Entry, *, patch: bool) -> RangePair:
    same_id = old.head.id == new.head.id
    equal = content_of(old.message) == content_of(new.message) if same_id else old.content.lines == new.content.lines
    return RangePair(
        old=_numbered(i, old),
        new=_numbered(j, new),
        equal=equal,
        similarity=1.0 if equal else round(similarity(old.content, new.content), 4),
        lines=() if equal or not patch else _diff_messages(old, new),
    )


def _diff_messages(old: _Entry, new: _Entry) -> tuple[str, ...]:
    """Return a diff of two messages; the authors are lines of it if they differ in a message with the same id."""
    one, two = old.content.lines, new.content.lines
    if old.message.author != new.message.author and old.head.id == new.head.id:
        one, two = (_author_line(old.message), *one), (_author_line(new.message), *two)
    return diff_lines(one, two)


def _author_line(message: Message) -> str:
    return f"author: {message.author.name} ({message.author.kind})"
