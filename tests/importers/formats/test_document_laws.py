"""Laws of the formats that are one JSON object, or an array of them: damage loses nothing else, growth adds only what is new."""

from __future__ import annotations

import json
import random
from io import BytesIO

import pytest
from hypothesis import HealthCheck, settings

from scopes.errors import CannotImport
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.importers.formats.base import choose_format
from scopes.importers.formats.chatgpt import ChatGpt
from scopes.importers.formats.events import Draft, Session
from scopes.importers.formats.records import BLOCK_BYTES
from scopes.importers.formats.registry import FORMATS
from tests.importers.damage import walk_paths
from tests.importers.format_samples import DOCUMENTS, chat, written
from tests.importers.formats import test_chatgpt
from tests.importers.reading import bytes_source, drafts, events_of, unparsed
from tests.importers.stores import branch_words
from tests.importers.streams import import_paths
from tests.support.examples import examples, sample

each_format = pytest.mark.parametrize("name", DOCUMENTS)
drawn = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def whole(name):
    """Return the format and the whole document."""
    make, count = DOCUMENTS[name]
    return next(known for known in FORMATS if known.name == name), make(count)


@each_format
def test_a_cut_keeps_the_messages_before_it_and_is_counted(name):
    form, document = whole(name)
    data = written(document)
    kept = [draft.parts for draft in drafts(events_of(form, data))]
    for at in sample(range(1, len(data) - 3), 12):
        events = events_of(form, data[:at])
        assert unparsed(events) or data[:at].rstrip()[-1:] in b"[},"  # a cut between two records loses none
        assert all(draft.parts in kept for draft in drafts(events) if draft.key != events[-1].open)


def test_a_message_that_vanishes_stays_on_a_branch(repository, tmp_path):
    path = tmp_path / "conversations.json"
    path.write_bytes(written(chat(7)))
    import_paths(repository, path)
    path.write_bytes(written(chat(5)))
    import_paths(repository, path)
    (conversation,) = conversation_ids(repository)
    names = list_branch_tips(repository, conversation)
    (lost,) = [name for name in names if name.startswith("abandoned")]
    assert branch_words(repository, lost, conversation) == "Name a colour Blue And a tone? Dark blue"
    assert branch_words(repository, "main", conversation) == "Name a colour Blue"


@pytest.mark.parametrize(
    "text", ["\x1b]0;owned\x07", "a\u2028b", "\x00", "\ud83d", "}{", "é" * 5000, "NaN", "\\ud800"], ids=range(8)
)
@each_format
def test_a_hostile_text_is_kept_as_it_is(name, text):
    form, document = whole(name)
    old = {"chatgpt": "Blue", "claude-ai": "Two", "mini-swe-agent": "I look.", "atif": "I look.", "swe-agent": "edited"}
    changed = json.dumps(document).replace(json.dumps(old.get(name, "Done.")), json.dumps(text))
    parts = [part for draft in drafts(events_of(form, changed.encode())) for part in draft.parts]
    assert text in [part.fields.get("output", part.fields.get("text")) for part in parts]


@pytest.mark.parametrize("deep", ["[", '{"a":'])
@each_format
def test_deep_nesting_is_kept_and_counted(name, deep):
    form, document = whole(name)
    closing = {"[": "]", '{"a":': "}"}[deep]
    paths = [
        path for path in walk_paths(document) if path and path[-1] in {"content", "message", "llm_message", "action"}
    ]
    nested = deep * 5000 + "1" + closing * 5000
    for path in sample(paths, 3):
        marked = json.loads(json.dumps(document))
        inner = marked
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = "@@"
        events = events_of(form, json.dumps(marked).replace('"@@"', nested).encode())
        assert unparsed(events)


class CountingStream(BytesIO):
    """Counts the bytes that were read."""

    count = 0

    def read(self, size=-1):
        data = super().read(size)
        self.count += len(data)
        return data


def test_an_export_is_read_one_conversation_at_a_time(monkeypatch):
    long = "x" * (BLOCK_BYTES // 4)
    each = [
        test_chatgpt.conversation(str(n), test_chatgpt.ROOT, test_chatgpt.node("a", "root", "user", long))
        for n in range(24)
    ]
    source = bytes_source(json.dumps(each).encode())
    stream = CountingStream(source.data)
    monkeypatch.setattr(type(source), "open", lambda _: stream)
    counts = [stream.count for event in ChatGpt().walk_events(source) if isinstance(event, Session)]
    assert len(counts) == 24
    assert counts[0] <= 3 * BLOCK_BYTES < 6 * BLOCK_BYTES <= counts[-1]


def test_conversations_with_one_id_are_different_sessions():
    twice = [test_chatgpt.conversation("a", *test_chatgpt.TREE), test_chatgpt.conversation("a", *test_chatgpt.TREE[:3])]
    events = events_of(ChatGpt(), json.dumps(twice).encode())
    names = [event.native_id for event in events if isinstance(event, Session)]
    assert names == ["conversation-a", "conversation-a#2"]


def test_a_long_line_of_messages_is_read_in_any_order():
    nodes = [test_chatgpt.node(str(n), str(n - 1), "user", f"n{n}") for n in range(300)]
    random.Random(5).shuffle(nodes)
    found = [
        event
        for event in events_of(ChatGpt(), json.dumps([test_chatgpt.conversation("a", *nodes)]).encode())
        if isinstance(event, Draft)
    ]
    assert [draft.parts[0].text for draft in found] == [f"n{n}" for n in range(300)]


def test_a_zip_archive_is_refused_with_the_cure():
    with pytest.raises(CannotImport, match="a zip archive") as refused:
        choose_format(FORMATS, bytes_source(b"PK\x03\x04" + bytes(40)))
    assert refused.value.hint == "unpack it, and import what is in it"
