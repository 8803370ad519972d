"""What a command that talks to a remote shows meanwhile: a line while it waits, then bars; nothing in a pipe."""

from __future__ import annotations

import os
import pty
import socket
import termios
import threading
from contextlib import ExitStack

import pytest

from scopes.cli.progress import Phases, connect, is_asking
from scopes.errors import Inaccessible
from scopes.store.git_program import open_quarantine
from scopes.sync.addresses import parse_address
from tests.render.sample import output, written
from tests.support.git_servers import PASSWORD, serve_http
from tests.support.remotes import connection, make_bare

XTERM = {"TERM": "xterm"}


def shown(act, *, asks_password=False, step=0.2, **options):
    """Return what is on standard error after a function has used phases, with a clock that goes on by itself."""
    made = output(**{"terminal": True, "environ": XTERM} | options)
    times = iter(range(10_000))
    with ExitStack() as bars:
        act(Phases(made, bars, lambda: asks_password, clock=lambda: next(times) * step))
    return written(made)[1]


def test_what_takes_half_a_second_has_a_bar():
    assert "receiving objects" in shown(lambda phases: [phases.report("receiving objects", n, 9) for n in range(9)])
    assert shown(lambda phases: phases.report("receiving objects", 1, 9)) == ""


def test_a_later_phase_is_shown_at_once():
    def act(phases):
        for number in range(5):
            phases.report("counting objects", number, 9)
        phases.report("writing objects", 3, 7)

    assert "3/7" in shown(act)


def test_a_phase_that_is_complete_is_erased():
    talk = shown(lambda phases: [phases.report("counting objects", n, 5) for n in range(6)])
    assert talk.endswith(("\x1b[2K", "\x1b[?25h", "\r"))


def test_a_wait_is_reported_once():
    assert shown(lambda phases: [phases.wait("connecting to h") for _ in range(3)]) == "connecting to h ...\n"


def test_nothing_is_written_into_the_question_for_a_password():
    assert shown(lambda phases: phases.wait("connecting to h"), asks_password=True) == ""


def test_names_with_control_characters_are_made_visible():
    talk = shown(lambda phases: phases.wait("connecting to \x1b]0;x\x07"))
    assert "\x1b" not in talk
    assert "\x07" not in talk


def test_a_terminal_without_echo_is_one_that_reads_a_password():
    controller, terminal = pty.openpty()
    with open(terminal) as stdin:
        assert not is_asking(stdin)
        settings = termios.tcgetattr(terminal)
        settings[3] &= ~termios.ECHO
        termios.tcsetattr(terminal, termios.TCSANOW, settings)
        assert is_asking(stdin)
    os.close(controller)
    with open(os.devnull) as stdin:
        assert not is_asking(stdin)


class Run:
    """As much of an Invocation as `connect` needs."""

    def __init__(self, *, interactive, **options):
        self.environ = dict(os.environ)
        self.interactive = interactive
        self.stdin = None
        self._options = options

    def output(self):
        return output(**self._options)


@pytest.mark.parametrize("options", [{"terminal": False}, {"quiet": True}, {"json": True}])
def test_without_a_terminal_git_reports_nothing(options):
    run = Run(interactive=False, **{"terminal": True, "environ": XTERM} | options)
    with connect(run) as made:
        assert (made.on_progress, made.on_wait, made.credential_cache) == (None, None, None)
        made.report("searching for secrets", 1, 2)


def test_on_a_terminal_git_keeps_a_password_until_the_command_ends():
    with connect(Run(interactive=True, terminal=True, environ=XTERM)) as made:
        assert os.path.isdir(os.path.dirname(made.credential_cache))
        assert made.on_progress is not None
    assert not os.path.exists(os.path.dirname(made.credential_cache))


def test_a_server_that_says_nothing_is_waited_for_visibly(repository):
    waits = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = parse_address(f"http://127.0.0.1:{listener.getsockname()[1]}/talks.git")

        def close_later():
            taken, _ = listener.accept()
            closing.wait(20)
            taken.close()

        closing = threading.Event()
        threading.Thread(target=close_later, daemon=True).start()

        def wait(text):
            waits.append(text)
            closing.set()

        with open_quarantine(repository.path, {}) as quarantine, pytest.raises(Inaccessible):
            connection(on_wait=wait).open(quarantine, address).list_refs("refs/*")
    assert waits == [f"connecting to {address.text}"]


def test_once_a_server_has_answered_nothing_is_written_because_git_may_ask(repository, tmp_path, monkeypatch):
    """A line in the midst of the question for a user name would be in the way."""
    make_bare(tmp_path / "served" / "talks.git")
    slow = tmp_path / "askpass"
    slow.write_text("#!/bin/sh\nsleep 0.6\n")
    slow.chmod(0o755)
    monkeypatch.setenv("GIT_ASKPASS", str(slow))
    waits = []
    with serve_http(tmp_path / "served", PASSWORD) as server, open_quarantine(repository.path, {}) as quarantine:
        transport = connection(on_wait=waits.append).open(quarantine, parse_address(f"{server.address}/talks.git"))
        with pytest.raises(Inaccessible):
            transport.list_refs("refs/*")
    assert waits == []
