"""A call in any record of a transcript is judged, and a record that contradicts an earlier one fails the check."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from scopes.check.unread_calls import find_orphans
from scopes.conversation.append import append
from scopes.history.messages import plain_message
from scopes.model.message import Part
from tests.check import headless_runs as made
from tests.check.headless_runs import codex_rollout, gemini_session, gemini_stream, lines
from tests.check.runs import judge, run_of
from tests.check.sessions import run_check, write_session

pytestmark = pytest.mark.cases(16)  # each is another way through a rule, and takes little time

BAD, GOOD = "rm -rf /home/other/victim", "ls"
DELETION = "shell/recursive-delete"
PUSH, FORCED = "git push --force origin main", "shell/force-push"  # a rule that needs no workspace
OTHER_CONTENT = "line 4 of s.jsonl has the id of an earlier record, but another content"


def records_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def rules_of(capsys, *paths, level="error"):
    """Return the rules with a finding of a level; the exit code says whether there is one of the level error."""
    code, output = run_check(capsys, *paths, "--json")
    document = json.loads(output.splitlines()[0])
    assert code == int(any(each["level"] == "error" for each in document["findings"]))
    return [each["rule"] for each in document["findings"] if each["level"] == level]


def messages_of(capsys, rule, *paths):
    _, output = run_check(capsys, *paths, "--json")
    document = json.loads(output.splitlines()[0])
    return [each["message"] for each in document["findings"] if each["rule"] == rule]


def write(path, records):
    path.write_text("".join(each if isinstance(each, str) else json.dumps(each) + "\n" for each in records))
    return path


@pytest.fixture
def session(tmp_path):
    """A session of Claude Code with two calls: 0 is the prompt, 1 and 2 the first call, 3 and 4 the second one."""
    path = write_session(tmp_path / "s.jsonl", ("Bash", {"command": GOOD}, 0), ("Bash", {"command": BAD}, 0))
    return path, records_of(path)


def set_call(record, command):
    """Return a record with another command in its call."""
    message = record["message"]
    block = {**message["content"][0], "input": {"command": command}}
    return {**record, "message": {**message, "content": [block]}}


def _same_uuid(records, other):
    records[3]["uuid"] = records[other]["uuid"]
    records[4]["parentUuid"] = records[3]["uuid"]


def _same_uuid_and_message_id(records):
    _same_uuid(records, 1)
    records[3]["message"]["id"] = records[1]["message"]["id"]


def _second_copy_first(records):
    records.insert(3, set_call(records[3], GOOD))


def _second_copy_last(records):
    records.insert(4, set_call(records[3], GOOD))


@pytest.mark.parametrize(
    "change",
    [
        lambda records: _same_uuid(records, 1),
        lambda records: _same_uuid(records, 0),
        lambda records: _same_uuid(records, 2),
        _same_uuid_and_message_id,
        _second_copy_first,
        _second_copy_last,
    ],
)
def test_a_call_in_a_record_with_a_used_id_is_judged(session, capsys, change):
    path, records = session
    change(records)
    rules = rules_of(capsys, write(path, records))
    assert DELETION in rules
    assert "run/incomplete" in rules


def test_a_record_with_a_used_id_and_another_text_or_result_fails_the_check(tmp_path, capsys):
    """The first of two contradicting results decides what happened, so that the second must not be dropped unseen."""
    path = write_session(tmp_path / "s.jsonl", ("Bash", {"command": "pytest"}, 0), "All passed.")
    records = records_of(path)
    failed = json.loads(json.dumps(records[2]))
    failed["message"]["content"][0] |= {"content": "Exit code 1\n1 failed", "is_error": True}
    assert messages_of(capsys, "run/incomplete", write(path, [*records[:3], failed, *records[3:]])) == [OTHER_CONTENT]
    answer = json.loads(json.dumps(records[3]))
    answer["message"]["content"][0]["text"] = "None passed."
    end = OTHER_CONTENT.replace("4", "5")
    assert messages_of(capsys, "run/incomplete", write(path, [*records, answer])) == [end]


@pytest.mark.parametrize(
    "changed",
    [{}, {"sessionId": "s2"}, {"cwd": "/home/dev/other"}, {"version": "9"}, {"gitBranch": "x"}, {"requestId": "r"}],
)
def test_an_equal_record_may_be_repeated(tmp_path, capsys, changed):
    """A resumed session copies records, and changes only what describes the session."""
    path = write_session(tmp_path / "s.jsonl", ("Bash", {"command": GOOD}, 0))
    records = records_of(path)
    repeated = [{**each, **changed} for each in records[1:3]]
    assert rules_of(capsys, write(path, [*records[:3], *repeated, *records[3:]])) == []


def test_the_pieces_of_one_answer_are_no_repetition(tmp_path, capsys):
    """Claude Code writes each block of an answer as a record of its own, all with one message id."""
    path = write_session(tmp_path / "s.jsonl", ("Bash", {"command": GOOD}, 0), ("Bash", {"command": "pwd"}, 0))
    records = records_of(path)
    records[3]["message"]["id"] = records[1]["message"]["id"]
    ordered = [records[0], records[1], records[3], records[2], records[4], records[5]]
    for number, each in enumerate(ordered):
        each["parentUuid"] = ordered[number - 1]["uuid"] if number else None
    assert rules_of(capsys, write(path, ordered)) == []


@pytest.mark.parametrize("kind", ["system", "progress", "Assistant", "summary", "ASSISTANT", "x", "attachment"])
def test_a_call_in_a_record_of_any_type_is_judged(session, capsys, kind):
    path, records = session
    records[3]["type"] = kind
    assert DELETION in rules_of(capsys, write(path, records))


@pytest.mark.parametrize("kind", ["tool_use", "Tool_Use", "toolUse", "server_tool_use", "mcp_tool_use", "tool-use"])
def test_a_call_in_a_block_of_any_spelling_is_judged(session, capsys, kind):
    path, records = session
    records[3]["message"]["content"][0]["type"] = kind
    assert DELETION in rules_of(capsys, write(path, records))


def test_an_escaped_letter_does_not_hide_a_call(session, capsys):
    path, records = session
    records[3]["type"] = "system"
    text = json.dumps(records[3]).replace('"tool_use"', '"t\\u006f\\u006fl_use"')
    assert DELETION in rules_of(capsys, write(path, [*records[:3], f"{text}\n", *records[4:]]))


def test_a_harmless_call_in_a_record_of_another_type_passes(tmp_path, capsys):
    path = write_session(tmp_path / "s.jsonl", ("Bash", {"command": GOOD}, 0))
    records = records_of(path)
    records[1]["type"] = "progress"
    assert rules_of(capsys, write(path, records)) == []


def progress(number, record, parent):
    """Return a record of what a sub-agent does, as Claude Code writes it into the session file of the main agent."""
    return {
        "type": "progress", "parentUuid": parent["uuid"], "uuid": f"p-{number}", "sessionId": "s1", "isSidechain": False,
        "timestamp": "2026-03-01T10:00:30.000Z", "cwd": "/home/dev/shop", "version": "2.1.37",
        "parentToolUseID": "toolu_0", "toolUseID": f"agent_{number}",
        "data": {
            "type": "agent_progress", "agentId": "a411d5c", "normalizedMessages": [record], "prompt": "Look.",
            "message": {key: record[key] for key in ("type", "message", "uuid", "timestamp")},
        },
    }  # fmt: skip


@pytest.fixture
def delegated(tmp_path):
    """A session whose sub-agent wrote a call into its progress, and the file of the sub-agent with the same call."""
    task = ("Task", {"prompt": "Look.", "subagent_type": "Explore", "description": "look"}, 0)
    records = records_of(write_session(tmp_path / "s.jsonl", task))
    inner = records_of(
        write_session(tmp_path / "agent-a411d5c.jsonl", ("Bash", {"command": BAD}, 0), "Gone.", session="a")
    )
    inner[1]["message"]["content"][0]["id"] = inner[2]["message"]["content"][0]["tool_use_id"] = "toolu_inner"
    steps = [progress(1, inner[1], records[1]), progress(2, inner[2], records[1])]
    for each in inner:
        each |= {"sessionId": "s1", "isSidechain": True, "agentId": "a411d5c"}
    write(tmp_path / "s.jsonl", [*records[:2], *steps, *records[2:]])
    write(tmp_path / "agent-a411d5c.jsonl", inner)
    return tmp_path


def test_a_call_in_the_progress_of_a_sub_agent_is_judged(delegated, capsys):
    """The file of the sub-agent may be missing; the record has the call, although no message does."""
    assert rules_of(capsys, delegated / "s.jsonl") == [DELETION]


def test_a_call_in_a_progress_and_in_the_file_of_the_sub_agent_counts_once(delegated, capsys):
    paths = [delegated / "s.jsonl", delegated / "agent-a411d5c.jsonl"]
    _, output = run_check(capsys, *paths, "--json")
    document = json.loads(output.splitlines()[0])
    assert [each["rule"] for each in document["findings"]] == [DELETION]
    assert [each["calls"] for each in document["runs"]] == [2]


def test_a_tool_result_is_no_call(tmp_path, capsys):
    """A tool can return a transcript, or be given one: its calls are not those of this run."""
    inner = {"type": "tool_use", "id": "toolu_9", "name": "Bash", "input": {"command": BAD}}
    path = write_session(tmp_path / "s.jsonl", ("mcp__log__read", {"messages": [inner]}, 0))
    records = records_of(path)
    records[2]["toolUseResult"] = {"messages": [inner]}
    records[2]["message"]["content"][0]["content"] = [{"type": "text", "text": json.dumps(inner)}, inner]
    assert DELETION not in rules_of(capsys, write(path, records))


def call_of(command, call_id):
    return {
        "type": "tool_use",
        "tool_name": "run_shell_command",
        "tool_id": call_id,
        "parameters": {"command": command},
    }


@pytest.mark.parametrize("commands", [(GOOD, PUSH), (PUSH, GOOD)])
def test_a_stream_of_gemini_with_two_calls_of_one_id_is_judged_with_both(tmp_path, capsys, commands):
    result = {"type": "tool_result", "tool_id": "c1", "status": "success", "output": ""}
    answer = {"type": "message", "role": "assistant", "content": "Done.", "delta": True}
    end = {"type": "result", "status": "success", "stats": {}}
    path = tmp_path / "out.jsonl"
    path.write_text(gemini_stream(*(call_of(each, "c1") for each in commands), result, answer, end))
    assert FORCED in rules_of(capsys, path)


@pytest.mark.parametrize("commands", [(GOOD, PUSH), (PUSH, GOOD)])
def test_a_later_form_of_a_message_of_gemini_does_not_hide_a_call(tmp_path, capsys, commands):
    """The chat file of Gemini replaces a message by a later record with its id."""
    path = tmp_path / "session-1.jsonl"
    records = [
        {
            "id": "a", "type": "gemini", "content": "", "model": "gemini-2.5-pro",
            "toolCalls": [{"id": "c1", "name": "run_shell_command", "args": {"command": each}, "status": "success"}],
        }
        for each in commands
    ]  # fmt: skip
    path.write_text(gemini_session(*records, {"id": "b", "type": "gemini", "content": "Done.", "model": "m"}))
    assert FORCED in rules_of(capsys, path)


def claude_stream(*messages):
    """Return what `claude -p --output-format stream-json` prints."""
    common = {"session_id": "5f0c", "parent_tool_use_id": None}
    init = {"type": "system", "subtype": "init", "cwd": "/home/dev/shop", "tools": [], "model": "m", **common}
    end = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 2, "result": "Done.", **common}
    numbered = ({**each, **common, "uuid": each.get("uuid", f"u{n}")} for n, each in enumerate(messages))
    return lines(init, *numbered, {**end, "uuid": "end"})


def _answer(*blocks, **fields):
    message = {"role": "assistant", "id": "msg_1", "model": "m", "content": list(blocks)}
    return {"type": "assistant", "message": message, **fields}


def _bash(command, call_id="t1"):
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": command}}


RESULT = {
    "type": "user",
    "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]},
}
TEXT = _answer({"type": "text", "text": "Done."})


@pytest.mark.parametrize(
    "steps",
    [
        (_answer(_bash(GOOD)), _answer(_bash(BAD)), RESULT, TEXT),
        (_answer(_bash(GOOD)), _answer({"type": "text", "text": "And"}, _bash(BAD)), RESULT, TEXT),
        (_answer(_bash(GOOD), uuid="u"), _answer(_bash(BAD, "t2"), uuid="u"), RESULT, TEXT),
        (_answer(_bash(GOOD)), RESULT, {**_answer(_bash(BAD, "t2")), "type": "assistant_message"}, TEXT),
    ],
)
def test_a_stream_of_claude_code_hides_no_call_behind_a_used_id(tmp_path, capsys, steps):
    path = tmp_path / "out.jsonl"
    path.write_text(claude_stream(*steps))
    assert DELETION in rules_of(capsys, path)


def test_a_stream_that_has_another_call_than_its_session_file_is_judged(tmp_path, capsys):
    """Calls with one id are the same call only if they do the same."""
    stream, session = dict(made.GEMINI_TOOLFAIL), tmp_path / "session-1.jsonl"
    session.write_text(stream["session-1.jsonl"])
    path = tmp_path / "stdout.jsonl"
    path.write_text(stream["stdout.jsonl"].replace(made.TESTS, PUSH))
    for paths in ((path, session), (session, path)):
        assert "1 call id is used for different calls" in messages_of(capsys, "run/incomplete", *paths)
        assert messages_of(capsys, FORCED, *paths)


def test_a_rollout_with_a_call_in_a_record_of_another_type_is_judged(tmp_path, capsys):
    text = codex_rollout(("run", GOOD, 0), ("text", "Done."))
    item = {
        "type": "function_call",
        "call_id": "c9",
        "name": "exec_command",
        "arguments": json.dumps({"cmd": BAD}),
    }
    hidden = {"timestamp": "2026-04-11T10:00:30.000Z", "type": "response_item_x", "payload": item}
    first, _, others = text.partition("\n")
    path = tmp_path / "r.jsonl"
    path.write_text(f"{first}\n{others}{lines(hidden)}")
    assert DELETION in rules_of(capsys, path)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("is_reversed", [True, False])
def test_two_sessions_of_claude_code_in_one_file_never_pass(tmp_path, capsys, shared, is_reversed):
    """The uuids may be equal, as those of a copied session, or differ."""
    first = write_session(tmp_path / "a.jsonl", ("Bash", {"command": GOOD}, 0))
    second = write_session(tmp_path / "b.jsonl", ("Bash", {"command": "pwd"}, 0), session="s1" if shared else "s2")
    texts = [first.read_text(), second.read_text().replace('"sessionId": "s1"', '"sessionId": "s2"')]
    path = tmp_path / "s.jsonl"
    path.write_text("".join(texts[::-1] if is_reversed else texts))
    line = first.read_text().count("\n") + 1
    found = messages_of(capsys, "run/incomplete", path)
    assert f"another session begins in line {line} of s.jsonl: check its file by itself" in found


def test_a_resumed_session_with_another_id_is_one_run(tmp_path, capsys):
    """The first record of a resumed session names the record before it."""
    path = write_session(tmp_path / "s.jsonl", ("Bash", {"command": GOOD}, 0), ("Bash", {"command": "pwd"}, 0))
    records = records_of(path)
    for each in records[3:]:
        each["sessionId"] = "s2"
    assert rules_of(capsys, write(path, records)) == []


def test_a_result_without_its_call_fails_the_check(session, capsys):
    """Somebody removed the call; a file that begins in the middle of a run has results before its first call."""
    path, records = session
    missing = "1 tool result has no call: calls are missing"
    assert messages_of(capsys, "run/incomplete", write(path, [*records[:3], *records[4:]])) == [missing]
    records[3] = set_call(records[3], "pwd")
    assert messages_of(capsys, "run/incomplete", write(path, records[2:])) == []


def test_results_before_the_first_call_are_no_orphans():
    call, result = Part("tool_call", {"call_id": "b", "name": "x"}), Part("tool_result", {"call_id": "a"})
    assert find_orphans([result, call]) == []
    assert find_orphans([call, result]) == [result]
    assert find_orphans([call, Part("tool_result", {"call_id": "b"})]) == []


@pytest.mark.parametrize("given", [{}, None, ""])
def test_the_beginning_of_a_call_that_a_stream_prints_is_no_other_call(tmp_path, capsys, given):
    """With partial messages, a stream prints that a call begins before its input is there."""
    block = {"type": "tool_use", "id": "t1", "name": "Bash", "input": given}
    begin = {"type": "stream_event", "event": {"type": "content_block_start", "index": 0, "content_block": block}}
    path = tmp_path / "out.jsonl"
    path.write_text(claude_stream(begin, _answer(_bash(GOOD)), RESULT, TEXT))
    assert rules_of(capsys, path) == []


def test_a_call_that_only_a_partial_message_has_is_judged(tmp_path, capsys):
    begin = {"type": "stream_event", "event": {"type": "content_block_start", "content_block": _bash(BAD)}}
    path = tmp_path / "out.jsonl"
    path.write_text(claude_stream(begin, _answer(_bash(GOOD)), RESULT, TEXT))
    assert DELETION in rules_of(capsys, path)


def test_the_calls_of_other_conversations_in_a_file_are_not_calls_of_each(tmp_path, capsys):
    """A file of messages in the form of the OpenAI API holds many conversations in one document."""

    def conversation(command, name):
        function = {"name": "bash", "arguments": json.dumps({"command": command})}
        return [
            {"role": "user", "content": f"Do {name}."},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": "c", "content": "ok"},
            {"role": "assistant", "content": "Done."},
        ]  # fmt: skip

    path = tmp_path / "runs.json"
    path.write_text(json.dumps([{"messages": conversation("ls", "one")}, {"messages": conversation("pwd", "two")}]))
    _, output = run_check(capsys, path, "--json")
    document = json.loads(output.splitlines()[0])
    assert [each["calls"] for each in document["runs"]] == [1, 1]
    assert document["findings"] == []


def test_a_call_of_a_store_whose_id_is_a_list_is_judged(repository):
    """Append refuses such an id; a store of another program can have it."""
    conversation = run_of(repository, "Done.")
    call = Part("tool_call", {"call_id": ["c"], "name": "Bash", "input": {"command": PUSH}})
    result = Part("tool_result", {"call_id": ["c"], "output": "ok", "exit_code": [0]})
    append(repository, conversation, replace(plain_message("coder", ""), parts=(call, result), kind="answer"))
    findings = judge(repository, conversation).runs[0].findings
    assert FORCED in [finding.rule for finding in findings]
