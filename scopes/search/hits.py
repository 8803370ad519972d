"""From a row of the index to the message in the store, the place where it stands, and what stands around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scopes.errors import Corrupt, NotFound
from scopes.history.amendments import find_claim
from scopes.history.messages import MESSAGE_FILE, NO_TEXT, MessageHead, head_of, read_message, walk_heads_oldest_first
from scopes.history.revparse import MAIN, list_branch_tips
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.index.index import Index, IndexDamaged
from scopes.index.schema import COLUMNS
from scopes.model.codec import decode
from scopes.model.message import Message
from scopes.search.index_document import texts_of
from scopes.search.snippet import Mark, Piece, cut_snippet
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import find_blob

_PLACES = """
    SELECT value.text, commits.number, commits.oid FROM commits
    JOIN place ON place.entry = commits.number JOIN value ON value.number = place.conversation
    WHERE commits.message = ? ORDER BY value.text, commits.number"""
_FIRST_COMMIT = "SELECT oid FROM commits WHERE message = ? ORDER BY number LIMIT 1"
_REACHED = """
    WITH RECURSIVE reached (entry) AS (
        SELECT tip FROM branch WHERE conversation = ? AND name = ?
        UNION SELECT parent FROM edge JOIN reached ON edge.child = reached.entry
    ) SELECT entry FROM reached"""


class Neighbour(NamedTuple):
    """A message beside one that was found; `message` is there where its commit has no text to show."""

    head: MessageHead
    message: Message | None


class Found(NamedTuple):
    """A message with its place and its surroundings; `claim` is what the branch says has become of it."""

    conversation: ConversationId
    branch: BranchName
    head: MessageHead
    part: str
    snippet: tuple[Piece, ...]
    also: tuple[ConversationId, ...]
    before: tuple[Neighbour, ...]
    after: tuple[Neighbour, ...]
    claim: Mapping[str, object]


class Look(NamedTuple):
    """What shows why a text was found, and the columns that it stands for; without any for all."""

    mark: Mark
    columns: tuple[str, ...]


class Reader:
    """Reads what was found; `chosen` is the conversation that was searched, `context` how many messages around."""

    def __init__(self, repository: Repository, index: Index, chosen: ConversationId | None, context: int) -> None:
        self._repository = repository
        self._index = index
        self._chosen = chosen
        self._context = context
        self._branches: dict[ConversationId, list[BranchName]] = {}
        self._tips: dict[tuple[ConversationId, BranchName], Oid] = {}
        self._reached: dict[tuple[ConversationId, BranchName], frozenset[int]] = {}
        self._lines: dict[tuple[ConversationId, BranchName], list[MessageHead]] = {}

    def read(self, number: int, name: str, looks: Sequence[Look]) -> Found:
        """Read a message of the index; the snippet marks what the first of the looks finds that finds anything.

        Raises:
            IndexDamaged: the store has something else there.
        """
        places = self._index.rows(_PLACES, (number,), (str, int, str))
        places = [place for place in places if self._chosen in (None, place[0])]
        if not places:
            raise IndexDamaged(f"message {name} is nowhere")
        conversation, entry, oid = places[0]
        branch = self._branch_of(conversation, entry)
        head, texts = self._message(oid)
        if head.id != name:
            raise IndexDamaged(f"{oid} is another message")
        part, snippet = _snippet(texts, looks)
        also = tuple(dict.fromkeys(place[0] for place in places if place[0] != conversation))
        before, after = self._around(conversation, branch, head.id)
        claim = self._claim(conversation, branch, head.id)
        return Found(conversation, branch, head, part, snippet, also, before, after, claim)

    def texts(self, number: int) -> tuple[str, ...]:
        """Read all text of a message of the index; raises as `read` does."""
        rows = self._index.rows(_FIRST_COMMIT, (number,), (str,))
        if not rows:
            raise IndexDamaged(f"message {number} has no commit")
        return self._message(rows[0][0])[1]

    def _message(self, oid: Oid) -> tuple[MessageHead, tuple[str, ...]]:
        try:
            commit = read_commit(self._repository, oid)
            body = find_blob(self._repository, commit.tree, MESSAGE_FILE) or b""
            return head_of(commit), texts_of(decode(body))
        except (NotFound, Corrupt) as error:
            raise IndexDamaged(error.message) from error

    def _branch_of(self, conversation: ConversationId, entry: int) -> BranchName:
        """Return the branch that a commit is on: main where that reaches it, otherwise the first by name."""
        if conversation not in self._branches:
            rows = self._index.rows("SELECT name FROM branch WHERE conversation = ?", (conversation,), (str,))
            self._branches[conversation] = sorted((name for (name,) in rows), key=lambda name: (name != MAIN, name))
        branches = self._branches[conversation]
        for branch in branches:
            if len(branches) == 1 or entry in self._entries(conversation, branch):
                return branch
        raise IndexDamaged(f"no branch of {conversation} reaches an entry")

    def _entries(self, conversation: ConversationId, branch: BranchName) -> frozenset[int]:
        key = (conversation, branch)
        if key not in self._reached:
            self._reached[key] = frozenset(row[0] for row in self._index.rows(_REACHED, key, (int,)))
        return self._reached[key]

    def _around(
        self, conversation: ConversationId, branch: BranchName, name: MessageId
    ) -> tuple[tuple[Neighbour, ...], tuple[Neighbour, ...]]:
        if not self._context:
            return (), ()
        key = (conversation, branch)
        if key not in self._lines:
            tip = self._tip(conversation, branch)
            self._lines[key] = list(walk_heads_oldest_first(self._repository, [tip]))
        line = self._lines[key]
        at = next((number for number, head in enumerate(line) if head.id == name), 0)
        before, after = line[max(0, at - self._context) : at], line[at + 1 : at + 1 + self._context]
        return tuple(map(self._neighbour, before)), tuple(map(self._neighbour, after))

    def _neighbour(self, head: MessageHead) -> Neighbour:
        if head.subject != NO_TEXT:
            return Neighbour(head, None)
        try:
            return Neighbour(head, read_message(self._repository, head.oid))
        except (NotFound, Corrupt):
            return Neighbour(head, None)

    def _tip(self, conversation: ConversationId, branch: BranchName) -> Oid:
        key = (conversation, branch)
        if key not in self._tips:
            tip = list_branch_tips(self._repository, conversation).get(branch)
            if tip is None:
                raise IndexDamaged(f"there is no branch {branch}")
            self._tips[key] = tip
        return self._tips[key]

    def _claim(self, conversation: ConversationId, branch: BranchName, name: MessageId) -> Mapping[str, object]:
        try:
            return find_claim(self._repository, self._tip(conversation, branch), name)
        except (NotFound, Corrupt) as error:
            raise IndexDamaged(error.message) from error


def _snippet(texts: tuple[str, ...], looks: Sequence[Look]) -> tuple[str, tuple[Piece, ...]]:
    """Cut the snippet from the first part that holds what was searched for, or else from the first that has text."""
    for look in looks:
        for column, text in zip(COLUMNS, texts, strict=True):
            spans = look.mark(text) if column in (look.columns or COLUMNS) else ()
            if spans:
                return column, cut_snippet(text, spans)
    column, text = next(((c, text) for c, text in zip(COLUMNS, texts, strict=True) if text.strip()), (COLUMNS[0], ""))
    return column, cut_snippet(text, ())
