"""A folder of OpenHands is one conversation, of the SDK and of versions before 1.0, and its bytes are its files."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.errors import CannotImport
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.importers.discovery import find_session_file, find_sources
from scopes.importers.expand import find_folder_of
from scopes.importers.formats.openhands import OpenHands
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.importers.verify_source import verify_source
from scopes.model.message import FileTouch, Part
from tests.importers.damage import odd_records
from tests.importers.databases import conversations_in, lines_of
from tests.importers.formats.openhands_folders import (
    CONVERSATION,
    EDIT,
    NATIVE_ID,
    OLD_EVENTS,
    STATE,
    action,
    metadata,
    observation,
    old_folder,
    sdk_folder,
    write,
)
from tests.importers.formats.test_every_format import drawn
from tests.importers.formats.test_openhands import EVENTS, TASK
from tests.importers.reading import drafts, events_of, states, unparsed
from tests.importers.stores import count_objects
from tests.importers.streams import import_paths
from tests.support.store import make_store


@pytest.fixture
def store(tmp_path):
    return make_store(tmp_path / "store.git")


def read(folder):
    """Return the events of the conversation in a folder."""
    (source,) = conversations_in(*find_sources(str(folder)))[0]
    return events_of(OpenHands(), source.open().read())


def read_events(tmp_path, *events):
    return read(old_folder(tmp_path, events))


def kinds(events):
    return [(draft.kind, draft.author.kind, len(draft.parts)) for draft in drafts(events)]


def test_a_folder_of_the_sdk_has_the_messages_of_its_events(tmp_path):
    events = read(sdk_folder(tmp_path))
    assert [draft.parts for draft in drafts(events)] == [
        draft.parts for draft in drafts(events_of(OpenHands(), json.dumps(EVENTS).encode()))
    ]
    assert (states(events)[0], unparsed(events)) == ("base_state", [])


def test_the_session_is_what_its_folder_and_its_state_say(tmp_path):
    session = read(sdk_folder(tmp_path))[0]
    assert (session.native_id, session.cwd, session.title) == (NATIVE_ID, "/repo", "Fix the limit")
    assert session.created == "2026-06-16T05:39:01.5Z"


def test_a_folder_without_a_state_is_a_conversation_too(tmp_path):
    folder = sdk_folder(tmp_path)
    (folder / "base_state.json").unlink()
    events = read(folder)
    assert (events[0].native_id, len(drafts(events))) == (NATIVE_ID, 5)


def test_every_folder_below_a_folder_is_a_source_of_its_own(tmp_path):
    sdk_folder(tmp_path / "conversations")
    old_folder(tmp_path / "sessions")
    sources = find_sources(str(tmp_path))
    assert [os.path.basename(source.path) for source in sources] == [CONVERSATION, "5f3a"]
    found, skipped = conversations_in(*sources)
    assert ([source.name for source in found], skipped) == ([CONVERSATION, "5f3a"], [])


def test_a_folder_named_events_of_another_program_is_none(tmp_path):
    write(tmp_path / "x", "events/today.json", [])
    assert [source.path for source in find_sources(str(tmp_path / "x"))] == [str(tmp_path / "x/events/today.json")]


@pytest.mark.parametrize("make", [sdk_folder, old_folder])
def test_a_conversation_without_events_says_what_is_missing(tmp_path, make):
    folder = make(tmp_path / "conversations")
    shutil.rmtree(folder / "events")
    for named in (folder, tmp_path):
        with pytest.raises(CannotImport, match="is a conversation of OpenHands without events: there is no file such"):
            find_sources(str(named))
    other, skipped = sdk_folder(tmp_path / "others"), []
    assert [source.path for source in find_sources(str(tmp_path), skipped)] == [str(other)]
    reasons = [(each.path, each.reason.partition(":")[0], each.error) for each in skipped]
    assert reasons == [(str(folder), "a conversation of OpenHands without events", None)]


@pytest.mark.parametrize("name", ["base_state.json", "TASKS.json", "events"])
def test_one_file_of_a_conversation_that_is_named_alone_is_answered_with_its_folder(tmp_path, store, name):
    folder = sdk_folder(tmp_path)
    write(folder, "TASKS.json", [])
    path = folder / name if name.endswith(".json") else next((folder / name).iterdir())
    with pytest.raises(CannotImport, match="unknown format") as error:
        import_paths(store, path)
    assert error.value.hint == f"it is one file of a conversation: name its folder: scopes import {folder}"
    assert [source.name for source in conversations_in(*find_sources(str(folder)))[0]] == [CONVERSATION]


def test_a_folder_of_another_program_with_files_of_these_names_is_read_as_before(tmp_path):
    write(tmp_path / "x", "metadata.json", {"name": "x"})
    assert [source.path for source in find_sources(str(tmp_path / "x"))] == [str(tmp_path / "x/metadata.json")]


def test_events_are_in_the_order_of_their_numbers(tmp_path):
    folder = old_folder(tmp_path, [action(number, "message", "user", content=f"{number}") for number in range(12)])
    assert [draft.parts[0].text for draft in drafts(read(folder))] == [str(number) for number in range(12)]


def test_a_conversation_that_another_one_started_is_a_branch_of_it(tmp_path, store):
    folder = sdk_folder(tmp_path)
    sub = sdk_folder(folder / "subagents", [TASK], name="f" * 32)
    done = import_sources(store, find_sources(str(folder)), FORMATS)
    assert [(row.branches, row.messages) for row in done.conversations] == [(2, 6)]
    assert import_sources(store, find_sources(str(sub)), FORMATS).operation is None, "the same bytes by themselves"


def test_a_second_import_writes_nothing_and_a_grown_one_only_what_is_new(tmp_path, store):
    folder = sdk_folder(tmp_path, EVENTS[:-1])
    import_sources(store, find_sources(str(folder)), FORMATS)
    objects = count_objects(store)
    assert import_sources(store, find_sources(str(folder)), FORMATS).operation is None
    assert count_objects(store) == objects
    sdk_folder(tmp_path, state={**STATE, "stats": {"changed": 1}})
    done = import_sources(store, find_sources(str(folder)), FORMATS)
    assert [(row.new_messages, row.branches) for row in done.conversations] == [(1, 1)]
    assert list(list_branch_tips(store, "conv-001")) == ["main"]
    assert verify_source(store, str(folder), FORMATS).whole


def test_joined_events_that_were_imported_before_are_the_same_conversation(tmp_path, store):
    state = {**EVENTS[0], "value": {**EVENTS[0]["value"], "id": NATIVE_ID}}
    joined = write(tmp_path, "joined.jsonl", "".join(json.dumps(event) + "\n" for event in [state, *EVENTS[1:]]))
    import_paths(store, joined)
    done = import_sources(store, find_sources(str(sdk_folder(tmp_path, [state, *EVENTS[1:]]))), FORMATS)
    assert (conversation_ids(store), [row.new_messages for row in done.conversations]) == (["conv-001"], [0])


def test_files_with_secrets_copies_and_code_are_not_read(tmp_path):
    folder = old_folder(tmp_path)
    (folder / "agent_state.pkl").write_bytes(b"\x80\x04")
    (source,) = conversations_in(*find_sources(str(folder)))[0]
    names = [line["file"].removeprefix("conversations/5f3a/") for line in lines_of(source)]
    assert names == ["metadata.json", *(f"events/{number}.json" for number in range(10))]


def test_links_are_not_followed(tmp_path):
    folder = sdk_folder(tmp_path)
    write(tmp_path, "secret.json", TASK)
    os.symlink(tmp_path / "secret.json", folder / "events/event-00099-00000000.json")
    os.symlink(tmp_path / "secret.json", folder / "TASKS.json")
    os.symlink(tmp_path, folder / "subagents")
    (source,) = conversations_in(*find_sources(str(folder)))[0]
    assert len(lines_of(source)) == 1 + len(EVENTS)


def test_a_damaged_file_costs_nothing_else(tmp_path):
    folder = sdk_folder(tmp_path)
    write(folder, "events/event-00098-00000000.json", '{"cut')
    write(folder, "events/event-00099-00000000.json", "[]")
    events = read(folder)
    assert (len(drafts(events)), unparsed(events)) == (5, ["a file that is no JSON object"] * 2)


def test_a_file_of_an_event_is_a_record_of_its_folder(tmp_path):
    folder = sdk_folder(tmp_path)
    event = next((folder / "events").iterdir())
    assert find_folder_of(str(event)) == str(folder)


def test_a_session_is_found_by_its_id_in_the_standard_folder(tmp_path):
    folder = sdk_folder(tmp_path / ".openhands" / "conversations")
    found = find_session_file(FORMATS, "openhands", NATIVE_ID, {}, str(tmp_path))
    assert found == f"{folder}#{CONVERSATION}"
    (source,) = find_sources(found)
    assert source.name == CONVERSATION


def test_an_old_session_has_prompts_answers_and_results(tmp_path):
    events = read(old_folder(tmp_path))
    assert kinds(events) == [
        ("system", "injected", 1), ("prompt", "human", 1), ("answer", "agent", 3), ("tool-results", "tool", 2), ("answer", "agent", 1),
    ]  # fmt: skip
    assert (events[0].native_id, events[0].title, unparsed(events)) == ("5f3a", "An old one", [])
    assert states(events) == ["metadata", "action/recall", "observation/recall", "observation/agent_state_changed"]


def test_calls_of_one_response_of_an_old_version_are_one_answer_with_its_counts(tmp_path):
    first, results, last = drafts(read(old_folder(tmp_path)))[2:]
    assert first.parts[1] == Part("tool_call", {"call_id": "c1", "name": "str_replace_editor", "input": EDIT})
    assert (first.model, first.native_ids) == ("claude-x", ("r1", "event-4", "event-5"))
    assert [first.usage[name] for name in ("input_uncached", "cache_read", "output")] == [400, 100, 20]
    assert [last.usage[name] for name in ("input_uncached", "cache_read", "output")] == [100, 500, 30]
    assert results.files == (FileTouch("/repo/app.py", "edit"),)
    fields = results.parts[1].fields
    assert (fields["output"], fields["exit_code"], fields["is_error"]) == ("1 failed", 1, True)


def test_a_version_without_calls_of_the_model_has_its_actions_as_calls(tmp_path):
    run = action(1, "run", command="ls", thought="I look.", is_confirmed="confirmed")
    events = read_events(tmp_path, run, observation(2, "run", "a.py", cause=1, exit_code=0))
    answer, result = drafts(events)
    assert answer.parts == (
        Part("text", {"text": "I look."}),
        Part("tool_call", {"call_id": "event-1", "name": "execute_bash", "input": {"command": "ls"}}),
    )
    assert (result.parts[0].fields["call_id"], result.parts[0].fields["exit_code"]) == ("event-1", 0)


@pytest.mark.parametrize(
    ("event", "kind", "author"),
    [
        (action(1, "message", "environment", content="x"), "meta", "injected"),
        (action(1, "condensation", summary="so far", forgotten_event_ids=[1]), "compaction", "system"),
        (action(1, "finish", final_thought="done", thought="ok"), "answer", "agent"),
        (observation(1, "error", "broken"), "error", "system"),
        (observation(1, "error", "broken", cause=0), "tool-results", "tool"),
        (observation(1, "user_rejected", "no", cause=0), "tool-results", "tool"),
        (observation(1, "think", "noted", cause=0, called=metadata("c9", "think", {})), "tool-results", "tool"),
    ],
)
def test_an_old_event_that_a_reader_needs_is_a_message(tmp_path, event, kind, author):
    events = read_events(tmp_path, action(0, "message", "user", content="hi"), event)
    assert (drafts(events)[-1].kind, drafts(events)[-1].author.kind, unparsed(events)) == (kind, author, [])


def test_images_of_an_old_prompt_are_parts(tmp_path):
    (draft,) = drafts(
        read_events(tmp_path, action(0, "message", "user", content="look", image_urls=["data:image/png;base64,aaaa"]))
    )
    assert [part.type for part in draft.parts] == ["text", "image"]


def test_old_events_that_are_repeated_or_unknown_are_kept(tmp_path):
    events = read_events(
        tmp_path, OLD_EVENTS[1], OLD_EVENTS[1], action(7, "run", "user", command="ls"), action(8, "condensation")
    )
    assert (states(events), unparsed(events)) == (
        ["metadata", "repeated/event", "action/condensation"],
        ["an action 'run' of user"],
    )


def test_a_trajectory_of_an_old_version_is_read_as_an_array():
    data = json.dumps(OLD_EVENTS).encode()
    assert OpenHands().sniff(data)
    assert kinds(events_of(OpenHands(), data))[1] == ("prompt", "human", 1)


@drawn
@given(data=st.data())
def test_old_events_with_odd_values_are_read(data):
    events_of(OpenHands(), json.dumps(data.draw(odd_records(OLD_EVENTS))).encode())
