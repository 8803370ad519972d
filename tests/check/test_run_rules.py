"""A run that is missing, empty or cut off never passes."""

from __future__ import annotations

import json
from datetime import date

import pytest

from scopes.check.check import check
from scopes.check.explain import explain_rule, list_rules
from scopes.check.policy import Policy, Suppression
from scopes.history.handles import resolve_scope
from tests.check.headless_runs import codex_stream, gemini_stream, lines
from tests.check.made_runs import STREAM, make_run
from tests.check.made_runs import judge as judge_rule
from tests.check.runs import judge, run_of, shell, verdict_of
from tests.check.sessions import run_check, write_session


def test_nothing_examined_is_never_clean(repository):
    checked = check(repository, [], Policy())
    assert (checked.failed, checked.exit_code) == (True, 1)
    assert [finding.rule for finding in checked.failures] == ["run/missing"]


def test_a_transcript_that_is_not_there_is_a_finding_next_to_the_other_runs(repository):
    conversation = run_of(repository, "Done.")
    checked = judge(repository, conversation, missing=[("agent.jsonl", "file 'agent.jsonl' not found")])
    assert [(run.name, bool(run.findings)) for run in checked.runs] == [("agent.jsonl", True), (conversation, False)]


def test_a_run_without_an_answer_and_without_a_call_is_empty(repository):
    checked = judge(repository, run_of(repository))
    assert verdict_of(checked, "run/empty") == ("fail", "the run has no answer and no tool call")
    policy = Policy(parameters={"run/empty": {"min_calls": 2}})
    checked = judge(repository, run_of(repository, shell("ls"), "Done."), policy)
    assert verdict_of(checked, "run/empty") == ("fail", "the run has 1 tool calls, at least 2 wanted")


def test_a_run_that_went_on_after_a_call_without_a_result_is_complete(repository):
    """Results are dropped at a compaction, and a web search of Codex has none."""
    search = ("web_search", {"query": "x"}, None)
    for steps in ([search, shell("make")], [search, "I found it."]):
        assert verdict_of(judge(repository, run_of(repository, *steps)), "run/incomplete") == ("pass", "")


def test_a_call_without_a_result_means_that_the_run_was_cut_off(repository):
    checked = judge(repository, run_of(repository, shell("make"), ("Bash", {"command": "make all"}, None)))
    assert verdict_of(checked, "run/incomplete") == ("fail", "a tool call has no result: the run was cut off")


def test_a_missing_run_is_a_rule_with_a_level_like_the_others(repository):
    assert list_rules(Policy()).rules[0].id == "run/missing"
    assert explain_rule(Policy(levels={"run/missing": "note"}), "run/missing").rule.level == "note"
    checked = check(repository, [], Policy(levels={"run/missing": "warning"}))
    assert [(each.rule, each.level) for run in checked.runs for each in run.findings] == [("run/missing", "warning")]
    assert (checked.exit_code, checked.notes) == (0, ())
    assert verdict_of(judge(repository, run_of(repository, "Done.")), "run/missing") == ("pass", "")


def test_a_missing_run_is_noted_if_its_rule_is_off(repository):
    checked = check(repository, [], Policy(levels={"run/missing": "off"}), missing=[("a.jsonl", "not found")])
    assert ([run.verdicts for run in checked.runs], checked.exit_code) == ([()], 0)
    assert [note.text for note in checked.notes] == ["a.jsonl: not found"]


def test_a_missing_run_can_be_suppressed_until_a_day(repository):
    ended = ["the suppression of run/missing in line 1 ended on 2020-01-01"]
    for until, code, notes in ((date(2099, 1, 1), 0, []), (date(2020, 1, 1), 1, ended)):
        policy = Policy(suppressions=(Suppression("run/missing", None, "no agent yet", until, 1),))
        checked = check(repository, [], policy)
        assert (checked.exit_code, [note.text for note in checked.notes]) == (code, notes)


INIT = {"type": "system", "subtype": "init", "cwd": "/home/dev/shop", "session_id": "s9", "tools": ["Bash"]}
FAILED = {"type": "result", "subtype": "error_during_execution", "is_error": True, "num_turns": 0, "session_id": "s9"}


@pytest.mark.parametrize(
    ("records", "rules"),
    [
        ([INIT], {"run/empty", "run/incomplete"}),
        ([INIT, FAILED], {"run/empty", "run/failed"}),
        ([{"type": "thread.started", "thread_id": "0199a1b2-0000-7000-8000-000000000000"}], {"run/empty", "run/incomplete"}),
    ],
)  # fmt: skip
def test_a_stream_without_a_message_is_a_run_that_never_passes(tmp_path, capsys, monkeypatch, records, rules):
    """A job that was killed after the first record, next to a run that is fine."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stream.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    write_session(tmp_path / "fine.jsonl", "Done.")
    for words in (["stream.jsonl"], ["fine.jsonl", "stream.jsonl"], ["."]):
        code, output = run_check(capsys, *words, "--json")
        assert code == 1
        found = [each for each in json.loads(output)["runs"] if each["name"] == "stream.jsonl"]
        assert rules <= {each["rule"] for run in found for each in run["verdicts"] if each["status"] == "fail"}


def test_a_session_file_without_a_message_is_no_run_unless_it_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    summary = {"type": "summary", "summary": "A title", "leafUuid": "u1", "sessionId": "s7"}
    (tmp_path / "title.jsonl").write_text(json.dumps(summary) + "\n")
    write_session(tmp_path / "fine.jsonl", "Done.")
    assert run_check(capsys, ".")[0] == 0
    code, output = run_check(capsys, "title.jsonl", "fine.jsonl")
    assert (code, "title.jsonl\n  error    run/empty" in output) == (1, True)


def test_a_file_in_a_folder_that_cannot_be_read_is_a_finding(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_session(tmp_path / "fine.jsonl", "Done.")
    locked = write_session(tmp_path / "locked.jsonl", "Done.", session="s2")
    locked.chmod(0)
    try:
        locked.read_bytes()
    except PermissionError:
        code, output = run_check(capsys, ".")
        assert (code, "run/missing" in output) == (1, True)


def _gemini(*records):
    return gemini_stream({"type": "message", "role": "assistant", "content": "Done."}, *records)


_CLAUDE = {"session_id": "s1", "uuid": "u"}
_INIT = {"type": "system", "subtype": "init", "cwd": "/ws", "model": "m", **_CLAUDE}
_ANSWER = {
    "type": "assistant",
    "message": {"id": "a1", "role": "assistant", "content": [{"type": "text", "text": "Hi."}]},
}
_AGAIN = {
    "type": "assistant",
    "message": {"id": "a2", "role": "assistant", "content": [{"type": "text", "text": "So."}]},
}
_RESULT = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, "result": "Hi."}
_END = {"type": "result", "status": "success", "stats": {}}
_ITEM = {"type": "item.completed", "item": {"id": "item_9", "type": "agent_message", "text": "more"}}
_DONE = {"type": "turn.completed", "usage": {"input_tokens": 1, "cached_input_tokens": 0, "output_tokens": 1}}


def _claude(*records):
    values = ({**each, "session_id": "s1", "uuid": f"u{number}"} for number, each in enumerate(records))
    return lines(_INIT, *values)


@pytest.mark.parametrize(
    ("text", "is_complete"),
    [
        (_claude(_ANSWER, _RESULT), True),
        (_claude(_ANSWER, _RESULT, _AGAIN), False),
        (_claude(_ANSWER, _RESULT, {"type": "user", "message": {"role": "user", "content": "and?"}}), False),
        (_claude(_ANSWER, _RESULT) + lines({**_INIT, "uuid": "v"}), False),
        (_claude(_ANSWER, _RESULT, _AGAIN, _RESULT), True),
        (_claude(_ANSWER, _RESULT, {"type": "system", "subtype": "task_notification"}), True),
        (codex_stream(("text", "Hi.")), True),
        (codex_stream(("text", "Hi.")) + lines(_ITEM), False),
        (codex_stream(("text", "Hi.")) + lines({"type": "turn.started"}), False),
        (codex_stream(("text", "Hi.")) + lines({"type": "turn.started"}, _ITEM, _DONE), True),
        (_gemini(_END), True),
        (_gemini(_END, {"type": "message", "role": "user", "content": "and?"}), False),
        (_gemini(_END, {"type": "tool_use", "tool_name": "x", "tool_id": "t", "parameters": {}}), False),
        (_gemini(_END, {"type": "message", "role": "user", "content": "and?"}, _END), True),
    ],
)
@pytest.mark.cases(16)
def test_a_stream_that_goes_on_after_its_end_needs_another_end(tmp_path, monkeypatch, capsys, text, is_complete):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stream.jsonl").write_text(text)
    code, output = run_check(capsys, "stream.jsonl")
    assert ("run/incomplete" in output, code) == (not is_complete, int(not is_complete)), output


@pytest.mark.parametrize(("name", "folder"), [("codex", ", below ~/.codex/sessions"), ("pi", "")])
def test_a_stream_alone_names_where_the_agent_keeps_its_session_files(name, folder):
    (finding,) = judge_rule("run/lossy", make_run("Done.", sources=(STREAM._replace(format=name),))).findings
    assert finding.cure == f"check the session file that the agent kept as well{folder}"


def test_progress_is_the_number_of_runs_that_were_judged_since_the_last_call(repository):
    """The bar of a terminal stood at its end while most runs were still to be judged."""
    counts: list[int] = []
    scopes = [(name, resolve_scope(repository, name)) for name in (run_of(repository, "Done.") for _ in range(3))]
    check(repository, scopes, Policy(), on_progress=counts.append)
    assert counts == [1, 1, 1]
