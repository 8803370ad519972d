"""Session files of Kimi Code: steps with parts, calls, results and an end."""

from __future__ import annotations

import pytest

from scopes.importers.discovery import find_session_file, find_sources
from scopes.importers.formats.kimi import Kimi
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from tests.importers.damage import lines
from tests.importers.reading import drafts, events_of, real_transcript, source_of, states, unparsed
from tests.importers.streams import import_paths
from tests.support.store import make_store

SESSION = "session_1bcbe023-4f7e-4971-9dc9-43b8756045b0"
USAGE = {"inputOther": 267, "output": 42, "inputCacheRead": 24064, "inputCacheCreation": 5}
START = 1785612803281


def message(text, kind="user", role="user"):
    content = [{"type": "text", "text": text}]
    return {"type": "context.append_message", "message": {"role": role, "content": content, "origin": {"kind": kind}}}


def event(kind, step="s1", **fields):
    name = {"uuid": step} if kind in {"step.begin", "step.end"} else {"stepUuid": step}
    return {"type": "context.append_loop_event", "event": {"type": kind, **name, **fields}}


def part(text, step="s1", kind="text"):
    return event("content.part", step, part={"type": kind, kind: text}, uuid=f"{step}-{text}")


def call(name, tool="Bash", step="s1", **args):
    return event("tool.call", step, toolCallId=name, name=tool, args=args, display={"cwd": "/home/dev/shop"})


def result(name, output="ok", **fields):
    return {"type": "context.append_loop_event", "event": {"type": "tool.result", "toolCallId": name, "result": {"output": output, **fields}}}  # fmt: skip


def ended(step="s1", **fields):
    return event("step.end", step, usage=USAGE, finishReason="tool_use", messageId=f"m-{step}", **fields)


def timed(*records):
    """Give each record its time."""
    return [{**record, "time": START + 1000 * number} for number, record in enumerate(records)]


HEADER = {"type": "metadata", "protocol_version": "1.4", "created_at": START}
FILE = timed(
    HEADER,
    {"type": "config.update", "modelAlias": "moonshot-ai/kimi"},
    {"type": "turn.prompt", "input": [{"type": "text", "text": "run ls"}]},
    message("run ls"),
    event("step.begin"),
    {"type": "llm.request", "kind": "loop", "model": "kimi-k2"},
    part("I run it.", kind="think"),
    call("c1", command="ls"),
    call("c2", "Read", path="a.py"),
    result("c1", "a.py\n"),
    result("c2", "1\tx"),
    ended(),
    {"type": "usage.record", "usage": USAGE},
    message("<system-reminder>x</system-reminder>", "injection"),
    event("step.begin", "s2"),
    part("Done.", "s2"),
    ended("s2"),
)


def read(*records, path="/transcript"):
    return events_of(Kimi(), lines(timed(*records)), path)


def kinds(found):
    return [(draft.kind, draft.author.kind, [part.type for part in draft.parts]) for draft in drafts(found)]


def test_a_step_is_an_answer_and_its_results_are_a_message_behind_it():
    found = events_of(Kimi(), lines(FILE))
    assert kinds(found) == [
        ("prompt", "human", ["text"]),
        ("answer", "agent", ["reasoning", "tool_call", "tool_call"]),
        ("tool-results", "tool", ["tool_result", "tool_result"]),
        ("prompt", "injected", ["text"]),
        ("answer", "agent", ["text"]),
    ]
    assert [draft.parent for draft in drafts(found)] == [None, *(draft.key for draft in drafts(found)[:-1])]
    assert unparsed(found) == []


def test_the_tokens_at_the_end_of_a_step_belong_to_its_answer_and_count_once():
    found = drafts(events_of(Kimi(), lines(FILE)))
    counts = {"input_uncached": 267, "cache_read": 24064, "cache_write": 5, "output": 42}
    assert [draft.usage for draft in found] == [None, {**counts, "raw": USAGE}, None, None, {**counts, "raw": USAGE}]
    assert (found[1].stop_reason, found[1].native_ids, found[1].model) == ("tool_use", ("s1", "m-s1"), "kimi-k2")


def test_the_header_and_the_first_call_give_start_version_and_folder():
    session = events_of(Kimi(), lines(FILE))[0]
    assert (session.created, session.cwd, session.details) == (
        "2026-08-01T19:33:23.281Z", "/home/dev/shop", {"version": "1.4"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("path", "name", "sub_file"),
    [
        (f"/home/dev/.kimi-code/sessions/wd_x/{SESSION}/agents/main/wire.jsonl", SESSION, None),
        (f"C:\\x\\{SESSION}\\agents\\main\\wire.jsonl", SESSION, None),
        (f"/copy/{SESSION}/agents/agent-0/wire.jsonl", SESSION, "agent-0"),
    ],
)
def test_the_folder_names_the_session_and_the_sub_agent(path, name, sub_file):
    session = events_of(Kimi(), lines(FILE), path)[0]
    assert (session.native_id, session.sub_file) == (name, sub_file)


def test_a_file_elsewhere_is_named_by_its_first_records():
    names = [read(*records)[0].native_id for records in (FILE[:4], FILE, [HEADER | {"created_at": 7}, *FILE[1:]])]
    assert names[0] == names[1] != names[2]


def test_results_have_the_files_of_their_calls():
    results = drafts(events_of(Kimi(), lines(FILE)))[2]
    assert [(touch.path, touch.op) for touch in results.files] == [("a.py", "read")]
    assert [item.fields["output"] for item in results.parts] == ["a.py\n", "1\tx"]


@pytest.mark.parametrize(
    ("output", "fields", "is_error", "exit_code"),
    [
        ("ok", {}, None, None),
        ("no\nCommand failed with exit code: 1.", {"isError": True}, True, 1),
        ("no", {"isError": True}, True, None),
        ("no", {"isError": False}, None, None),
        ([{"type": "text", "text": "x"}], {}, None, None),
    ],
)
def test_a_result_tells_whether_the_call_failed(output, fields, is_error, exit_code):
    found = drafts(read(HEADER, message("x"), call("c1"), result("c1", output, **fields), ended()))[-1].parts[0].fields
    assert (found["output"], found.get("is_error"), found.get("exit_code")) == (output, is_error, exit_code)


@pytest.mark.parametrize(
    ("record", "kind", "author"),
    [
        (message("x"), "prompt", "human"),
        (message("x", "injection"), "prompt", "injected"),
        (message("x", "task"), "prompt", "injected"),
        (message("x", role="assistant"), "answer", "agent"),
        (message("x", role="system"), "system", "injected"),
        (message("x", role="tool"), "notice", "injected"),
    ],
)
def test_role_and_origin_decide_what_a_message_is(record, kind, author):
    found = drafts(read(HEADER, record))[0]
    assert (found.kind, found.author.kind) == (kind, author)


def test_a_compaction_begins_a_new_context():
    found = drafts(read(HEADER, message("x"), {"type": "context.apply_compaction", "summary": "so far"}, part("On.")))
    assert [draft.kind for draft in found] == ["prompt", "compaction", "answer"]
    assert (found[1].extra["context_root"], found[1].parts[0].text) == (True, "so far")


@pytest.mark.parametrize("kind", ["turn.cancel", "turn.step.interrupted", "prompt.aborted"])
def test_an_interrupt_marks_the_open_answer(kind):
    found = drafts(read(HEADER, message("x"), part("I w"), {"type": kind}))
    assert [draft.status for draft in found] == [None, "interrupted"]


def test_a_step_that_has_not_ended_may_still_change():
    records = [HEADER, message("x"), call("c1"), result("c1")]
    found = read(*records)
    assert ([draft.kind for draft in drafts(found)], found[-1].open) == (["prompt", "answer", "tool-results"], drafts(found)[1].key)  # fmt: skip
    assert read(*records, ended())[-1].open == drafts(found)[2].key


def test_results_are_never_before_their_answer():
    late = [HEADER, message("x"), call("c1"), result("c1"), event("step.begin", "s2"), part("y", "s2")]
    assert [draft.kind for draft in drafts(read(*late))] == ["prompt", "answer", "tool-results", "answer"]
    assert [draft.kind for draft in drafts(read(HEADER, result("c1"), ended()))] == ["tool-results"]


def test_known_records_are_states_and_unknown_ones_are_counted():
    found = read(
        HEADER, message("x"), {"type": "plan_mode.enter"}, {"type": "dream.begin"}, event("step.fly"), {"x": 1}
    )
    assert states(found) == ["metadata", "plan_mode.enter"]
    assert unparsed(found) == [
        "a record of the unknown type 'dream.begin'", "a record of the unknown type 'step.fly'", "not a known record",
    ]  # fmt: skip


def test_a_message_that_is_written_twice_counts_once():
    records = timed(HEADER, message("x"), part("y"))
    found = events_of(Kimi(), lines([*records[:2], records[1], records[2], records[2]]))
    assert [len(draft.parts) for draft in drafts(found)] == [1, 1]
    assert states(found) == ["metadata", "repeated/context.append_message", "repeated/content.part"]


def test_unknown_parts_are_kept_and_images_read():
    content = [{"type": "image_url", "imageUrl": {"url": "data:image/png;base64,eA=="}}, {"type": "smell"}]
    found = read(HEADER, {"type": "context.append_message", "message": {"role": "user", "content": content}})
    assert [item.type for item in drafts(found)[0].parts] == ["image", "raw"]
    assert unparsed(found) == ["unknown part 'smell', kept raw in its message"]


@pytest.mark.parametrize(
    ("record", "known"),
    [
        (HEADER, True),
        (message("x"), True),
        (part("x"), True),
        ({"type": "metadata", "created_at": 1}, False),
        ({"type": "metadata", "protocol_version": "1.4", "created_at": "x"}, False),
        ({"type": "context.append_message"}, False),
        ({"timestamp": 1, "message": {"type": "StatusUpdate", "payload": {}}}, False),  # of kimi-cli
    ],
)
def test_header_messages_and_events_make_a_file_recognizable(record, known):
    assert [each.name for each in FORMATS if each.sniff(lines([record]))] == (["kimi"] if known else [])


def test_the_file_of_the_main_agent_of_a_session_is_found_by_its_id(tmp_path):
    folder = tmp_path / ".kimi-code" / "sessions" / "wd_shop_0" / SESSION / "agents" / "main"
    folder.mkdir(parents=True)
    (folder / "wire.jsonl").touch()
    assert find_session_file(FORMATS, "kimi", SESSION, {}, str(tmp_path)) == str(folder / "wire.jsonl")
    moved = {"KIMI_CODE_HOME": str(tmp_path / ".kimi-code")}
    assert find_session_file(FORMATS, "kimi", SESSION, moved, "/nowhere") == str(folder / "wire.jsonl")
    assert find_session_file(FORMATS, "kimi", "session_other", {}, str(tmp_path)) is None


def test_a_sub_agent_is_in_the_conversation_of_its_session(tmp_path):
    store, top = make_store(tmp_path / "a.git"), tmp_path / SESSION / "agents"
    for agent, text in (("main", "run ls"), ("agent-0", "Count.")):
        (top / agent).mkdir(parents=True)
        (top / agent / "wire.jsonl").write_bytes(lines(timed(HEADER, message(text), part("Done."), ended())))
    done = import_paths(store, top / "main" / "wire.jsonl", top / "agent-0" / "wire.jsonl")
    assert [(each.messages, each.branches) for each in done.conversations] == [(4, 2)]


def test_the_real_session_is_read_whole():
    with open(real_transcript("kimi", "assistant_tools.jsonl"), "rb") as stream:
        found = events_of(Kimi(), stream.read())
    counted = [draft.kind for draft in drafts(found)]
    assert (counted.count("answer"), counted.count("tool-results"), counted.count("prompt")) == (22, 16, 13)
    assert unparsed(found) == []
    assert sum(draft.author.kind == "human" for draft in drafts(found)) == 8
    assert all(draft.usage is not None for draft in drafts(found) if draft.kind == "answer")


def test_title_and_directory_are_in_the_state_of_the_session(tmp_path, repository):
    """The directory goes into no id: it is that of this machine."""
    folder = tmp_path / "wd_shop" / SESSION
    (folder / "agents" / "main").mkdir(parents=True)
    file = folder / "agents" / "main" / "wire.jsonl"
    plain = [record for record in FILE if record.get("event", {}).get("type") not in {"tool.call", "tool.result"}]
    file.write_bytes(lines(plain))
    without = next(Kimi().walk_events(source_of(file)))
    (folder / "state.json").write_text('{"title": "Cache headers", "workDir": "/home/dev/shop"}')
    with_state = next(Kimi().walk_events(source_of(file)))
    assert (without.title, without.local_directory) == (None, None)
    assert (with_state.title, with_state.local_directory, with_state.cwd) == ("Cache headers", "/home/dev/shop", None)
    done = import_sources(repository, find_sources(str(tmp_path)), FORMATS)
    assert ([each.title for each in done.conversations], done.notes) == (["Cache headers"], ())
    (folder / "state.json").write_text("{")
    assert next(Kimi().walk_events(source_of(file))).title is None
