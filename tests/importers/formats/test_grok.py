"""Session files of Grok: what the model sees, without times and tokens."""

from __future__ import annotations

import pytest

from scopes.importers.discovery import find_session_file
from scopes.importers.formats.grok import Grok
from scopes.importers.formats.registry import FORMATS
from tests.importers.damage import lines
from tests.importers.reading import drafts, events_of, real_transcript, states, unparsed

SESSION = "0198c0de-3a55-7a0e-9a7e-0d1c2b3a4f5e"


def user(text, **fields):
    return {"type": "user", "content": [{"type": "text", "text": text}], **fields}


def reasoning(text, **fields):
    return {"type": "reasoning", "id": f"rs-{text}", "summary": [{"type": "summary_text", "text": text}], **fields}


def call(name, tool="read_file", arguments='{"target_file":"/shop/a.py"}'):
    return {"id": name, "name": tool, "arguments": arguments}


def answer(text="", *calls):
    return {"type": "assistant", "content": text, "tool_calls": list(calls), "model_id": "grok-4.5"}


def result(name, output="port = 80\n"):
    return {"type": "tool_result", "tool_call_id": name, "content": output}


SEARCH = {"type": "backend_tool_call", "kind": {"tool_type": "web_search", "action": {"query": "print"}, "id": "ws1"}}
SYSTEM = {"type": "system", "content": "You are Grok."}
PLACE = user("<user_info>\nWorkspace Path: /home/dev/shop\n</user_info>", synthetic_reason="environment_context")
FILE = [
    SYSTEM,
    PLACE,
    user("Read a.py", prompt_index=0),
    reasoning("I read it.", encrypted_content="sealed"),
    answer("I look.", call("c1")),
    result("c1"),
    SEARCH,
    answer("", call("c2", "run_terminal_cmd", '{"command":"ls"}'), call("c3")),
    result("c2", "a.py\n"),
    result("c3"),
    answer("It is 80."),
]


def read(*records, path="/transcript"):
    return events_of(Grok(), lines(records), path)


def shape(found):
    return [(draft.kind, draft.author.kind, [part.type for part in draft.parts]) for draft in drafts(found)]


def test_a_session_is_a_chain_of_prompts_answers_and_results():
    found = read(*FILE)
    assert shape(found) == [
        ("system", "injected", ["text"]),
        ("prompt", "injected", ["text"]),
        ("prompt", "human", ["text"]),
        ("answer", "agent", ["reasoning", "text", "tool_call"]),
        ("tool-results", "tool", ["tool_result"]),
        ("answer", "agent", ["tool_call", "tool_call", "tool_call"]),
        ("tool-results", "tool", ["tool_result", "tool_result"]),
        ("answer", "agent", ["text"]),
    ]
    assert [draft.parent for draft in drafts(found)] == [None, *(draft.key for draft in drafts(found)[:-1])]
    assert (states(found), unparsed(found)) == ([], [])


def test_the_folder_comes_from_what_grok_tells_the_model():
    assert read(*FILE)[0].cwd == "/home/dev/shop"
    typed = user("Workspace Path: /elsewhere", prompt_index=0)
    assert read(typed)[0].cwd is None


def test_answers_have_their_model_and_the_sealed_reasoning():
    found = drafts(read(*FILE))[3]
    assert (found.model, found.native_ids, found.time) == ("grok-4.5", ("rs-I read it.",), None)
    assert found.parts[0].fields == {"text": "I read it.", "opaque": "sealed"}


def test_results_have_the_files_of_their_calls():
    found = drafts(read(*FILE))
    assert [[(touch.path, touch.op) for touch in draft.files] for draft in found if draft.kind == "tool-results"] == [
        [("/shop/a.py", "read")],
        [("/shop/a.py", "read")],
    ]
    assert (found[4].tool, found[4].parts[0].fields["output"]) == ("read_file", "port = 80\n")


def test_a_replacement_is_an_edit():
    arguments = '{"file_path":"a.py","old_string":"80","new_string":"81"}'
    found = drafts(read(user("x", prompt_index=0), answer("", call("c1", "search_replace", arguments)), result("c1")))[
        -1
    ]
    assert [(touch.path, touch.op) for touch in found.files] == [("a.py", "edit")]


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        ('{"command":"ls"}', {"input": {"command": "ls"}}),
        ("ls -l", {"input_text": "ls -l"}),
        ({"command": "ls"}, {"input": {"command": "ls"}}),
        (None, {"input": None}),
    ],
)
def test_arguments_are_decoded_if_they_are_json(arguments, fields):
    (part,) = drafts(read(answer("", call("c1", "run_terminal_cmd", arguments))))[0].parts
    assert part.fields == {"call_id": "c1", "name": "run_terminal_cmd", **fields}


def test_a_call_of_the_server_is_part_of_the_answer_behind_it():
    found = drafts(read(user("x", prompt_index=0), reasoning("Why?"), SEARCH, answer("So.")))
    assert [part.type for part in found[1].parts] == ["reasoning", "tool_call", "text"]
    assert found[1].parts[1].fields == {"call_id": "ws1", "name": "web_search", "input": {"query": "print"}}


def test_answers_without_a_result_between_them_are_two():
    found = drafts(read(user("x", prompt_index=0), answer("One."), reasoning("Why?"), answer("Two."), answer("Three.")))
    assert [[part.text for part in draft.parts] for draft in found[1:]] == [["One."], ["Why?", "Two."], ["Three."]]


def test_reasoning_at_the_end_is_an_answer_that_may_still_change():
    found = read(user("x", prompt_index=0), reasoning("Why?"))
    assert (drafts(found)[-1].kind, found[-1].open) == ("answer", drafts(found)[-1].key)


def test_an_interrupt_before_a_prompt_is_kept_with_it():
    found = drafts(read(user("x", prompt_index=1, prior_turn_interrupt="mid_turn_abort")))[0]
    assert (found.author.kind, found.extra) == ("human", {"prior_turn_interrupt": "mid_turn_abort"})


def test_images_are_read_and_unknown_parts_kept():
    content = [{"type": "image", "url": "data:image/png;base64,eA=="}, {"type": "smell"}]
    found = read(user("x", prompt_index=0) | {"content": content}, answer("y", "not a call"))
    assert [[part.type for part in draft.parts] for draft in drafts(found)] == [["image", "raw"], ["text", "raw"]]
    assert len(unparsed(found)) == 2


def test_unknown_records_are_counted():
    found = read(user("x", prompt_index=0), {"type": "telepathy"}, {"x": 1}, {"type": "backend_tool_call"})
    assert unparsed(found) == [
        "a record of the unknown type 'telepathy'",
        "not a known record",
        "unknown part 'backend_tool_call', kept raw in its message",
    ]


@pytest.mark.parametrize("folder", [f"/home/dev/.grok/sessions/%2Fshop/{SESSION}/", f"C:\\x\\{SESSION}\\"])
def test_the_folder_names_the_session(folder):
    assert read(*FILE, path=f"{folder}chat_history.jsonl")[0].native_id == SESSION


def test_a_file_elsewhere_is_named_by_what_comes_before_the_first_answer():
    other = [*FILE[:2], user("Another", prompt_index=0), *FILE[3:]]
    names = [read(*records)[0].native_id for records in (FILE[:3], FILE, other)]
    assert names[0] == names[1] != names[2]
    assert read(*FILE, path="/x/notes/chat_history.jsonl")[0].native_id == names[0]


@pytest.mark.parametrize(
    ("record", "known"),
    [
        (PLACE, True),
        (user("x", prompt_index=0), True),
        (answer("x"), True),
        (SEARCH, True),
        (user("x"), False),
        (SYSTEM, False),
        (reasoning("x"), False),
        ({**answer("x"), "model_id": None}, False),
        ({**answer("x"), "content": []}, False),
    ],
)
def test_what_only_grok_writes_makes_a_file_recognizable(record, known):
    assert Grok().sniff(lines([record])) is known


def test_the_file_of_a_session_is_found_by_its_id(tmp_path):
    folder = tmp_path / "grok" / "sessions" / "%2Fshop" / SESSION
    folder.mkdir(parents=True)
    (folder / "chat_history.jsonl").touch()
    moved = {"GROK_HOME": str(tmp_path / "grok")}
    assert find_session_file(FORMATS, "grok", SESSION, moved, "/nowhere") == str(folder / "chat_history.jsonl")
    assert find_session_file(FORMATS, "grok", SESSION, {}, str(tmp_path)) is None


def test_the_real_session_is_read_whole():
    with open(real_transcript("grok", "chat_history.jsonl"), "rb") as stream:
        found = events_of(Grok(), stream.read())
    assert [draft.kind for draft in drafts(found)] == [
        "system", "prompt", "prompt", "answer", "tool-results", "answer", "tool-results", "answer", "prompt",
    ]  # fmt: skip
    assert unparsed(found) == []
