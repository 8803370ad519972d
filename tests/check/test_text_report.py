"""The text of `scopes check`: paths once and relative, and one line for what could not be judged in many runs."""

from __future__ import annotations

import json
from io import StringIO

import pytest

from scopes.check.check import Checked, CheckedRun
from scopes.check.findings import Event, Finding, Verdict
from scopes.check.run import RunSource
from scopes.cli.check_runs import with_relative_paths
from scopes.render.table import render_text
from scopes.render.terminal import TerminalView
from scopes.render.view import View
from tests.check.headless_runs import codex_stream
from tests.check.sessions import run_check, write_session
from tests.cli.conversation import Conversation

PATH = "/home/dev/shop/logs/agent.jsonl"
LATE = Finding(
    "order/tests-after-last-edit", "error", "the last test run is before the last edit",
    (Event(3, "k3x9q2mf5a7b2c4d6e2f3g4h5i", "src/app.py", PATH, 15), Event(1, "sd7mnkyn5a7b2c4d6e2f3g4h5i", "pytest", PATH, 10)),
    cure="run the tests after the last edit, or limit `paths` to the files that the tests can see",
)  # fmt: skip
UNKNOWN = Verdict("order/tests-passed", "error", "unknown", "no test ran")


def checked_runs(count=1, name=PATH):
    runs = [
        CheckedRun(
            name=name if count == 1 else f"{name}.{number}",
            conversation=None,
            title=None,
            calls=2,
            verdicts=(Verdict(LATE.rule, "error", "fail", findings=(LATE,)), UNKNOWN) if number == 0 else (UNKNOWN,),
            sources=(RunSource(PATH, "codex", "session"),),
        )
        for number in range(count)
    ]
    return Checked(runs=tuple(runs))


def text_of(checked, width=None):
    text = StringIO()
    render_text(checked, View(text.write) if width is None else TerminalView(text.write, width=width, color=False))
    return text.getvalue()


def test_the_path_is_a_heading_relative_to_the_directory_and_findings_have_lines():
    assert text_of(with_relative_paths(checked_runs(), "/home/dev/shop")).splitlines()[:4] == [
        "logs/agent.jsonl",
        "  error    order/tests-after-last-edit  the last test run is before the last edit",
        "      line 15  src/app.py",
        "      line 10  pytest",
    ]


def test_a_path_elsewhere_stays_absolute():
    assert with_relative_paths(checked_runs(), "/home/dev/sho") == checked_runs()
    assert with_relative_paths(checked_runs(), "/").runs[0].name == PATH[1:]


def test_a_stored_conversation_is_named_with_its_transcript():
    lines = text_of(checked_runs(name="conv-001")).splitlines()
    assert lines[0] == f"conv-001  {PATH}"
    assert "      line 15  src/app.py" in lines


def test_what_cannot_be_judged_is_one_line_for_each_rule_and_reason():
    lines = text_of(checked_runs(300)).splitlines()
    assert lines[-2] == "unknown  order/tests-passed  no test ran (300 runs)"
    assert len(lines) == 7


def test_many_rules_with_one_reason_share_a_line_also_if_they_concern_different_runs():
    """A second event stream without its session file must not bring back a line for every rule."""
    rules = [f"ours/{number}" for number in range(9)]
    runs = [
        CheckedRun(
            name=f"agent{position}.jsonl", conversation=None, title=None, calls=1,
            verdicts=tuple(Verdict(rule, "error", "unknown", "lossy") for rule in rules[position:]),
        )
        for position in range(3)
    ]  # fmt: skip
    lines = text_of(Checked(runs=tuple(runs))).splitlines()
    assert lines[0] == "unknown  9 rules  lossy (3 runs)"
    assert len(lines) == 2


def test_the_worst_findings_of_a_run_come_first():
    levels = ["warning", "error", "note", "error"]
    found = [Finding(f"ours/{number}", level, "x") for number, level in enumerate(levels)]
    verdicts = tuple(Verdict(each.rule, each.level, "fail", findings=(each,)) for each in found)
    run = CheckedRun(name="a.jsonl", conversation=None, title=None, calls=1, verdicts=verdicts)
    shown = [line.split()[1] for line in text_of(Checked(runs=(run,))).splitlines() if line.startswith("  ")]
    assert shown == ["ours/1", "ours/3", "ours/0", "ours/2"]


@pytest.mark.parametrize(
    ("policy", "end"), [(None, "0 unknown"), ("abc:scopes-check.toml", "0 unknown; policy: abc:scopes-check.toml")]
)
def test_the_summary_names_the_policy(policy, end):
    """A green run that no policy applied to looks like one that kept the rules."""
    run = CheckedRun(name="a.jsonl", conversation=None, title=None, calls=1, verdicts=())
    assert text_of(Checked(runs=(run,), policy=policy)) == f"passed: 1 run, 0 findings, 0 passed, {end}\n"


def test_runs_of_one_file_have_names_of_their_own_in_all_reports(tmp_path, monkeypatch, capsys):
    """GitLab hides entries with equal fingerprints, and the name of the run is part of them."""
    monkeypatch.chdir(tmp_path)
    bad = codex_stream(("run", "pytest -q", 1), ("text", "Done."))
    other = bad.replace("019d0001-2222", "019d0009-2222")
    (tmp_path / "agent.jsonl").write_text(bad + other)
    code, output = run_check(capsys, "agent.jsonl", "--report", "gitlab=q.json", "--report", "junit=j.xml")
    assert code == 1
    assert [line for line in output.splitlines() if line.startswith("agent")] == ["agent.jsonl", "agent.jsonl (run 2)"]
    entries = json.loads((tmp_path / "q.json").read_text())
    assert len({each["fingerprint"] for each in entries}) == len(entries) == 4
    assert 'name="agent.jsonl (run 2)"' in (tmp_path / "j.xml").read_text()


def test_the_exit_code_of_the_agent_is_shown_without_the_words_of_the_agent(tmp_path, capsys):
    """`the tests pass` is no evidence of a failure."""
    path = write_session(tmp_path / "s.jsonl", "The tests pass.")
    code, output = run_check(capsys, path, "--agent-exit", "1")
    assert (code, "the agent's exit code is 1" in output, "The tests pass" in output) == (1, True, False)
    assert "what to do: see why the agent failed" in output


@pytest.mark.parametrize("width", [80, 200])
def test_nothing_is_wider_than_the_terminal(width):
    assert max(map(len, text_of(with_relative_paths(checked_runs(), "/home/dev/shop"), width).splitlines())) <= width


def test_a_transcript_is_named_relative_to_the_current_directory_in_all_reports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").mkdir()
    records = [
        {"type": "thread.started", "thread_id": "0199a1b2-0000-7000-8000-000000000000"},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "Done."}},
        {"type": "turn.failed", "error": {"message": "no"}},
    ]
    (tmp_path / "logs" / "agent.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    done = Conversation(tmp_path).run_main("check", "logs", "--report", "sarif=s.sarif", "--report", "junit=j.xml")
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, "logs/agent.jsonl")
    for text in (done.stdout, (tmp_path / "s.sarif").read_text(), (tmp_path / "j.xml").read_text()):
        assert str(tmp_path) not in text
    (run,) = json.loads((tmp_path / "s.sarif").read_text())["runs"]
    assert run["artifacts"][0]["location"]["uri"] == "logs/agent.jsonl"
    assert len(run["artifacts"][0]["hashes"]["sha-256"]) == 64


def test_on_a_terminal_a_finding_has_its_place_and_what_to_do():
    lines = text_of(with_relative_paths(checked_runs(), "/home/dev/shop"), width=100).splitlines()
    assert any(line.startswith("✗ error ") and "order/tests-after-last-edit" in line for line in lines)
    assert any(line.split()[:1] == ["do"] for line in lines)
    assert any(line.startswith("FAILED: ") for line in lines)
