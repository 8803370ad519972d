"""A kill between any two messages loses nothing that the editor has got the answer of."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import pytest

from scopes.conversation.verify import verify
from tests.support.acp_client import AcpError, prompt_params

PROMPTS = ["one", "tool", "two", "settings", "late", "three"]
LINES = 31  # that the editor gets in a whole run, and not fewer
TARGETS = ("proxy", "agent", "editor")


def target_process(desk, editor, target):
    if target == "agent":
        return int((desk.folder / "pid").read_text())
    return editor.process.pid


def run_until_killed(desk, target, point, *, patient=True):
    """Prompt until the target is killed after the line with this number; return the prompts that were answered."""
    editor = desk.editor(initialize=False, patient=patient, message_ids=True)

    def kill_at(number):
        if number == point:
            if target == "editor":
                editor.process.stdin.close()
            else:
                os.kill(target_process(desk, editor, target), signal.SIGKILL)

    editor.after_line = kill_at
    answered = []
    with suppress(EOFError, AcpError, BrokenPipeError, ValueError):
        editor.initialize()
        session = editor.open(desk.project)
        for text in PROMPTS:
            editor.ask("session/prompt", prompt_params(session, text))
            answered.append(text)
    editor.close()
    return answered, len(editor.received)


def expected(text):
    """Return the texts of a whole turn."""
    turns = {"tool": ["I will edit. ", "", "Done."], "two": ["one", "two"], "late": ["", ""]}
    return [text, *turns.get(text, [f"echo: {text}"])]


def check_kill(desk, target, point):
    answered, lines = run_until_killed(desk, target, point)
    assert lines < LINES
    texts = [text for text in desk.texts() if text != "said afterwards"] if answered else []
    wanted = [each for text in answered for each in expected(text)]
    assert texts[: len(wanted)] == wanted
    if texts:
        assert verify(desk.store).exit_code == 0
    desk.run("afterwards")
    assert desk.texts(desk.branches()[-1])[-2:] == ["afterwards", "echo: afterwards"]


def test_a_run_without_a_kill_is_whole(desk):
    answered, lines = run_until_killed(desk, "proxy", -1)
    assert (answered, lines) == (PROMPTS, LINES)
    result = [text for text in desk.texts() if text != "said afterwards"]
    assert [text for text in result if text] == [each for text in PROMPTS for each in expected(text) if each]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("point", [1, 2, 6, 14])
def test_a_kill_at_some_points_loses_nothing(desk, target, point):
    """P3, P4: and the next run works without a repair."""
    check_kill(desk, target, point)


@pytest.mark.sweep
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("point", range(1, LINES - 4))
def test_a_kill_at_any_point_loses_nothing(desk, target, point):
    """P3, P4."""
    check_kill(desk, target, point)
