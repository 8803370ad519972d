"""A transcript that was cut off at any byte is no clean run, and no error of the program."""

from __future__ import annotations

import json

import pytest

from tests.check import headless_runs as made
from tests.check.sessions import run_check, write_session
from tests.support.examples import sample

STEPS = (("patch",), ("run", made.TESTS, 0), ("text", "Fixed; all tests pass. \u00e9"))


def session_of_claude_code(folder):
    path = folder / "whole.jsonl"
    write_session(path, ("Bash", {"command": "pytest"}, 0), "All tests pass.")
    return path.read_bytes()


TRANSCRIPTS = {
    "the stream of codex": lambda _: made.codex_stream(*STEPS).encode(),
    "the session file of codex": lambda _: made.codex_rollout(*STEPS).encode(),
    "the session file of claude code": session_of_claude_code,
}


@pytest.mark.parametrize("kind", TRANSCRIPTS)
def test_a_transcript_that_is_cut_off_never_passes(tmp_path, capsys, kind):
    """Without its last line break it is whole."""
    data = TRANSCRIPTS[kind](tmp_path)
    path = tmp_path / "cut.jsonl"
    passed = []
    for size in sample(range(len(data) + 1), 12):
        path.write_bytes(data[:size])
        code, _ = run_check(capsys, path)
        assert code in {0, 1}
        passed += [len(data) - size] if code == 0 else []
    assert set(passed) <= {0, 1}


def array_of_qwen(indent=None):
    """Return what `qwen -o json` prints: one array, on one line or indented."""
    first, *others = map(json.loads, made.QWEN_FAIL["stdout.jsonl"].splitlines())
    answer = {"type": "text", "text": "Done."}
    others[0]["message"]["content"] = [answer]
    others[1]["result"] = answer["text"]
    return json.dumps([first, *others], indent=indent)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("end", ["", "\n", ",", ",\n"])
def test_an_array_of_events_without_its_end_is_cut_off(tmp_path, capsys, indent, end):
    path = tmp_path / "stdout.json"
    whole = array_of_qwen(indent)
    path.write_text(f"{whole}\n")
    assert run_check(capsys, path)[0] == 0
    path.write_text(whole.removesuffix("]").rstrip() + end)
    code, output = run_check(capsys, path)
    assert (code, "the array of records in stdout.json has no end: it is cut off" in output) == (1, True)


@pytest.mark.parametrize("after", ["", "\n", "\nlog: bye\n"])
def test_text_behind_the_array_does_not_matter(tmp_path, capsys, after):
    path = tmp_path / "stdout.json"
    path.write_text(array_of_qwen() + after)
    assert run_check(capsys, path)[0] == 0


ENCODINGS = {
    "UTF-8 with a byte order mark": "utf-8-sig",
    "UTF-16": "utf-16",
    "UTF-16 without a mark": "utf-16-le",
    "UTF-32": "utf-32",
}


@pytest.mark.parametrize("encoding", ENCODINGS.values(), ids=ENCODINGS)
def test_a_forbidden_command_never_passes_whatever_the_encoding(tmp_path, capsys, encoding):
    path = tmp_path / "agent.jsonl"
    path.write_bytes(made.codex_rollout(("run", "git push --force", 0), ("text", "Done.")).encode(encoding))
    assert run_check(capsys, path)[0] == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(b"\n", b"\n\n"),
        lambda data: data.rstrip(b"\n"),
        lambda data: data.replace(b"\n", b"\n\xef\xbb\xbf"),
        lambda data: data.replace(b"\n", b"\n\x00"),
        lambda data: data.replace(b"Done.", b"D\xf6ne \xff\xfe \xc0\x80 \xed\xa0\x80."),
    ],
    ids=["CRLF", "empty lines", "no last line break", "marks inside", "NUL between lines", "no UTF-8"],
)
def test_a_forbidden_command_never_passes_whatever_stands_around_it(tmp_path, capsys, change):
    path = tmp_path / "agent.jsonl"
    path.write_bytes(change(made.codex_rollout(("run", "git push --force", 0), ("text", "Done.")).encode()))
    assert run_check(capsys, path)[0] == 1
