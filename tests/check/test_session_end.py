"""A session file that was cut off never passes, alone or next to an event stream without its end."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from scopes.check.session_files import SessionFile, find_unfinished
from scopes.conversation.append import append
from scopes.conversation.new_rename_delete import new
from scopes.history.handles import resolve_scope, walk_messages
from scopes.history.messages import plain_message
from scopes.model.message import Author
from tests.check import headless_runs as made
from tests.check.headless_runs import codex_rollout, codex_stream, gemini_session, lines
from tests.check.sessions import run_check, write_session

pytestmark = pytest.mark.cases(16)  # each is another way through a rule, and takes little time

KINDS = {"agent": "answer", "human": "prompt", "system": "meta"}
STEPS = (("patch",), ("run", "python3 -m unittest", 0), ("text", "Done."))
UNREAD = "the session file ends with a tool result that the agent did not read: the run was cut off, or still goes on"
NO_TURN_END = "the session file has no end of its last turn: the run was cut off, or still goes on"
NO_ANSWER = "the session file ends with a prompt that has no answer: the run was cut off, or still goes on"
INTERRUPTED = "the session file ends with an interruption by the user: the run was cut off, or still goes on"
NO_RECORD = "the session file and the event stream record no end of the run: the run was cut off, or still goes on"
MIDDLE = "the session file ends in the middle of an answer: the run was cut off, or still goes on"


def event(kind, **fields):
    return lines(
        {
            "timestamp": "2026-04-11T10:00:59.000Z",
            "type": "event_msg",
            "payload": {"type": kind, "turn_id": "t", **fields},
        }
    )


def rollout(*steps, end="task_complete"):
    """Return a session file of Codex with a turn that begins, and ends with a record unless `end` is None."""
    first, _, others = codex_rollout(*steps).partition("\n")
    return f"{first}\n{event('task_started')}{others}{'' if end is None else event(end)}"


def incomplete(capsys, *words):
    """Return the messages of run/incomplete about the runs of paths; there is a finding exactly if the check fails."""
    code, output = run_check(capsys, *words, "--json")
    document = json.loads(output.splitlines()[0])
    failing = [each for each in document["findings"] if each["level"] == "error"]
    assert code == int(bool(failing))
    return [each["message"] for each in failing if each["rule"] == "run/incomplete"]


def write(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize(
    ("end", "found"), [("task_complete", []), ("turn_aborted", [INTERRUPTED]), (None, [NO_TURN_END])]
)
def test_a_turn_of_codex_needs_its_end(tmp_path, capsys, end, found):
    assert incomplete(capsys, write(tmp_path, "r.jsonl", rollout(*STEPS, end=end))) == found


def final_rollout(phase, *, after=""):
    """Return a session file of Codex without the end of its turn, whose last message has a phase."""
    text = rollout(*STEPS, end=None)
    *others, last = text.splitlines(keepends=True)
    record = json.loads(last)
    record["payload"]["phase"] = phase
    return "".join(others) + lines(record) + after


@pytest.mark.parametrize(
    ("phase", "after", "found"),
    [
        ("final_answer", "", []),
        ("final_answer", event("token_count"), []),
        ("commentary", "", [NO_TURN_END]),
        ("final_answer", event("task_started"), [NO_TURN_END]),
    ],
)
def test_a_final_answer_of_codex_ends_its_turn_before_the_record_of_the_end(tmp_path, capsys, phase, after, found):
    assert incomplete(capsys, write(tmp_path, "r.jsonl", final_rollout(phase, after=after))) == found


def test_a_final_answer_does_not_make_up_for_a_stream_without_its_end(tmp_path, capsys):
    stream = codex_stream(*STEPS).splitlines(keepends=True)[:-1]
    write(tmp_path, "stream.jsonl", "".join(stream))
    session = write(tmp_path, "r.jsonl", final_rollout("final_answer"))
    assert incomplete(capsys, tmp_path / "stream.jsonl", session) == [NO_TURN_END]


def test_a_rollout_that_lost_lines_at_its_end_is_cut_off(tmp_path, capsys):
    kept = rollout(*STEPS).splitlines(keepends=True)
    for number in range(1, len(kept) - 4):
        assert incomplete(capsys, write(tmp_path, "r.jsonl", "".join(kept[:-number]))), number


def test_a_second_turn_without_its_end_is_cut_off(tmp_path, capsys):
    text = rollout(*STEPS) + event("task_started")
    assert incomplete(capsys, write(tmp_path, "r.jsonl", text)) == [NO_TURN_END]


@pytest.mark.parametrize(
    ("stream", "session", "is_cut"),
    [("whole", "whole", False), ("cut", "whole", False), ("cut", "cut", True), ("whole", "cut", True)],
)
def test_a_stream_without_an_end_needs_a_session_file_with_one(tmp_path, capsys, stream, session, is_cut):
    printed, kept = codex_stream(*STEPS), rollout(*STEPS)
    printed = printed if stream == "whole" else "".join(printed.splitlines(keepends=True)[:-2])
    kept = kept if session == "whole" else "".join(kept.splitlines(keepends=True)[:-3])
    paths = [write(tmp_path, "agent.jsonl", printed), write(tmp_path, "r.jsonl", kept)]
    for order in (paths, paths[::-1]):
        assert bool(incomplete(capsys, *order)) is is_cut


def answer(tmp_path, *, stop, content):
    """Return a session of Claude Code that ends with an answer after a tool result."""
    path = write_session(tmp_path / "s.jsonl", ("Bash", {"command": "ls"}, 0), "Done.")
    *before, last = path.read_text().splitlines()
    record = json.loads(last)
    record["message"] |= {"stop_reason": stop, "content": content}
    path.write_text("\n".join([*before, json.dumps(record)]) + "\n")
    return path


OPENCODE_TEXT = {"type": "text", "id": "prt_2", "messageID": "msg_2", "text": "Done."}
TEXT, THINKING = {"type": "text", "text": "Done."}, {"type": "thinking", "thinking": "Hm.", "signature": "x"}


@pytest.mark.parametrize(
    ("stop", "content", "found"),
    [
        (None, [TEXT], []),
        ("end_turn", [TEXT], []),
        ("end_turn", [THINKING], []),
        ("max_tokens", [TEXT], []),
        (None, [THINKING], [MIDDLE]),
        ("tool_use", [TEXT], [MIDDLE]),
    ],
)
def test_claude_code_ends_with_an_answer(tmp_path, capsys, stop, content, found):
    assert incomplete(capsys, answer(tmp_path, stop=stop, content=content)) == found


def test_claude_code_that_did_not_read_a_result_or_a_prompt_was_cut_off(tmp_path, capsys):
    path = write_session(tmp_path / "s.jsonl", ("Bash", {"command": "ls"}, 0), "Done.")
    prompt, call, result, _ = path.read_text().splitlines(keepends=True)
    assert incomplete(capsys, write(tmp_path, "s.jsonl", prompt + call + result)) == [UNREAD]
    assert incomplete(capsys, write(tmp_path, "s.jsonl", prompt)) == [NO_ANSWER]
    cut = incomplete(capsys, write(tmp_path, "s.jsonl", prompt + call))
    assert cut == ["a tool call has no result: the run was cut off"]


def stop_hook(kind="progress", event="Stop", **fields):
    """Return the record that Claude Code writes when it starts a hook, or the summary of all hooks at the end of a turn."""
    common = {"uuid": "s1-h", "parentUuid": "s1-3", "sessionId": "s1", "timestamp": "2026-03-01T10:01:00.000Z"}
    if kind == "system":
        return lines(common | {"type": "system", "subtype": "stop_hook_summary", "hookCount": 1} | fields)
    data = {"type": "hook_progress", "hookEvent": event, "hookName": event, "command": "make"}
    return lines(common | {"type": "progress", "data": data} | fields)


@pytest.mark.parametrize(
    ("after", "found"),
    [
        (stop_hook(), []), (stop_hook("system"), []), (stop_hook() + lines({"type": "summary", "summary": "x"}), []),
        (stop_hook(event="PostToolUse"), [MIDDLE]), (stop_hook(event="SubagentStop"), [MIDDLE]),
        (stop_hook(isSidechain=True), [MIDDLE]), (stop_hook(data="Stop"), [MIDDLE]), ("", [MIDDLE]),
    ],
)  # fmt: skip
def test_a_stop_hook_after_the_last_record_of_claude_code_ends_the_run(tmp_path, capsys, after, found):
    """Claude Code runs the hook when the agent is done; the text of the last answer may be written later, or never."""
    path = answer(tmp_path, stop=None, content=[THINKING])
    assert incomplete(capsys, write(tmp_path, "s.jsonl", path.read_text() + after)) == found


def test_a_stop_hook_of_an_earlier_turn_does_not_end_a_later_one(tmp_path, capsys):
    path = write_session(tmp_path / "s.jsonl", ("Bash", {"command": "ls"}, 0), "Done.")
    prompt, call, result, _ = path.read_text().splitlines(keepends=True)
    assert incomplete(capsys, write(tmp_path, "s.jsonl", prompt + stop_hook() + call + result)) == [UNREAD]
    assert incomplete(capsys, write(tmp_path, "s.jsonl", prompt + call + result + stop_hook())) == []
    interrupted = with_prompt(path, "[Request interrupted by user]")
    assert incomplete(capsys, write(tmp_path, "s.jsonl", interrupted + stop_hook())) == [INTERRUPTED]
    cut = incomplete(capsys, write(tmp_path, "s.jsonl", prompt + call + stop_hook()))
    assert cut == ["a tool call has no result: the run was cut off"]


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ([THINKING], "(reasoning)"),
        ([TEXT, {"type": "tool_use", "id": "toolu_9", "name": "Bash", "input": {"command": "make all"}}], "make all"),
    ],
)
def test_the_last_record_is_shown_as_what_it_is(tmp_path, capsys, content, shown):
    """What an agent thought is no answer."""
    path = answer(tmp_path, stop=None, content=content)
    _, output = run_check(capsys, path, "--json")
    (finding,) = (each for each in json.loads(output)["findings"] if each["rule"] == "run/incomplete")
    assert finding["events"][-1]["text"] == shown


def test_the_file_of_a_sub_agent_of_codex_alone_ends_like_any_other(tmp_path, capsys):
    """It begins with a copy of its parent's session, which ends with the call that started it."""
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": made.THREAD, "depth": 1}}}
    own = {"id": "01a2015d-0000-7000-8000-000000000002", "forked_from_id": made.THREAD, "source": spawned}
    first, _, steps = codex_rollout(*STEPS).partition("\n")
    header = json.loads(first)
    header["payload"] |= own
    spawn = {"type": "function_call", "name": "spawn_agent", "arguments": "{}", "call_id": "call_s"}
    call = lines({"timestamp": "2026-04-11T10:00:00.000Z", "type": "response_item", "payload": spawn})
    text = f"{json.dumps(header)}\n{first}\n{event('task_started')}{call}{event('task_started')}{steps}"
    assert incomplete(capsys, write(tmp_path, "r.jsonl", text)) == [NO_TURN_END]
    assert incomplete(capsys, write(tmp_path, "r.jsonl", text + event("task_complete"))) == []


def test_a_killed_stream_of_opencode_needs_a_session_file_with_the_end(tmp_path, capsys):
    """As with the other agents: a cut is run/incomplete, and no error of the agent."""
    stream = made.opencode_stream({"type": "text", "part": OPENCODE_TEXT})
    whole = made.opencode_export(OPENCODE_TEXT, finish="stop")
    cut = made.opencode_export(OPENCODE_TEXT, finish="tool-calls")
    printed = write(tmp_path, "agent.jsonl", stream)
    assert incomplete(capsys, printed) == ["the event stream has no end record: the run was cut off"]
    assert incomplete(capsys, printed, write(tmp_path, "export.json", cut)) == [MIDDLE]
    for order in ((printed, tmp_path / "export.json"), (tmp_path / "export.json", printed)):
        write(tmp_path, "export.json", whole)
        assert incomplete(capsys, *order) == []
        code, output = run_check(capsys, *order, "--json")
        assert (code, [each for each in json.loads(output)["findings"] if each["rule"].startswith("run/")]) == (0, [])


def with_prompt(path, text):
    """Return the text of a session of Claude Code with one more record of the user."""
    record = json.loads(path.read_text().splitlines()[0])
    record |= {"uuid": "s1-9", "parentUuid": "s1-1", "message": {"role": "user", "content": text}}
    return path.read_text() + json.dumps(record) + "\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[Request interrupted by user]", [INTERRUPTED]),
        ("[Request interrupted by user for tool use]", [INTERRUPTED]),
        ("<command-name>/exit</command-name>", []),
    ],
)
def test_an_interruption_cuts_a_session_off_and_a_command_after_the_answer_ends_it(tmp_path, capsys, text, found):
    path = write_session(tmp_path / "s.jsonl", "Done.")
    assert incomplete(capsys, write(tmp_path, "s.jsonl", with_prompt(path, text))) == found


def test_a_turn_that_ends_after_an_interruption_ends_the_run(tmp_path, capsys):
    path = write_session(tmp_path / "s.jsonl", "Done.")
    answer = json.loads(path.read_text().splitlines()[-1])
    answer |= {"uuid": "s1-10", "parentUuid": "s1-9"}
    answer["message"] |= {"id": "msg_after"}
    text = with_prompt(path, "[Request interrupted by user]") + json.dumps(answer) + "\n"
    assert incomplete(capsys, write(tmp_path, "s.jsonl", text)) == []
    later = event("turn_aborted") + event("task_started")
    text = rollout(*STEPS, end=None) + later
    assert incomplete(capsys, write(tmp_path, "r.jsonl", text)) == [NO_TURN_END]
    assert incomplete(capsys, write(tmp_path, "r.jsonl", text + event("task_complete"))) == []


def test_an_interrupted_rollout_next_to_a_killed_stream_is_cut_off(tmp_path, capsys):
    stream = "".join(codex_stream(*STEPS).splitlines(keepends=True)[:-2])
    paths = [write(tmp_path, "agent.jsonl", stream), write(tmp_path, "r.jsonl", rollout(*STEPS, end="turn_aborted"))]
    assert incomplete(capsys, *paths) == [INTERRUPTED]


@pytest.mark.parametrize(("has_end", "found"), [(True, []), (False, [NO_RECORD])])
def test_a_text_of_gemini_does_not_make_up_for_a_stream_without_its_end(tmp_path, capsys, has_end, found):
    """Gemini writes the text of an answer before the calls of the same answer, and records no reason to stop."""
    session = gemini_session(GEMINI_ANSWER)
    time, session_id = "2026-04-11T10:00:00.000Z", json.loads(session.splitlines()[0])["sessionId"]
    stream = lines(
        {"type": "init", "timestamp": time, "session_id": session_id, "model": "gemini-2.5-pro"},
        {"type": "message", "timestamp": time, "role": "assistant", "content": "Done.", "delta": True},
        *([{"type": "result", "timestamp": time, "status": "success", "stats": {}}] * has_end),
    )
    paths = [write(tmp_path, "agent.jsonl", stream), write(tmp_path, "s.jsonl", session)]
    for order in (paths, paths[::-1]):
        assert incomplete(capsys, *order) == found


def qwen_session(*, answered):
    prompt = json.loads(made.QWEN_FAIL["chat-1.jsonl"])
    parts = {"role": "model", "parts": [{"text": "Done."}]}
    last = {**prompt, "uuid": "c2", "parentUuid": "c1", "type": "assistant", "message": parts}
    return lines(prompt, last) if answered else lines(prompt)


def pi_session(stop):
    prompt = made.PI_FAIL["2026-1.jsonl"].splitlines()
    call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}
    content = [{"type": "text", "text": "Done."}] + [call] * (stop == "toolUse")
    message = {"role": "assistant", "content": content, "stopReason": stop, "timestamp": 1795319245149}
    result = {"role": "toolResult", "toolCallId": "c1", "content": [{"type": "text", "text": "x"}], "isError": False}
    records = [{"type": "message", "id": "m2", "parentId": "m1", "message": message}]
    if stop == "toolUse":
        records.append({"type": "message", "id": "m3", "parentId": "m2", "message": result})
    return "\n".join(prompt[:2]) + "\n" + lines(*records)


GEMINI_ANSWER = {"id": "b", "type": "gemini", "content": "Done.", "model": "gemini-2.5-pro"}


@pytest.mark.parametrize(
    ("whole", "cut", "found"),
    [
        (gemini_session(GEMINI_ANSWER), gemini_session(), NO_ANSWER),
        (qwen_session(answered=True), qwen_session(answered=False), NO_ANSWER),
        (pi_session("stop"), pi_session("toolUse"), UNREAD),
        (
            made.opencode_export(OPENCODE_TEXT, finish="stop"), made.opencode_export(OPENCODE_TEXT, finish="tool-calls"),
            MIDDLE,
        ),
    ],
    ids=["gemini", "qwen", "pi", "opencode"],
)  # fmt: skip
def test_the_session_files_of_other_agents_end_with_an_answer_too(tmp_path, capsys, whole, cut, found):
    assert incomplete(capsys, write(tmp_path, "s.json", whole)) == []
    assert incomplete(capsys, write(tmp_path, "s.json", cut)) == [found]
    assert incomplete(capsys, write(tmp_path, "s.json", whole[:-20]))


def claude_session(folder):
    return write_session(folder / "s.jsonl", ("Bash", {"command": "ls"}, 0), "Done.").read_text()


@pytest.mark.parametrize("kind", ["claude", "codex", "gemini", "qwen", "pi"])
def test_a_last_line_that_was_half_written_and_a_damaged_line_are_named(tmp_path, capsys, kind):
    make = {
        "claude": lambda: claude_session(tmp_path),
        "codex": lambda: rollout(*STEPS),
        "gemini": lambda: gemini_session(GEMINI_ANSWER),
        "qwen": lambda: qwen_session(answered=True),
        "pi": lambda: pi_session("stop"),
    }
    text = make[kind]()
    count = text.count("\n")
    path = write(tmp_path, "s.jsonl", text + '{"type": "x", "te')
    assert incomplete(capsys, path) == [f"the last record of s.jsonl, in line {count + 1}, is cut off"]
    first, _, others = text.partition("\n")
    path = write(tmp_path, "s.jsonl", f"{first}\ngarbage\n{others}")
    assert incomplete(capsys, path) == ["the record in line 2 of s.jsonl cannot be read: calls may be missing"]
    path = write(tmp_path, "s.jsonl", text.removesuffix("\n"))
    assert incomplete(capsys, path) == []


@pytest.mark.parametrize("kind", ["codex", "gemini"])
def test_two_sessions_in_one_file_never_pass(tmp_path, capsys, kind):
    """A later test run of the second session would hide that the first one ran none."""
    text = rollout(*STEPS) if kind == "codex" else gemini_session(GEMINI_ANSWER)
    header = json.loads(text.splitlines()[0])
    fields = header.get("payload", header)
    name = next(key for key in ("id", "sessionId") if key in fields)
    original, fields[name] = fields[name], "01a2015d-0000-7000-8000-000000000001"
    other = f"{json.dumps(header)}\n{text.partition(chr(10))[2]}"
    count = text.count("\n") + 1
    named = [f"another session begins in line {count} of s.jsonl: check its file by itself"]
    for both in (text + other, other + text):
        assert incomplete(capsys, write(tmp_path, "s.jsonl", both)) == named
    assert incomplete(capsys, write(tmp_path, "s.jsonl", text + text.splitlines(keepends=True)[0])) == []
    if kind == "codex":
        fields["forked_from_id"] = original
        fork = f"{json.dumps(header)}\n{text}"
        assert incomplete(capsys, write(tmp_path, "s.jsonl", fork)) == []


def test_a_record_of_an_unknown_type_is_not_damaged(tmp_path, capsys):
    """Newer agents write such records."""
    text = rollout(*STEPS)
    assert incomplete(capsys, write(tmp_path, "r.jsonl", text + event("new_thing") + lines({"type": "new"}))) == []


def test_a_stream_with_its_end_and_half_a_record_after_it_is_cut_off(tmp_path, capsys):
    path = write(tmp_path, "agent.jsonl", codex_stream(*STEPS) + '{"type": "thread.st')
    assert incomplete(capsys, path) == ["the last record of agent.jsonl, in line 7, is cut off"]
    assert incomplete(capsys, write(tmp_path, "agent.jsonl", codex_stream(*STEPS) + "a log line")) == []


@pytest.mark.parametrize(("follows", "found"), [(True, None), (False, "the session file a.jsonl ends")])
def test_a_session_that_was_continued_in_another_file_is_not_cut_off(repository, follows, found):
    conversation = new(repository).id
    append(repository, conversation, plain_message("coder", "I will look."))
    append(repository, conversation, plain_message(Author("carol", "human"), "Do it."))
    if follows:
        append(repository, conversation, plain_message("coder", "Done."))
    scope = resolve_scope(repository, conversation)
    entries = [
        ((head, replace(message, kind=KINDS[message.author.kind])), False)
        for head, message in walk_messages(repository, scope)
    ]
    ids = [message.id for (_, message), _ in entries]
    files = [SessionFile("a.jsonl", tuple(ids[:3]), None), SessionFile("b.jsonl", tuple(ids), False)]
    unfinished = find_unfinished(repository, files, entries)
    assert (unfinished and unfinished.reason[: len(found or "")]) == found
