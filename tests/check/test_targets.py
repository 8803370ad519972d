"""Which runs are judged: what is named always is, filters say what they left out, and what is no run says why."""

from __future__ import annotations

import gzip
import json
import os

import pytest

from scopes.cli.main import main
from scopes.cli.table import TABLE
from tests.check.headless_runs import codex_rollout, codex_stream
from tests.check.sessions import run_check, write_session
from tests.cli.running import PRODUCT, scopes

pytestmark = pytest.mark.cases(16)  # each is another way through a rule, and takes little time


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder `logs` with two sessions of two projects, and one session next to it."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "shop").mkdir()
    write_session(tmp_path / "logs" / "a.jsonl", "Done.", directory=str(tmp_path / "shop"), session="a")
    write_session(tmp_path / "logs" / "b.jsonl", "Done.", directory=str(tmp_path / "other"), session="b")
    write_session(tmp_path / "named.jsonl", "Done.", directory=str(tmp_path / "other"), session="c")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCOPES_STORE", str(tmp_path / "store.git"))
    return tmp_path


def names_of(output):
    return [run["name"] for run in json.loads(output.splitlines()[0])["runs"]]


@pytest.mark.parametrize("option", [("--since", "2099-01-01"), ("--project", "shop")])
@pytest.mark.parametrize("names", [["named.jsonl"], ["named.jsonl", "logs/a.jsonl"], ["-"]])
def test_options_that_narrow_nothing_but_named_files_are_refused(folder, capsys, option, names):
    """A filter without effect would be taken for one with an effect."""
    code, output = run_check(capsys, *names, *option)
    assert (code, "these are named" in output) == (2, True)


@pytest.mark.parametrize(
    ("option", "judged", "note"),
    [
        (("--since", "2099-01-01"), [], "--since left out 2 transcripts"),
        (("--since", "2026-01-01"), ["logs/a.jsonl", "logs/b.jsonl"], None),
        (("--project", "shop"), ["logs/a.jsonl"], "--project left out 1 transcript"),
        (("--project", "logs"), [], "--project left out 2 transcripts"),
    ],
)
def test_filters_narrow_folders_and_say_what_they_left_out(folder, capsys, option, judged, note):
    code, output = run_check(capsys, "logs", *option, "--json")
    assert (code, sorted(filter(None, names_of(output)))) == (int(not judged), judged)
    assert ("left out" in output) is (note is not None)
    if note is not None:
        assert f"note: not judged: {note}" in output
    if not judged:
        (finding,) = json.loads(output.splitlines()[0])["findings"]
        assert (finding["rule"], finding["message"]) == ("run/missing", f"there is no run to check: {note}")


@pytest.mark.parametrize("option", [("--since", "2099-01-01"), ("--project", "shop")])
def test_a_named_file_is_judged_whatever_the_filter_of_the_folder_next_to_it(folder, capsys, option):
    """An event stream of Codex states no directory: a filter that left it out would turn a red run green."""
    (folder / "agent.jsonl").write_text(codex_stream(("run", "pytest -q", 1), ("text", "Done.")))
    for order in (("agent.jsonl", "logs"), ("logs", "agent.jsonl")):
        code, output = run_check(capsys, *order, *option, "--json")
        assert (code, "agent.jsonl" in names_of(output)) == (1, True)


def test_a_stream_and_the_session_file_below_a_narrowed_folder_are_one_run(folder, capsys):
    steps = (("run", "pytest -q", 0), ("text", "Done."))
    (folder / "agent.jsonl").write_text(codex_stream(*steps))
    rollout = codex_rollout(*steps).replace("/home/dev/project", str(folder / "shop"))
    (folder / "logs" / "rollout-1.jsonl").write_text(rollout)
    code, output = run_check(capsys, "agent.jsonl", "logs", "--project", "shop", "--json")
    assert (code, sorted(names_of(output))) == (0, ["logs/a.jsonl", "logs/rollout-1.jsonl"])


def test_a_folder_that_is_not_there_yet_is_a_missing_run_and_no_mistake(folder, capsys):
    assert run_check(capsys, "conv-009", "./gone", "--since", "1d")[0] == 2
    for names in (["gone"], ["./gone"], ["gone", "./gone"]):
        code, output = run_check(capsys, *names, "--since", "1d")
        assert (code, "run/missing" in output) == (1, True)


@pytest.mark.parametrize("others", [[], ["weird.json"]])
def test_an_empty_file_below_a_folder_is_an_empty_file_and_of_no_unknown_format(folder, capsys, others):
    (folder / "fo").mkdir()
    (folder / "fo" / "empty.jsonl").touch()
    for name in others:
        (folder / "fo" / name).write_text('{"a": 1}')
    code, output = run_check(capsys, "fo")
    assert (code, output.count("empty.jsonl"), output.count("the file is empty")) == (1, 1, 1), output
    code, output = run_check(capsys, "fo", "logs")
    assert "not known: empty" not in output
    write_session(folder / "fo" / "fine.jsonl", "Done.")
    code, output = run_check(capsys, "fo")
    assert (code, output.count("empty.jsonl"), "weird.json" in output) == (1, 1, bool(others))


@pytest.mark.parametrize("pack", [gzip.compress, lambda _: b"Reading prompt from stdin..."], ids=["gzip", "log"])
def test_a_file_of_no_known_format_is_a_missing_run(folder, capsys, pack):
    (folder / "agent.jsonl").write_bytes(pack((folder / "named.jsonl").read_bytes()))
    for names in (["agent.jsonl"], ["agent.jsonl", "named.jsonl"]):
        code, output = run_check(capsys, *names)
        assert (code, "run/missing" in output, "unknown format" in output) == (1, True, True), output


@pytest.mark.parametrize(
    ("names", "what"), [([], "there is no run to check"), (["conv-002"], "there is no file or conversation conv-002")]
)
def test_without_a_store_the_hint_is_to_give_a_transcript_or_to_import(folder, monkeypatch, capsys, names, what):
    """Nobody who checks a run wants a new and empty store."""
    monkeypatch.delenv("SCOPES_STORE")
    code, output = run_check(capsys, *names)
    assert (code, f"{what}, and no store" in output, "scopes init" in output) == (4, True, False), output
    assert "scopes check agent.jsonl ~/.codex/sessions" in output
    assert "scopes import" in output


@pytest.mark.parametrize("option", [["--test", "logs"], ["--hook", "codex"]])
def test_what_is_no_check_takes_no_runs(folder, capsys, option):
    code, output = run_check(capsys, *option, "named.jsonl")
    assert (code, f"{option[0]} takes no run: named.jsonl" in output) == (2, True)


@pytest.mark.parametrize("option", ["--baseline", "--rules", "--project"])
def test_an_option_with_an_empty_variable_is_refused(folder, capsys, option):
    """Another policy than the one that was meant would judge the run, or another project would be meant."""
    code, output = run_check(capsys, "named.jsonl", option, "")
    assert (code, f"{option} is empty" in output) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--test", "logs", "--report", "junit"), "--report has no effect with --test"),
        (("--list", "--baseline", "b.sarif"), "--baseline has no effect with --list"),
        (("--list", "run/empty", "--since", "yesterday"), "--since has no effect with --list"),
    ],
)  # fmt: skip
def test_an_option_without_effect_is_refused(folder, capsys, words, message):
    code, output = run_check(capsys, *words)
    assert (code, message in output) == (2, True), output


@pytest.mark.parametrize("names", [("sessions",), ("named.jsonl", "sessions"), ("*.txt",), ("logs", "nothing*")])
def test_a_word_that_is_neither_path_nor_conversation_is_a_missing_run(folder, capsys, names):
    """The folder of an agent that did not run, or a pattern without a match, leaves a red report and no riddle."""
    code, output = run_check(capsys, *names, "--report", "junit=j.xml")
    assert (code, "there is no such file, folder or stored conversation" in output) == (1, True), output
    assert (folder / "j.xml").exists()


def test_a_conversation_with_a_name_of_its_own_is_judged(folder, capsys):
    assert main(["new", "--id", "nightly"], TABLE) == 0
    capsys.readouterr()
    code, output = run_check(capsys, "nightly", "--json")
    assert (code, names_of(output)) == (1, ["nightly"])


def test_the_stored_conversations_of_a_project_are_named_as_in_a_list(folder, capsys, monkeypatch):
    (folder / "shop" / ".git").mkdir()
    assert main(["import", "logs"], TABLE) == 0
    capsys.readouterr()
    code, output = run_check(capsys, "--project", "shop", "--json")
    assert (code, len(names_of(output)), "note: not judged: --project left out 1 conversation" in output) == (
        0,
        1,
        True,
    )


@pytest.mark.parametrize(
    "option",
    [
        ("--since", "yesterday"), ("--project", "."), ("--fail-on", "warning"), ("--baseline", "b.sarif"), ("--list",),
        ("--report", "json"), ("--agent-exit", "0"), ("--strict",), ("named.jsonl",),
    ],
)  # fmt: skip
def test_a_hook_refuses_options_of_a_check(folder, capsys, option):
    """Exit code 2 blocks the call in every agent: an option without effect must not look like one with an effect."""
    code, output = run_check(capsys, "--hook", "claude-code", *option)
    text = "--hook takes no run" if option == ("named.jsonl",) else f"{option[0]} has no effect with --hook"
    assert (code, text in output) == (2, True), output
    assert ("hint: set `fail_on`" in output) is (option[0] == "--fail-on")


def test_older_sessions_of_a_runner_that_keeps_its_home_are_left_out_as_the_readme_says(folder, capsys, monkeypatch):
    """A red session of another job would make every later job red."""
    monkeypatch.chdir(folder / "shop")
    steps = (("run", "pytest -q", 0), ("text", "Done."))
    (folder / "shop" / "agent.jsonl").write_text(codex_stream(*steps))
    rollout = codex_rollout(*steps).replace("/home/dev/project", str(folder / "shop"))
    (folder / "logs" / "rollout-1.jsonl").write_text(rollout)
    (folder / "logs" / "a.jsonl").unlink()
    write_session(folder / "logs" / "c.jsonl", ("Bash", {"command": "pytest"}, 1), directory=str(folder / "other"))
    assert run_check(capsys, "agent.jsonl", "../logs")[0] == 1
    code, output = run_check(capsys, "agent.jsonl", "../logs", "--project", ".", "--since", "1d", "--json")
    assert (code, len(names_of(output))) == (0, 1), output


def check_piped(data, *words):
    """Run `scopes check` with a pipe that has data as standard input; return the exit code and all output."""
    receiver, sender = os.pipe()
    with open(receiver, "rb") as pipe:
        with open(sender, "wb") as file:
            file.write(data.encode())
        done = scopes("check", *words, table=PRODUCT, stdin=pipe)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.cases(1)
@pytest.mark.parametrize("is_stored", [True, False])
def test_a_transcript_in_a_pipe_is_not_passed_over_if_no_run_is_named(folder, is_stored):
    """`cat run.jsonl | scopes check` judged the stored conversations."""
    if is_stored:
        assert scopes("import", "named.jsonl", table=PRODUCT).returncode == 0
    given = (folder / "named.jsonl").read_text()
    code, output = check_piped(given)
    assert (code, "error: standard input has data, and no run is named" in output) == (2, True), output
    assert "hint: to check it: scopes check -" in output
    with open(folder / "named.jsonl", encoding="utf-8") as file:
        assert scopes("check", table=PRODUCT, stdin=file).returncode == 2
    assert check_piped(given, "-")[0] == 0
    assert check_piped(given, "named.jsonl")[0] == 0


def test_a_pipe_that_a_program_may_still_fill_is_noted(folder):
    assert scopes("import", "named.jsonl", table=PRODUCT).returncode == 0
    reading, writing = os.pipe()
    try:
        done = scopes("check", table=PRODUCT, stdin=reading)
        assert (done.returncode, "note: standard input is a pipe and was not read" in done.stderr) == (0, True)
    finally:
        os.close(writing)
    done = scopes("check", table=PRODUCT, stdin=reading)
    os.close(reading)
    assert (done.returncode, "standard input" in done.stderr) == (0, False)


def test_an_empty_standard_input_is_called_that_and_fails(folder):
    code, output = check_piped("", "-")
    assert (code, "run/missing  standard input is empty" in output, "unknown format" in output) == (1, True, False)
