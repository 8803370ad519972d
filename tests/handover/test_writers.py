"""Sessions as they are written for each agent: their shape, and that the importer reads what was written."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.errors import Invalid
from scopes.handover.llm import hash_message
from scopes.handover.writers import WRITERS, find_gemini_folder, read_writer
from tests.handover.native_sessions import (
    AGENT,
    HUMAN,
    SHOP,
    TOOL,
    UUID,
    call,
    contents_of,
    message,
    read,
    result,
    session_of,
    text,
    write,
)

WITHOUT_DIRECTORY = {"gemini", "llm"}
RESULTS_IN_ANSWERS = {"gemini", "opencode"}
WORDS = st.text(alphabet='abz \n\t"\\é\N{EARTH GLOBE EUROPE-AFRICA}\u2028\x7f', min_size=1, max_size=12).map(
    lambda words: f"x{words}x"
)
INPUTS = st.dictionaries(
    WORDS, st.none() | st.booleans() | st.integers() | WORDS | st.lists(WORDS, max_size=2), max_size=2
)


@st.composite
def conversations(draw):
    """Draw a conversation: prompts, and answers with calls whose results may come late, or never."""
    messages, number = [], 0
    for _ in range(draw(st.integers(1, 3))):
        messages.append(message(len(messages), HUMAN, text(draw(WORDS))))
        for _ in range(draw(st.integers(0, 2))):
            calls = range(number, number := number + draw(st.integers(0, 2)))
            parts = [text(draw(WORDS)), *(call(f"c{each}", "Bash", **draw(INPUTS)) for each in calls)]
            messages.append(message(len(messages), AGENT, *parts, model="m-1"))
            results = [result(f"c{each}", draw(WORDS)) for each in calls if draw(st.booleans())]
            if results:
                messages.append(message(len(messages), TOOL, *results))
    return messages


@pytest.mark.parametrize("name", WRITERS)
def test_the_shape_of_a_session_is_the_one_that_the_agent_has_resumed(name, golden):
    golden(f"{name}.jsonl", write(name, session_of(name)).decode())


@pytest.mark.parametrize("name", WRITERS)
def test_the_importer_reads_the_session_and_its_directory(name):
    session, drafts = read(name, session_of(name))
    assert session.native_id == WRITERS[name].name_session(UUID)
    assert session.cwd == (None if name in WITHOUT_DIRECTORY else "/home/carol/shop")
    assert contents_of(drafts)[0] == ("human", "text", "hide the prices")
    results = [each[1:] for each in contents_of(drafts) if each[1] == "result"]
    assert results == [("result", "toolu_01", "PRICES = [1, 2]"), ("result", "toolu_02", "no such file")]


@pytest.mark.parametrize("name", WRITERS)
@given(messages=conversations())
def test_the_importer_reads_the_messages_that_were_written(name, messages):
    """The law of the hand-over: texts, calls and results are the same, in the same order."""
    session = session_of(name, messages)
    expected = []
    for turn in session.turns:
        who = {"user": "human", "assistant": "agent", "results": "tool"}[turn.role]
        who = "agent" if turn.role == "results" and name in RESULTS_IN_ANSWERS else who
        texts = [part for part in turn.parts if isinstance(part, str)]
        expected += [(who, "text", words) for words in texts]
        expected += [(who, "call", each.id, each.name, dict(each.input)) for each in turn.calls]
        expected += [(who, "result", each.id, each.text) for each in turn.results]
    assert contents_of(read(name, session)[1]) == expected


@pytest.mark.parametrize("name", WRITERS)
def test_a_session_is_the_same_every_time_and_has_no_path_but_its_directory(name):
    assert write(name, session_of(name)) == write(name, session_of(name))
    other = write(name, session_of(name, directory="/srv/x"))
    assert b"carol" not in other


@pytest.mark.parametrize("name", WRITERS)
def test_a_lone_surrogate_becomes_a_character_that_every_agent_reads(name):
    data = write(name, session_of(name, [message(0, HUMAN, text("a \ud83c b")), *SHOP[1:]]))
    assert "a \N{REPLACEMENT CHARACTER} b" in data.decode()


@pytest.mark.parametrize("name", WRITERS)
def test_messages_without_a_time_get_one_that_keeps_the_order(name):
    messages = [message(n, each.author, *each.parts, time=None) for n, each in enumerate(SHOP)]
    times = session_of(name, messages).times()
    assert times == sorted(set(times))
    _, drafts = read(name, session_of(name, messages))
    assert [draft.time for draft in drafts] == sorted(draft.time for draft in drafts)


def test_a_time_in_the_future_does_not_come_after_the_session():
    messages = [message(0, HUMAN, text("x"), time="2030-01-01T00:00:00Z"), *SHOP[1:]]
    session = session_of("codex", messages)
    assert max(session.times()) <= session.milliseconds


def test_new_messages_of_opencode_come_after_ours_whatever_the_time():
    """Their ids begin with a time that starts again from 0 every 795 days."""
    data = json.loads(write("opencode", session_of("opencode")))
    ids = [each["info"]["id"] for each in data["messages"]]
    assert ids == sorted(ids)
    assert all(re.fullmatch(r"msg_00000000000\d[0-9a-f]{14}", each) for each in ids)


def test_gemini_does_not_take_a_prompt_for_a_command():
    _, drafts = read("gemini", session_of("gemini", [message(0, HUMAN, text("/etc is empty")), *SHOP[1:]]))
    assert drafts[0].parts[0].text == "User: /etc is empty"


def test_gemini_looks_in_the_folder_that_the_project_has(tmp_path):
    assert find_gemini_folder("/home/carol/My Shop", str(tmp_path)) == "my-shop"
    (tmp_path / "tmp/my-shop").mkdir(parents=True)
    (tmp_path / "tmp/my-shop/.project_root").write_text("/srv/My Shop")
    assert find_gemini_folder("/home/carol/My Shop", str(tmp_path)) == "my-shop-1"
    (tmp_path / "tmp/other").mkdir()
    (tmp_path / "tmp/other/.project_root").write_text("/home/carol/My Shop\n")
    assert find_gemini_folder("/home/carol/My Shop", str(tmp_path)) == "other"
    (tmp_path / "projects.json").write_text(json.dumps({"projects": {"/home/carol/My Shop": "named"}}))
    assert find_gemini_folder("/home/carol/My Shop", str(tmp_path)) == "named"
    (tmp_path / "projects.json").write_text("{")
    assert find_gemini_folder("/home/carol/My Shop", str(tmp_path)) == "other"


def test_opencode_goes_on_with_the_model_that_it_is_set_to(tmp_path):
    writer = WRITERS["opencode"]
    assert writer.configured_model(str(tmp_path)) == ""
    (tmp_path / "opencode.json").write_text('{"model": "stub/m/1"}')
    assert writer.configured_model(str(tmp_path)) == "stub/m/1"
    (tmp_path / "opencode.json").write_text("[1]")
    assert writer.configured_model(str(tmp_path)) == ""


def test_llm_takes_the_names_of_messages_for_true():
    """The name of the first message that llm 0.36 gave to this prompt in a session of its own."""
    name = hash_message("user", [{"type": "text", "text": "what time is it — 日本語?"}], None)
    assert name == "b2:0438ecf9aeedbc690ebe31f0847bfc9d"
    tool = {"name": "llm_time", "arguments": {}, "tool_call_id": "call_000010", "type": "tool_call"}
    parts = [tool, {"type": "text", "text": "Let me look. "}]
    assert hash_message("assistant", parts, name) == "b2:aad68cf3ad129329a2a377d771b49f16"


def test_llm_goes_on_with_its_default_model(tmp_path):
    writer = WRITERS["llm"]
    assert writer.configured_model(str(tmp_path)) == "gpt-4o-mini"
    (tmp_path / "default_model.txt").write_text("stub\n")
    assert writer.configured_model(str(tmp_path)) == "stub"


def test_an_agent_is_found_by_its_other_names():
    assert read_writer("gemini-cli").name == "gemini"
    assert read_writer("Claude Code").name == "claude-code"
    with pytest.raises(Invalid, match="no session can be written for 'aider'") as error:
        read_writer("aider")
    assert error.value.hint == f"agents: {', '.join(WRITERS)}; for any other one: scopes context CONV --for-prompt"


def test_the_last_update_of_a_session_for_gemini_is_the_present_time():
    """L3: at its start it deletes sessions that were not updated for 30 days; the clock of the tests is at 2026-01-01."""
    session = replace(session_of("gemini"), created="2025-12-01T00:00:00Z")
    header = json.loads(write("gemini", session).splitlines()[0])
    assert (header["startTime"][:10], header["lastUpdated"][:19]) == ("2025-12-01", "2026-01-01T00:00:00")
