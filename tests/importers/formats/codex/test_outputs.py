"""Outputs of tools, in all forms written by Codex."""

from __future__ import annotations

import pytest

from scopes.importers.formats.codex.items import read_output
from scopes.importers.formats.lossless_json import decode

WRAPPED = '{"output":"tea.py\\n","metadata":{"exit_code":%d,"duration_seconds":0.0}}'
CHUNK = "Chunk ID: f8430a\nWall time: 0.0000 seconds\nProcess exited with code %d\nOriginal token count: 11\nOutput:\ntea.py\n"
COMMAND = "Command: /bin/zsh -lc 'ls'\nChunk ID: d4f5e2\nWall time: 0.1 seconds\nProcess exited with code %d\nOutput:\ntea.py\n"
PLAIN = "Exit code: %d\nWall time: 0.1 seconds\nOutput:\ntea.py\n"
RUNNING = (
    "Chunk ID: 1\nWall time: 1.0 seconds\nProcess running with session ID 77\nOutput:\nProcess exited with code 3\n"
)


@pytest.mark.parametrize("code", [0, 1, 127, -1])
@pytest.mark.parametrize("form", [CHUNK, COMMAND, PLAIN])
def test_plain_text_output_is_kept_and_its_exit_code_is_read(form, code):
    """0.98 and later."""
    assert read_output({"output": form % code}) == {"output": form % code, "exit_code": code, "is_error": code != 0}


@pytest.mark.parametrize("code", [0, 2])
def test_wrapped_output_is_the_text_inside(code):
    """0.36 to 0.73, and patches."""
    assert read_output({"output": WRAPPED % code}) == {"output": "tea.py\n", "exit_code": code, "is_error": code != 0}


@pytest.mark.parametrize(
    "text",
    [
        '{"output":"x"}',
        '{"output":',
        '{"output":7,"metadata":{"exit_code":0}}',
        '{"output":' + "[" * 400,
        '{"output": {}}',
    ],
)
def test_output_that_merely_looks_wrapped_is_text(text):
    assert read_output({"output": text}) == {"output": text}


def test_a_running_process_has_no_exit_code():
    """Text in the output is not part of the header."""
    assert read_output({"output": RUNNING}) == {"output": RUNNING}


def test_a_text_that_mentions_an_exit_code_has_none():
    text = "Process exited with code 1"
    assert read_output({"output": text}) == {"output": text}


@pytest.mark.parametrize(
    "text", ["exec_command failed for `ls`: no", "apply_patch verification failed: Failed to find", "err: gone"]
)
def test_a_call_that_was_refused_is_an_error(text):
    assert read_output({"output": text}) == {"output": text, "is_error": True}


def test_an_output_with_its_success_is_read():
    assert read_output({"output": {"content": "no", "success": False}}) == {"output": "no", "is_error": True}


@pytest.mark.parametrize("output", [[{"type": "input_text", "text": "x"}], {"content": "x"}, 7, None])
def test_output_of_another_form_is_kept_unchanged(output):
    assert read_output({"output": output}) == {"output": output}


def test_an_output_with_inexact_numbers_is_kept_as_text():
    assert read_output({"output": decode('[{"seconds": 1.0}]')}) == {"output_text": '[{"seconds":1.0}]'}


def test_a_missing_output_gives_no_field():
    assert read_output({}) == {}


def test_only_the_beginning_of_an_output_is_searched_for_a_header():
    """A result of many megabytes is not searched through for a header that it does not have."""
    text = "x\n" * 100_000 + "Process exited with code 1\nOutput:\n"
    assert read_output({"output": text}) == {"output": text}
