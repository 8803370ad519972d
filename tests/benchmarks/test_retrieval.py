"""On real transcripts, search finds more answers than the newest messages contain; skipped without transcripts."""

from __future__ import annotations

from collections import Counter

import pytest

from scopes.importers.formats.base import Source
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from tests.benchmarks import retrieval
from tests.benchmarks.retrieval import AGENTS, Question, grade, prepare, read_questions, rows
from tests.benchmarks.transcripts import FOLDER
from tests.benchmarks.workspace import Workspace
from tests.support.store import make_store

QUESTIONS = read_questions()


@pytest.fixture(scope="module")
def asking(tmp_path_factory):
    """Import the transcripts that the questions are about, once, and prepare the searches."""
    if not FOLDER.is_dir():
        pytest.skip("no transcripts of real agents here")
    home = tmp_path_factory.mktemp("retrieval")
    repository = make_store(home / "store.git")
    files = [path for agent in AGENTS for path in sorted((FOLDER / agent).rglob("*.jsonl"))]
    import_sources(repository, [Source(str(path), path.stat().st_size) for path in files], FORMATS)
    return prepare(repository, str(home / "index"))


@pytest.fixture(scope="module")
def measured(asking):
    return list(rows(asking))


def test_there_are_questions_of_every_kind_and_each_has_answers():
    assert 25 <= len(QUESTIONS) <= 60
    assert all(question.answers and question.question.endswith("?") for question in QUESTIONS)
    assert min(Counter(question.kind for question in QUESTIONS).values()) >= 5
    assert {question.kind for question in QUESTIONS} == {"exact", "paraphrase", "tool-file", "decision"}


def test_a_grade_counts_answers_and_has_the_rank_of_the_first():
    one, two = (Question("exact", "?", word, frozenset(answers)) for word, answers in (("a", "xy"), ("b", "z")))
    grades = grade({one: ["q", "x"], two: []}.__getitem__, [one, two])
    assert grades == (0.25, 0.25)


@pytest.mark.sweep
def test_every_answer_is_a_message_of_the_transcripts(asking):
    known = asking.known
    assert [question.question for question in QUESTIONS if not question.answers <= known] == []


@pytest.mark.sweep
def test_the_top_ten_have_more_answers_at_better_ranks_than_the_newest_ten(measured):
    assert len(measured) == 8
    assert [row.operation for row in measured if row.ours.best <= row.reference.best] == []


@pytest.mark.sweep
def test_search_words_find_three_quarters_of_the_answers(measured):
    recall = {row.operation: row.ours.best for row in measured}
    assert recall["recall@10 of search, all words"] >= 0.75
    assert recall["recall@10 of search, any word"] >= 0.85


def test_without_transcripts_nothing_is_measured_and_a_note_is_given(tmp_path, monkeypatch):
    monkeypatch.setattr(retrieval, "FOLDER", tmp_path / "none")
    work = Workspace(str(tmp_path), quick=True)
    assert list(retrieval.measure(work)) == []
    assert "no transcripts" in work.notes[0]
