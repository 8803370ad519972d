"""Search quality: are the known answers to questions about real transcripts among the first ten hits?

The questions and the words that somebody would search by (`retrieval.json`) were written from the transcripts before any
ranking was looked at, and no sentence is from there. Answers are ids of messages: an id is a hash of what was said and
of what came before, so that every import of the same transcript gives the same.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from scopes.context.collect import ReadLimits, collect
from scopes.context.relevance import score, words_of
from scopes.context.turns import Turn
from scopes.history.messages import walk_headers_oldest_first
from scopes.history.names import conversation_ids, list_branch_tips, resolve_revision
from scopes.ids import ConversationId
from scopes.search.run import search
from scopes.store.repository import Repository
from tests.benchmarks.timing import Row, Samples, run
from tests.benchmarks.transcripts import FOLDER
from tests.benchmarks.workspace import Workspace
from tests.support.store import FULL, open_store

AGENTS = ("claude-code", "codex")
SHOWN = 10


class Question(NamedTuple):
    """A question, the words to search for, and the messages that answer it."""

    kind: str
    question: str
    query: str
    answers: frozenset[str]


Ask = Callable[[Question], Sequence[str]]
"""Returns the ids of the messages that are found for a question, in their order, ten at most."""


class Way(NamedTuple):
    """One kind of search, ranked, and the same search with the newest first."""

    name: str
    best: Ask
    newest: Ask
    against: str


class Asking(NamedTuple):
    """The kinds of search, and the ids of all indexed messages."""

    ways: tuple[Way, ...]
    known: frozenset[str]


class Grade(NamedTuple):
    """Mean recall among the first ten hits, and mean reciprocal rank of the first answer."""

    recall: float
    reciprocal_rank: float


def measure(work: Workspace) -> Iterator[Row]:
    """Import the transcripts and yield the rows; nothing if there are no transcripts."""
    if not FOLDER.is_dir():
        work.notes.append("retrieval: no transcripts here (SCOPES_TEST_TRANSCRIPTS names their folder)")
        return
    store = work.new_path("asked-store")
    folders = [str(FOLDER / agent) for agent in AGENTS]
    run([sys.executable, "-m", "scopes", f"--store={store}", "conv", "import", *folders], work.environment)
    yield from rows(prepare(open_store(store, FULL), work.new_path("asked-index")))


def rows(asking: Asking) -> Iterator[Row]:
    """Yield recall and rank of every kind of search."""
    questions = read_questions()
    for way in asking.ways:
        grades = grade(way.best, questions), grade(way.newest, questions)
        for operation, ours, reference in zip(
            (f"recall@{SHOWN} of {way.name}", "  mean reciprocal rank"), *grades, strict=True
        ):
            yield Row(
                operation=operation, ours=Samples((ours,)), reference=Samples((reference,)), against=way.against,
                budget=1.0, unit="of 1", more_is_better=True,
            )  # fmt: skip


def read_questions() -> list[Question]:
    """Read the questions."""
    data = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return [Question(one["kind"], one["question"], one["query"], frozenset(one["answers"])) for one in data]


def grade(ask: Ask, questions: Sequence[Question]) -> Grade:
    """Ask every question."""
    found = [(ask(question), question.answers) for question in questions]
    ranks = [next((1 / place for place, one in enumerate(ids, 1) if one in wanted), 0.0) for ids, wanted in found]
    return Grade(statistics.mean(len(wanted & {*ids}) / len(wanted) for ids, wanted in found), statistics.mean(ranks))


def prepare(repository: Repository, directory: str) -> Asking:
    """Return the kinds of search: all words, any word, any word of the whole question, and the ranking of a context."""

    def found(query: str, *, newest_first: bool) -> list[str]:
        answer = search(repository, query, index_directory=directory, limit=SHOWN, newest_first=newest_first)
        return [hit.head.id for hit in answer.hits]

    def searched(name: str, write: Callable[[Question], str]) -> Way:
        return Way(
            name,
            lambda question: found(write(question), newest_first=False),
            lambda question: found(write(question), newest_first=True),
            "search --newest",
        )

    turns = cache(
        lambda conversation: collect(repository, [resolve_revision(repository, conversation)], ReadLimits(True)).turns
    )
    places = _places(repository)
    ways = (
        searched("search, all words", lambda question: question.query),
        searched("search, any word", lambda question: _any(question.query.split())),
        searched("search, any word of a question", lambda question: _any(words_of(question.question))),
        Way(
            "context --task, one conversation",
            lambda question: _relevant(turns(_place(places, question)), question.question),
            lambda question: [turn.head.id for turn in turns(_place(places, question))[: -SHOWN - 1 : -1]],
            "its newest messages",
        ),
    )
    return Asking(ways, frozenset(places))


def _any(words: Sequence[str]) -> str:
    return " OR ".join(f'"{word}"' for word in (word.strip('"') for word in words) if word != "OR")


def _relevant(turns: Sequence[Turn], task: str) -> list[str]:
    scores = [ranked for _, ranked in score([turn.content for turn in turns], task)]
    best = sorted(range(len(turns)), key=lambda position: (-scores[position], -position))
    return [turns[position].head.id for position in best[:SHOWN]]


def _places(repository: Repository) -> dict[str, ConversationId]:
    """Map each message to its conversation."""
    return {
        head.id: conversation
        for conversation in conversation_ids(repository)
        for tip in list_branch_tips(repository, conversation).values()
        for head in walk_headers_oldest_first(repository, [tip])
    }


def _place(places: dict[str, ConversationId], question: Question) -> ConversationId:
    return places[min(question.answers)]
