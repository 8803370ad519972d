"""Laws of every format: it takes its own files only, reads any bytes, adds only what is new, and gives the bytes back."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.errors import CannotImport
from scopes.exporters.export import export
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.importers.formats.base import choose_format
from scopes.importers.formats.registry import FORMATS
from tests.importers.damage import damaged, draw_damaged, odd_records
from tests.importers.format_samples import DOCUMENTS, RECORDS, SAMPLES, lines, written
from tests.importers.reading import bytes_source, events_of
from tests.importers.stores import branch_words, count_objects
from tests.importers.streams import import_paths
from tests.support.examples import examples
from tests.support.store import make_store

BY_NAME = {known.name: known for known in FORMATS}
each_sample = pytest.mark.parametrize("name", SAMPLES)
drawn = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def whole(name):
    """Return the format of a sample, and its file when it is complete."""
    form, moments = SAMPLES[name]
    return BY_NAME[form], moments[-1]


def words_of(store):
    """Return the texts of all branches of all conversations."""
    return {
        (conversation, branch): branch_words(store, branch, conversation)
        for conversation in conversation_ids(store)
        for branch in list_branch_tips(store, conversation)
    }


def test_every_format_has_a_sample():
    assert {form for form, _ in SAMPLES.values()} == set(BY_NAME)


@each_sample
def test_a_file_is_of_one_format_alone(name):
    """Lists of OpenAI messages may have any fields, so they come after all formats that know theirs."""
    form, data = whole(name)
    assert choose_format(FORMATS, bytes_source(data)).name == form.name
    takers = [each.name for each in FORMATS if each.sniff(data)]
    assert [taker for taker in takers if taker != "openai-messages" or form.name == taker] == [form.name]


@each_sample
@drawn
@given(data=st.data())
def test_damaged_bytes_are_read_or_refused(name, data):
    form, intact = whole(name)
    read_or_refuse(form, data.draw(damaged(intact)) if data.draw(st.booleans()) else draw_damaged(data, intact))


@pytest.mark.parametrize("name", RECORDS)
@drawn
@given(data=st.data())
def test_records_with_odd_values_are_read_or_refused(name, data):
    read_or_refuse(BY_NAME[name], lines(data.draw(odd_records(RECORDS[name][0]))))


@pytest.mark.parametrize("name", DOCUMENTS)
@drawn
@given(data=st.data())
def test_a_document_with_odd_values_is_read_or_refused(name, data):
    make, count = DOCUMENTS[name]
    document = make(count)
    read_or_refuse(BY_NAME[name], written(data.draw(odd_records([document]))[0]))
    read_or_refuse(BY_NAME[name], lines(data.draw(odd_records(document if isinstance(document, list) else [document]))))


def read_or_refuse(form, data):
    """Read a source, with the checks that hold for every source, unless the format refuses it."""
    if form.sniff(data):
        with suppress(CannotImport):
            events_of(form, data)


@each_sample
def test_a_file_that_grows_gets_its_new_messages_only(tmp_path, name):
    grown, at_once = make_store(tmp_path / "grown.git"), make_store(tmp_path / "whole.git")
    path = tmp_path / "session.jsonl"
    for moment in SAMPLES[name][1]:
        path.write_bytes(moment)
        import_paths(grown, path)
        assert import_paths(grown, path).operation is None
    import_paths(at_once, path)
    assert words_of(at_once).items() <= words_of(grown).items()
    assert not [branch for _, branch in words_of(grown) if branch.startswith("abandoned")]


@each_sample
def test_the_original_bytes_come_back_and_a_second_import_writes_nothing(tmp_path, name):
    store, path = make_store(tmp_path / "store.git"), tmp_path / "session.jsonl"
    path.write_bytes(whole(name)[1])
    import_paths(store, path)
    before = count_objects(store)
    assert import_paths(store, path).operation is None
    assert count_objects(store) == before
    found = b"".join(export(store, conversation_ids(store)[0], format_name="original").pieces)
    assert found == path.read_bytes()


FOREIGN = {
    "factory droid": [
        {"type": "session_start", "id": "c3", "title": "fix", "version": 2, "cwd": "/home/dev/shop"},
        {"type": "message", "id": "1", "timestamp": "2026-09-10T08:00:01Z", "message": {"role": "user", "content": [{"type": "text", "text": "x"}]}, "parentId": None},
    ],
    "antigravity": [{"step_index": 0, "source": "USER_EXPLICIT", "type": "USER_INPUT", "status": "DONE", "created_at": "2026-09-10T08:00:00Z", "content": "x"}],
    "copilot chat": [{"version": 3, "sessionId": "b6", "requests": [{"requestId": "r", "timestamp": 1789027200123, "message": {"text": "x"}, "response": [{"value": "y"}]}]}],
    "copilot chat lines": [
        {"kind": 0, "v": {"version": 3, "sessionId": "50", "requests": []}},
        {"kind": 2, "k": ["requests"], "v": [{"requestId": "r", "message": {"text": "x"}, "response": [{"value": "y"}]}]},
    ],
    "roo code messages": [[{"ts": 1789027200123, "type": "say", "say": "text", "text": "add a test"}]],
}  # fmt: skip


@pytest.mark.parametrize("program", FOREIGN)
def test_the_sessions_of_programs_that_are_not_known_are_not_read_as_those_of_others(program):
    """A file that is read wrongly is worse than one that is not read."""
    with pytest.raises(CannotImport, match="unknown format"):
        choose_format(FORMATS, bytes_source(lines(FOREIGN[program])))
