"""Fields of a query: times, models and tags."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.branch import tag
from scopes.importers.formats.openai import OpenAIMessages
from scopes.importers.import_sources import import_sources
from scopes.render.phrases import UNKNOWN_TIME
from scopes.search.run import search
from tests.importers.reading import source_of
from tests.render.rendering import document, piped, seen
from tests.support.history import history, say


@pytest.fixture
def ask(repository, directory):
    """Search the store."""
    return lambda query, **options: search(repository, query, index_directory=str(directory), **options)


def ids(found):
    """Return the ids of the hits, in order."""
    return [hit.head.id for hit in found.hits]


@pytest.fixture
def undated(repository, tmp_path):
    """Two messages without a time, then one with a time; all contain tea."""
    path = tmp_path / "list.json"
    path.write_text(json.dumps([{"role": "user", "content": "Sell tea"}, {"role": "assistant", "content": "Tea sold"}]))
    import_sources(repository, [source_of(path)], (OpenAIMessages(),))
    history(repository, conversation="dated")
    return say(repository, "dated", "green tea", time="1999-01-01T00:00:00Z")


def test_an_unknown_time_is_never_shown_as_1970(ask, undated):
    """Command line, output 1: an absent time means unknown."""
    found = ask("sell OR sold")
    assert len(found.hits) == 2
    assert "1970" not in piped(found) + seen(found) + json.dumps(document(found))
    assert all("time" not in hit["message"] for hit in document(found)["messages_found"])
    assert {row.split("\t")[3] for row in piped(found).splitlines()} == {UNKNOWN_TIME}


@pytest.mark.parametrize(
    ("query", "hits"),
    [
        ("tea before:2020-01-01", 1),
        ("tea before:1990-01-01", 0),
        ("tea after:1960-01-01", 1),
        ("tea -before:2020-01-01", 2),
        ("tea -after:1960-01-01", 2),
    ],
)
def test_before_and_after_match_only_messages_with_a_known_time(ask, undated, query, hits):
    """Their negation matches all others."""
    assert len(ask(query).hits) == hits


def test_newest_first_puts_messages_of_unknown_time_last(ask, undated):
    found = ask("tea", newest_first=True)
    assert (ids(found)[0], len(found.hits)) == (undated.id, 3)


def test_a_message_of_unknown_model_matches_only_the_negated_field(repository, ask):
    history(repository)
    known, other = say(repository, "conv-001", "tea", model="opus"), say(repository, "conv-001", "tea")
    assert ids(ask("tea model:opus")) == [known.id]
    assert ids(ask("tea -model:opus")) == [other.id]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("tag:v1", ["alpha"]),
        ("tag:*", ["alpha", "beta", "gamma"]),
        ("tag:v*", ["alpha", "beta"]),
        ("tag:v?", ["alpha", "beta"]),
        ("-tag:v*", ["delta", "gamma"]),
        ("tag:v[12]", []),
        ("tag:w*", []),
    ],
)
def test_a_tag_may_contain_wildcards(repository, ask, query, words):
    drawn = history(repository, "main: alpha beta gamma delta")
    for name, word in (("v1", "alpha"), ("v2", "beta"), ("release", "gamma")):
        tag(repository, drawn.conversation, name, drawn.ids[word])
    tag(repository, drawn.conversation, "begin", drawn.root)
    assert sorted(ids(ask(query))) == sorted(drawn.ids[word] for word in words)
