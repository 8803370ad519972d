"""Output on a real terminal, which tmux provides."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time

import pytest

pytestmark = [pytest.mark.needs_tmux, pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")]

SHOW = """
import os, sys
from scopes.conversation.list import ConversationList
from scopes.render.output import Output, OutputSettings
from tests.render.results import SUMMARIES
row = SUMMARIES[0]._replace(participants=("general-purpose", "日本語", "⚠️ e\\u0301"))
rows = tuple(row._replace(id=f"conv-{n:03d}") for n in range(int(sys.argv[1])))
Output(OutputSettings(), os.environ, sys.stdout, sys.stderr).show(ConversationList(conversations=rows))
"""


@pytest.fixture
def terminal(tmp_path):
    """Run the program in a terminal of `columns` by 12; return a function that talks to it."""
    tmux = ["tmux", "-L", "r", "-f", os.devnull]
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "PYTHONPATH": os.getcwd(), "TMUX_TMPDIR": str(tmp_path)}
    del environment["COLUMNS"]
    (tmp_path / "show.py").write_text(SHOW)

    def talk(*words):
        return subprocess.run(
            [*tmux, *words], env=environment, capture_output=True, text=True, check=True, timeout=20
        ).stdout

    def run(columns, rows):
        show = f"{sys.executable} {tmp_path}/show.py {rows} 2>&1"
        # sh with a trap survives Ctrl-C; the user's own shell may not
        program = f"trap : INT; {show}; echo exit $?; {' '.join(tmux)} wait-for -S done; cat"
        talk("new-session", "-d", "-x", str(columns), "-y", "12", "sh", "-c", program)
        return talk

    yield run
    subprocess.run([*tmux, "kill-server"], env=environment, capture_output=True, check=False)


def wait_for_less(talk):
    """Look until the pager asks for a key."""
    for _ in range(1000):
        if talk("capture-pane", "-p").rstrip("\n").endswith("\n:"):
            return
    pytest.fail("less never asked")


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_the_box_fits_a_terminal_of_any_width(terminal, columns):
    talk = terminal(columns, 3)
    talk("wait-for", "done")
    lines = talk("capture-pane", "-p").splitlines()
    assert [line[0] for line in lines[:9]] == ["╭", "│", "├", "│", "│", "│", "│", "╰", "e"]
    assert all(line.endswith("│") for line in lines[3:7])
    assert lines[8] == "exit 0"


def test_quitting_less_early_is_silent_and_successful(terminal):
    talk = terminal(80, 500)
    wait_for_less(talk)
    talk("send-keys", "q")
    talk("wait-for", "done")
    assert talk("capture-pane", "-p").rstrip().endswith("\nexit 0")


def test_an_interrupt_in_less_leaves_the_terminal_to_less(terminal):
    """The pager less forgets keys that were typed before it has handled the interrupt, so `q` is typed until it ends."""
    talk = terminal(80, 100)
    wait_for_less(talk)
    talk("send-keys", "C-c")
    for _ in range(100):
        talk("send-keys", "q")
        if "exit " in (shown := talk("capture-pane", "-p")):
            break
        time.sleep(0.1)
    assert "exit 0" in shown
