"""Search hits: the message of an index row, a branch that contains it, a snippet, and its neighbors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scopes.errors import Corrupt, NotFound
from scopes.history.amendments import find_claim
from scopes.history.messages import (
    NO_TEXT,
    MessageHeader,
    header_of,
    read_body,
    read_message_bytes_at,
    read_stored_body,
    summarize_payload,
    walk_headers_oldest_first,
)
from scopes.history.metadata import read_metadata
from scopes.history.revisions import MAIN, list_branch_tips
from scopes.history.titles import Heading, heading_of, may_be_title
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.index.full_text import Index, IndexDamaged
from scopes.index.schema import COLUMNS
from scopes.model.codec import decode
from scopes.model.message import Message
from scopes.result import Result
from scopes.search.compile import Plan
from scopes.search.execute import Row
from scopes.search.message_documents import texts_of
from scopes.search.predicates import Texts
from scopes.search.query import Node, positive_phrases
from scopes.search.regex import Matcher
from scopes.search.snippet import Piece, SpanFinder, cut_snippet, phrase_finder
from scopes.store.objects import Commit
from scopes.store.repository import Repository, read_commit

_TEXTS = ("text", "reasoning")  # types of parts that have no other values
_COMMITS = """
    SELECT value.text, commits.number, commits.oid FROM commits
    JOIN place ON place.entry = commits.number JOIN value ON value.number = place.conversation
    WHERE commits.message = ? ORDER BY value.text, commits.number"""
_TOOLS = """
    SELECT text FROM value WHERE field = 'tool'
    AND EXISTS (SELECT 1 FROM touched WHERE touched.value = value.number AND touched.message = ?) ORDER BY text"""
_FIRST_COMMIT = "SELECT oid FROM commits WHERE message = ? ORDER BY number LIMIT 1"
_ROOT = """
    SELECT commits.oid FROM place JOIN commits ON commits.number = place.entry
    WHERE place.conversation = (SELECT number FROM value WHERE field = 'conversation' AND text = ?)
    ORDER BY place.entry LIMIT 1"""
_NEXT_OF_KIND = """
    SELECT place.entry, commits.oid FROM place JOIN commits ON commits.number = place.entry
    JOIN message ON message.number = commits.message
    JOIN value AS author_kind ON author_kind.number = message.author_kind
    JOIN value AS kind ON kind.number = message.kind
    WHERE place.conversation = (SELECT number FROM value WHERE field = 'conversation' AND text = ?)
    AND author_kind.text = ? AND kind.text GLOB ? AND place.entry > ? ORDER BY place.entry LIMIT 8"""
_PROMPTS = (("human", "*"), ("injected", "prompt"), ("agent", "*"))  # what `first_prompt` chooses from
_REACHABLE = """
    WITH RECURSIVE reached (entry) AS (
        SELECT tip FROM branch WHERE conversation = ? AND name = ?
        UNION SELECT parent FROM edge JOIN reached ON edge.child = reached.entry
    ) SELECT entry FROM reached"""


class Neighbor(NamedTuple):
    """A message next to a hit; `message` is set if its commit has no text to show."""

    head: MessageHeader
    message: Message | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit(Result):
    """A message that matches: `conversation/branch` contains it, `also` are other conversations that do.

    `part` is the column that the snippet is from. `before` and `after` are the neighboring messages, oldest first.
    `retracted` and `amended` tell whether the branch replaces the message's text. `heading` is the title of the
    conversation, or its first prompt. `tools` are the tools that the message calls, or whose results it has.
    """

    conversation: ConversationId
    branch: BranchName
    head: MessageHeader
    part: str
    snippet: tuple[Piece, ...]
    also: tuple[ConversationId, ...] = ()
    score: float | None = None
    before: tuple[Neighbor, ...] = ()
    after: tuple[Neighbor, ...] = ()
    retracted: bool = False
    amended: bool = False
    heading: Heading | None = None
    tools: tuple[str, ...] = ()


class Highlighter(NamedTuple):
    """Finds what to mark in a snippet, in the given columns; no columns means all."""

    find: SpanFinder
    columns: tuple[str, ...]


def highlighters(plan: Plan, query: Node) -> list[Highlighter]:
    """Return the highlighters of a query: its regular expressions first, then its phrases."""
    phrases = phrase_finder(positive_phrases(query))
    patterns = [Highlighter(_first_match(pattern.find), pattern.columns) for pattern in plan.patterns]
    return patterns if phrases is None else [*patterns, Highlighter(phrases, plan.columns)]


def _first_match(find: Matcher) -> SpanFinder:
    def spans(text: str) -> Sequence[tuple[int, int]]:
        span = find(text)
        return () if span is None else (span,)

    return spans


class HitReader:
    """Reads the hits of index rows.

    `conversation` is the only one that is searched, None for all; `context` is the number of neighbors on either side.
    """

    def __init__(self, repository: Repository, index: Index, conversation: ConversationId | None, context: int) -> None:
        self._repository = repository
        self._index = index
        self._conversation = conversation
        self._context = context
        self._branches: dict[ConversationId, list[BranchName]] = {}
        self._tips: dict[tuple[ConversationId, BranchName], Oid] = {}
        self._reachable: dict[tuple[ConversationId, BranchName], frozenset[int]] = {}
        self._headings: dict[ConversationId, Heading | None] = {}
        self._heads: dict[tuple[ConversationId, BranchName], list[MessageHeader]] = {}

    def read(self, row: Row, marks: Sequence[Highlighter]) -> SearchHit:
        """Read the message of a row; its snippet is marked by the first highlighter that finds anything.

        Raises:
            IndexDamaged: the store does not agree with the index.
        """
        commits = self._index.rows(_COMMITS, (row.number,), (str, int, str))
        commits = [commit for commit in commits if self._conversation in (None, commit[0])]
        if not commits:
            raise IndexDamaged(f"message {row.id} has no commit")
        conversation, entry, oid = commits[0]
        branch = self._branch_of(conversation, entry)
        head, message = self._message(oid, is_shown=True)
        if head.id != row.id:
            raise IndexDamaged(f"{oid} is another message")
        part, snippet = _snippet(_shown_texts(message), marks)
        before, after = self._neighbors(conversation, branch, head.id)
        claim = self._claim(conversation, branch, head.id)
        return SearchHit(
            conversation=conversation,
            branch=branch,
            head=head,
            part=part,
            snippet=snippet,
            also=tuple(dict.fromkeys(commit[0] for commit in commits if commit[0] != conversation)),
            # A score tells which words the index has of a message.
            score=None if row.score is None or self._repository.clear_message else round(-row.score, 4),
            before=before,
            after=after,
            retracted="retracted" in claim,
            amended="amended" in claim,
            heading=self._heading(conversation),
            tools=tuple(name for (name,) in self._index.rows(_TOOLS, (row.number,), (str,))),
        )

    def texts(self, number: int) -> Texts:
        """Read the texts of a message as they may be shown, by its row number; raises as `read` does."""
        rows = self._index.rows(_FIRST_COMMIT, (number,), (str,))
        if not rows:
            raise IndexDamaged(f"message {number} has no commit")
        stored = self._message(rows[0][0], is_shown=False)[1]
        if self._repository.clear_message is None:
            return Texts(texts_of(stored))
        shown = self._message(rows[0][0], is_shown=True)[1]
        return Texts(texts_of(shown), shown != stored, frozenset(_walk_masked_fields(stored, shown)))

    def _message(self, oid: Oid, *, is_shown: bool) -> tuple[MessageHeader, Message]:
        """Read a message; one that is shown may be redacted, so that a snippet is cut from what may leave."""
        try:
            commit = read_commit(self._repository, oid)
            head = header_of(commit)
            if is_shown:
                return head, decode(read_message_bytes_at(self._repository, commit.tree))
            return head, decode(read_stored_body(self._repository, head))
        except (NotFound, Corrupt) as error:
            raise IndexDamaged(error.message) from error

    def _branch_of(self, conversation: ConversationId, entry: int) -> BranchName:
        """Return a branch that reaches a commit: main if it does, otherwise the first by name."""
        branches = self._branches_of(conversation)
        for branch in branches:
            if len(branches) == 1 or entry in self._entries(conversation, branch):
                return branch
        raise IndexDamaged(f"no branch of {conversation} reaches an entry")

    def _branches_of(self, conversation: ConversationId) -> list[BranchName]:
        """Return the branches of a conversation: main first, then by name."""
        if conversation not in self._branches:
            rows = self._index.rows("SELECT name FROM branch WHERE conversation = ?", (conversation,), (str,))
            self._branches[conversation] = sorted((name for (name,) in rows), key=lambda name: (name != MAIN, name))
        return self._branches[conversation]

    def _entries(self, conversation: ConversationId, branch: BranchName) -> frozenset[int]:
        key = (conversation, branch)
        if key not in self._reachable:
            self._reachable[key] = frozenset(row[0] for row in self._index.rows(_REACHABLE, key, (int,)))
        return self._reachable[key]

    def _neighbors(
        self, conversation: ConversationId, branch: BranchName, message: MessageId
    ) -> tuple[tuple[Neighbor, ...], tuple[Neighbor, ...]]:
        if not self._context:
            return (), ()
        key = (conversation, branch)
        if key not in self._heads:
            tip = self._tip(conversation, branch)
            self._heads[key] = list(walk_headers_oldest_first(self._repository, [tip]))
        heads = self._heads[key]
        at = next((number for number, head in enumerate(heads) if head.id == message), 0)
        before, after = heads[max(0, at - self._context) : at], heads[at + 1 : at + 1 + self._context]
        return tuple(map(self._neighbor, before)), tuple(map(self._neighbor, after))

    def _neighbor(self, head: MessageHeader) -> Neighbor:
        if head.subject != NO_TEXT:
            return Neighbor(head, None)
        try:
            return Neighbor(head, read_body(self._repository, head))
        except (NotFound, Corrupt):
            return Neighbor(head, None)

    def _tip(self, conversation: ConversationId, branch: BranchName) -> Oid:
        key = (conversation, branch)
        if key not in self._tips:
            tip = list_branch_tips(self._repository, conversation).get(branch)
            if tip is None:
                raise IndexDamaged(f"there is no branch {branch}")
            self._tips[key] = tip
        return self._tips[key]

    def _heading(self, conversation: ConversationId) -> Heading | None:
        """Return the title of a conversation, or its first prompt; the index knows where that is."""
        if conversation not in self._headings:
            title = read_metadata(self._repository, conversation).title
            self._headings[conversation] = heading_of(
                self._repository, title, () if title else self._beginning(conversation)
            )
        return self._headings[conversation]

    def _beginning(self, conversation: ConversationId) -> list[Commit]:
        """Return the root of a conversation after the first message of each kind that may be its first prompt."""
        rows = self._index.rows(_ROOT, (conversation,), (str,))
        try:
            root = [read_commit(self._repository, oid) for (oid,) in rows]
            found = (self._first_of_kind(conversation, *kinds) for kinds in _PROMPTS)
            return [*(commit for commit in found if commit is not None), *root]
        except (NotFound, Corrupt) as error:
            raise IndexDamaged(error.message) from error

    def _first_of_kind(self, conversation: ConversationId, author_kind: str, kind: str) -> Commit | None:
        """Return the first message that may be a title, of those that `list` walks: on main, or else the first branch.

        A prompt that was edited is only on a fork.
        """
        branches = self._branches_of(conversation)
        reachable = self._entries(conversation, branches[0]) if len(branches) > 1 else None
        after = -1
        while page := self._index.rows(_NEXT_OF_KIND, (conversation, author_kind, kind, after), (int, str)):
            for entry, oid in page:
                after = entry
                if reachable is None or entry in reachable:
                    commit = read_commit(self._repository, oid)
                    if may_be_title(self._repository, commit):
                        return commit
        return None

    def _claim(self, conversation: ConversationId, branch: BranchName, message: MessageId) -> Mapping[str, object]:
        try:
            return find_claim(self._repository, self._tip(conversation, branch), message)
        except (NotFound, Corrupt) as error:
            raise IndexDamaged(error.message) from error


def _walk_masked_fields(stored: Message, shown: Message) -> Iterator[str]:
    """Yield the fields of a message that a query may not find, because another value is shown."""
    if stored.author != shown.author:
        yield from ("author", "agent")
    if stored.model != shown.model:
        yield "model"
    pairs = zip(stored.parts, shown.parts, strict=True)
    if stored.files != shown.files or any(one != other and one.type not in _TEXTS for one, other in pairs):
        yield from ("file", "tool")


def _shown_texts(message: Message) -> tuple[str, ...]:
    """Return the texts of a message; the values of a typed message without text have the names of their fields."""
    texts = texts_of(message)
    return (summarize_payload(message.payload), *texts[1:]) if message.payload and not message.text else texts


def _snippet(texts: tuple[str, ...], marks: Sequence[Highlighter]) -> tuple[str, tuple[Piece, ...]]:
    """Return the column and the snippet of the first match; without a match, of the first column with text."""
    for highlighter in marks:
        for column, text in zip(COLUMNS, texts, strict=True):
            spans = highlighter.find(text) if column in (highlighter.columns or COLUMNS) else ()
            if spans:
                return column, cut_snippet(text, spans)
    column, text = next(((c, text) for c, text in zip(COLUMNS, texts, strict=True) if text.strip()), (COLUMNS[0], ""))
    return column, cut_snippet(text, ())
