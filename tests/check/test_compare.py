"""`diff` of transcripts: two runs of one task side by side, and modes that decide whether they differ."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from scopes.check.compare import compare_runs
from scopes.check.policy import Policy
from scopes.check.run import RunSource
from scopes.check.run_reader import read_run
from scopes.history.handles import resolve_scope
from scopes.importers.formats.events import RunEnd
from tests.check.headless_runs import TESTS, codex_rollout, codex_stream
from tests.check.runs import edit, run_of, shell
from tests.check.sessions import run_check, run_diff, write_session
from tests.importers.reading import TRANSCRIPTS

TEST, PUSH, LIST = shell("pytest -q"), shell("git push"), shell("ls -l")


def compare(repository, old, new, mode="strict", directories=("/home/dev/shop", "/home/dev/shop")):
    """Compare two runs, given as steps."""
    runs = []
    for steps, directory in zip((old, new), directories, strict=True):
        name = run_of(repository, *steps, cwd=directory)
        runs.append(read_run(repository, resolve_scope(repository, name), name))
    return compare_runs(*runs, mode, Policy())


@pytest.mark.parametrize(
    ("old", "new", "equal"),
    [
        ([TEST, PUSH], [TEST, PUSH], {"strict", "unordered", "subset", "superset"}),
        ([TEST, PUSH], [PUSH, TEST], {"unordered", "subset", "superset"}),
        ([TEST, PUSH], [TEST], {"subset"}),
        ([TEST], [TEST, PUSH], {"superset"}),
        ([TEST], [TEST, TEST], {"superset"}),
        ([TEST, PUSH], [TEST, LIST], set()),
        ([], [], {"strict", "unordered", "subset", "superset"}),
    ],
)
def test_each_mode_decides_whether_two_runs_differ(repository, old, new, equal):
    seen = {
        mode
        for mode in ("strict", "unordered", "subset", "superset")
        if not compare(repository, old, new, mode).differs
    }
    assert seen == equal


def test_the_workspace_in_arguments_does_not_count_and_other_paths_do(repository):
    def steps(top):
        return [edit(f"{top}/src/a.py"), shell(f"cd {top} && pytest"), shell(f"ls {top}-old")]

    result = compare(
        repository, steps("/home/dev/shop"), steps("/ci/build/7"), directories=("/home/dev/shop", "/ci/build/7")
    )
    assert (result.only_old, result.only_new) == (("Bash: ls /home/dev/shop-old",), ("Bash: ls /ci/build/7-old",))
    assert [(use.name, use.old, use.new) for use in result.files] == [("src/a.py", 1, 1)]


def test_of_a_shell_call_only_the_command_counts(repository):
    first = ("Bash", {"command": "ls", "description": "List files"}, 0)
    assert not compare(repository, [first], [shell("ls")]).differs


def test_tools_commands_tests_and_numbers_are_shown_for_both(repository):
    result = compare(repository, [shell("pytest", 1), edit("a.py")], [shell("git push"), shell("pytest"), PUSH])
    assert [(use.name, use.old, use.new) for use in result.tools] == [("Bash", 1, 3), ("Edit", 1, 0)]
    assert [(use.name, use.old, use.new) for use in result.commands] == [("git push", 0, 2), ("pytest", 1, 1)]
    assert (result.tests_old, result.tests_new) == (("failed",), ("passed",))
    amounts = {each.name: (each.old, each.new) for each in result.amounts}
    assert (amounts["calls"], amounts["failed calls"], amounts["cost in USD"]) == ((2, 3), (1, 0), (None, None))
    assert "-Bash: pytest" not in result.order
    assert "+Bash: git push" in result.order


def test_a_secret_is_redacted(repository):
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAcDfG"
    result = compare(repository, [shell(f"curl -H {token} x")], [])
    assert token not in str(result)


def test_paths_are_compared_and_the_exit_code_is_1_if_they_differ(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    old = write_session(tmp_path / "old.jsonl", TEST, "Done.")
    new = write_session(tmp_path / "new.jsonl", TEST, PUSH, "Done.", session="s2", tokens=20, directory="/ci/7")
    code, out = run_diff(capsys, old, new, "--json")
    shown = json.loads(out)
    assert (code, shown["differs"], shown["only_new"]) == (1, True, ["Bash: git push"])
    assert {row["name"]: (row.get("old"), row.get("new")) for row in shown["amounts"]}["input tokens"] == (20, 60)
    assert run_diff(capsys, old, new, "--match", "superset")[0] == 0
    code, out = run_diff(capsys, old, new, "--match", "subset")
    assert (code, "different (subset): 0 calls only in the old run, 1 only in the new one" in out) == (1, True)


def test_mistakes_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    old = write_session(tmp_path / "old.jsonl", TEST)
    write_session(tmp_path / "new.jsonl", TEST, session="s2")
    assert run_diff(capsys, "--match", "strict", old)[0] == 2
    assert run_diff(capsys, old, old, "--match", "fuzzy")[0] == 2
    assert "has 2 runs" in run_diff(capsys, old, tmp_path)[1]
    assert "there is no run in gone.jsonl" in run_diff(capsys, old, "gone.jsonl")[1]


STEPS = (("run", TESTS, 0), ("patch",), ("text", "Done."))


def test_the_stream_and_the_session_file_of_one_run_are_equal(tmp_path, monkeypatch, capsys):
    """The stream has absolute paths, no patch, no directory, and lacks the calls that were refused."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stream.jsonl").write_text(codex_stream(*STEPS))
    (tmp_path / "session.jsonl").write_text(codex_rollout(*STEPS[:2], ("refused", "update_plan"), STEPS[2]))
    for words in (("stream.jsonl", "session.jsonl"), ("session.jsonl", "stream.jsonl")):
        code, output = run_diff(capsys, *words)
        assert (code, "equal (strict)" in output) == (0, True), output


# Recorded runs with an event stream and a session file; `gemini -o json` has no calls, and it can be empty.
_HEADLESS = Path(TRANSCRIPTS) / "headless"
_RUNS = sorted(
    folder
    for folder in _HEADLESS.glob("*/*/")
    if len([*folder.glob("*.json*")]) == 2 and not folder.match("gemini-cli/*-json")
)


@pytest.mark.skipif(not _RUNS, reason="no real transcripts here")
@pytest.mark.parametrize("folder", _RUNS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_both_files_of_a_recorded_run_are_equal(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    first, second = folder.glob("*.json*")
    for words in ((first, second), (second, first)):
        code, output = run_diff(capsys, *words)
        assert (code, "equal (strict)" in output) == (0, True), output


def test_parallel_calls_have_no_order_in_an_event_stream(repository):
    """OpenCode writes a call to its stream when it ends."""
    name = run_of(repository, LIST, TEST, PUSH, cwd="/home/dev/shop")
    run = replace(read_run(repository, resolve_scope(repository, name), name), end=RunEnd("success"))
    one, two, three = run.calls
    two = replace(two, message=one.message)
    runs = [replace(run, calls=calls) for calls in ((one, two, three), (two, one, three), (one, three, two))]
    session, stream, other = (
        runs[0],
        *(replace(each, sources=(RunSource("a.jsonl", "opencode", "stream"),)) for each in runs[1:]),
    )
    assert not compare_runs(session, stream, "strict", Policy()).differs
    assert compare_runs(session, other, "strict", Policy()).differs
    assert compare_runs(stream, other, "strict", Policy()).differs


def test_a_baseline_of_both_files_of_a_run_covers_its_stream_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stream.jsonl").write_text(codex_stream(*STEPS))
    (tmp_path / "session.jsonl").write_text(codex_rollout(*STEPS))
    both, alone = ("stream.jsonl", "session.jsonl"), ("stream.jsonl",)
    assert run_check(capsys, *both, "--report", "sarif=b.sarif")[0] == 1
    code, output = run_check(capsys, *alone, "--baseline", "b.sarif")
    assert (code, "tests-after-last-edit" in output, "(1 accepted)" in output) == (0, True, True), output
    other = codex_stream(*STEPS).replace("app.py", "other.py")
    (tmp_path / "stream.jsonl").write_text(other)
    assert run_check(capsys, *alone, "--baseline", "b.sarif")[0] == 1
