"""Messages without a time: it is shown as unknown, never as the year 1970."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from scopes.conversation.list import list_conversations
from scopes.conversation.log import log
from scopes.conversation.show import show
from scopes.conversation.stats import files, stats
from scopes.importers.formats.openai import OpenAIMessages
from scopes.importers.import_sources import import_sources
from scopes.render.phrases import UNKNOWN_TIME
from tests.importers.reading import source_of
from tests.render.rendering import document, piped, seen
from tests.support.store import make_store

MESSAGES = [{"role": "user", "content": "Sell tea"}, {"role": "assistant", "content": "Done"}]


@pytest.fixture
def undated(tmp_path):
    """Import a list of messages without times."""
    path = tmp_path / "list.json"
    path.write_text(json.dumps(MESSAGES))
    repository = make_store(tmp_path / "store")
    import_sources(repository, [source_of(path)], (OpenAIMessages(),))
    return repository


@pytest.mark.parametrize(
    "describe",
    [
        list_conversations,
        lambda repository: show(repository, "conv-001"),
        lambda repository: show(repository, "conv-001").branches[0],
        lambda repository: stats(repository, "conv-001"),
        lambda repository: files(repository, "conv-001"),
        lambda repository: next(iter(log(repository, "conv-001", bodies=False).items)),
        lambda repository: next(iter(log(repository, "conv-001").items)),
    ],
)
def test_undated_messages_are_never_shown_with_the_year_1970(undated, describe):
    """Command line, output 1: absent means unknown."""
    found = describe(undated)
    assert "1970" not in piped(found) + seen(found) + json.dumps(document(found))


def test_unknown_times_are_absent_in_json_and_a_dash_in_tables(undated):
    row = next(iter(log(undated, "conv-001").items))
    assert "time" not in document(row)
    assert "time" not in document(replace(row, message=None))
    assert piped(row).split("\t")[1] == UNKNOWN_TIME
    assert "last_activity" not in document(list_conversations(undated))["conversations"][0]
    assert (stats(undated).first, stats(undated).duration_seconds) == (None, None)
