"""What `codex exec --json` prints."""

from __future__ import annotations

import json

import pytest

from scopes.importers.archive import walk_segments
from scopes.importers.formats.codex import Codex
from tests.importers.reading import drafts, events_of, unparsed
from tests.importers.streams import calls_of, import_paths, runs_of

THREAD = "019d0001-2222-7222-8222-222222222222"


def started(thread=THREAD):
    return [{"type": "thread.started", "thread_id": thread}, {"type": "turn.started"}]


def command(number, line, code, *, output="", status="completed"):
    item = {"id": f"item_{number}", "type": "command_execution", "command": f"/bin/bash -lc {line!r}"}
    first = {**item, "aggregated_output": "", "exit_code": None, "status": "in_progress"}
    return [
        {"type": "item.started", "item": first},
        {"type": "item.completed", "item": {**item, "aggregated_output": output, "exit_code": code, "status": status}},
    ]


def item(number, kind, **fields):
    return {"type": "item.completed", "item": {"id": f"item_{number}", "type": kind, **fields}}


def completed(tokens=100):
    usage = {"input_tokens": tokens, "cached_input_tokens": 20, "output_tokens": 7}
    return {"type": "turn.completed", "usage": usage}


def stream(*records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def read(*records):
    return events_of(Codex(), stream(*records))


def test_a_command_is_a_call_of_its_script_with_exit_code():
    found = drafts(read(*started(), *command(0, "make test", 2, output="no", status="failed"), completed()))
    assert [draft.kind for draft in found] == ["answer", "tool-results"]
    assert (found[0].parts[0].fields["name"], found[0].parts[0].fields["input"]) == (
        "exec_command",
        {"cmd": "make test"},
    )
    assert (found[1].parts[0].fields["exit_code"], found[1].parts[0].fields["is_error"]) == (2, True)


def test_parallel_commands_are_one_answer_and_one_message_of_results():
    first, second = command(0, "ls", 0), command(1, "date", 0)
    found = drafts(read(*started(), first[0], second[0], second[1], first[1]))
    assert [(draft.kind, len(draft.parts)) for draft in found] == [("answer", 2), ("tool-results", 2)]


def test_a_completed_item_without_a_started_one_is_a_call_with_its_result():
    change = item(0, "file_change", changes=[{"path": "/a/app.py", "kind": "update"}], status="completed")
    (found,) = drafts(read(*started(), change))
    assert [part.type for part in found.parts] == ["tool_call", "tool_result"]
    assert [(touch.path, touch.op) for touch in found.files] == [("/a/app.py", "edit")]


def test_a_failed_turn_is_one_error_and_the_end_of_the_run():
    events = read(
        *started(), {"type": "error", "message": "no model"}, {"type": "turn.failed", "error": {"message": "no model"}}
    )
    assert [(draft.kind, draft.status) for draft in drafts(events)] == [("error", "error")]
    assert events[-1].run_end[:2] == ("error", "no model")


def test_two_turns_of_a_thread_in_one_file_keep_their_calls_apart():
    events = read(*started(), *command(0, "ls", 0), completed(), *started(), *command(0, "ls", 0), completed())
    calls = [part.fields["call_id"] for draft in drafts(events) for part in draft.parts if part.type == "tool_call"]
    assert len(set(calls)) == 2


def test_an_item_of_an_unknown_type_is_kept_raw_and_an_unknown_record_is_kept_as_bytes():
    events = read(*started(), item(0, "dance", steps=3), {"type": "turn.paused"}, completed())
    assert [part.type for part in drafts(events)[0].parts] == ["raw"]
    assert sorted(unparsed(events)) == ["a record of unknown type", "unknown part 'dance', kept raw in its message"]


def test_two_turns_without_a_session_file_are_one_run_whose_tokens_count_once(repository, tmp_path):
    (tmp_path / "turn-1.jsonl").write_bytes(stream(*started(), *command(0, "ls", 0), completed(100)))
    (tmp_path / "turn-2.jsonl").write_bytes(stream(*started(), *command(0, "date", 1), completed(300)))
    import_paths(repository, tmp_path / "turn-1.jsonl")
    import_paths(repository, tmp_path / "turn-2.jsonl")
    (run,) = runs_of(repository)
    assert calls_of(run) == [("exec_command", "ok", 0), ("exec_command", "failed", 1)]
    assert (run.tokens.input, run.end.status) == (300, "success")


@pytest.mark.parametrize("order", [("out", "rollout"), ("rollout", "out")])
def test_the_workspace_is_that_of_the_session_file_whichever_came_first(repository, tmp_path, order):
    """A stream does not say where the agent ran, and `check agent.jsonl ~/.codex/sessions` imports it first."""
    (tmp_path / "out.jsonl").write_bytes(stream(*started(), *command(0, "ls", 0), completed()))
    meta = {"id": THREAD, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/home/dev/shop", "cli_version": "0.169.0"}
    prompt = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List the files."}]}
    records = [("session_meta", meta), ("response_item", prompt)]
    lines = [{"timestamp": "2026-01-01T00:00:01.000Z", "type": kind, "payload": each} for kind, each in records]
    (tmp_path / "rollout.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    for name in order:
        import_paths(repository, tmp_path / f"{name}.jsonl")
    (run,) = runs_of(repository)
    assert run.directory == "/home/dev/shop"


def test_the_ids_of_a_turn_with_many_calls_are_recorded_once(repository, tmp_path):
    """Else the record of a turn grows with the square of its calls."""
    for number in (20, 300):
        records = [command(n, f"echo {n}", 0) for n in range(number)]
        path = tmp_path / f"{number}.jsonl"
        starts, ends = zip(*records, strict=True)
        path.write_bytes(stream(*started(THREAD[:-3] + f"{number:03}"), *starts, *ends, completed()))
        import_paths(repository, path)
    records = repository.list_refs("refs/scopes/sources/").values()
    ids = [[len(each.native_ids) for each in walk_segments(repository, commit) if each.message] for commit in records]
    short, long = sorted(ids, key=len)
    assert set(short) == {20}
    assert [number for number in long if number] == [300, 300]  # the first of the calls, and of their results
