from __future__ import annotations

import os
import signal
import sys

import pytest

from scopes.render.stream import OutputStream, Pager, PagerClosed, choose_pager

SCREEN = {"COLUMNS": "40", "LINES": "5"}
LONG = "".join(f"line {number}\n" for number in range(9))


@pytest.fixture
def paged(tmp_path):
    """Run `say(write)` through a pager; return the shown text and the reported failures."""

    def run(command, say, environ=SCREEN):
        complaints: list[str] = []
        with open(tmp_path / "screen", "w+") as stream:
            with Pager(
                command,
                {"PATH": os.environ["PATH"], **environ},
                OutputStream(stream, environ, "auto"),
                complaints.append,
            ) as write:
                say(write)
            stream.flush()
            return (tmp_path / "screen").read_text(), complaints

    return run


@pytest.mark.parametrize(
    ("environ", "configured", "chosen"),
    [
        ({}, None, "less"),
        ({"PAGER": "most"}, None, "most"),
        ({"PAGER": "most"}, "more -s", "more -s"),
        ({"PAGER": "most", "GIT_PAGER": "delta"}, "more", "delta"),
        ({"SCOPES_PAGER": "bat", "GIT_PAGER": "delta"}, "more", "bat"),
        ({"GIT_PAGER": ""}, "more", None),
        ({"GIT_PAGER": "cat"}, "more", None),
        ({}, "", None),
        ({"PAGER": " cat "}, None, None),
    ],
)
def test_the_pager_is_chosen_by_precedence(environ, configured, chosen):
    assert choose_pager(environ, configured) == chosen


def test_what_fits_the_screen_needs_no_pager(paged):
    assert paged("sed s/^/paged:/", lambda write: write("a\nb\n")) == ("a\nb\n", [])


def test_escape_sequences_take_no_room_on_the_screen(paged):
    line = "\x1b[1;31m" + "x" * 39 + "\x1b[0m\n"
    assert paged("sed s/^/paged:/", lambda write: write(line * 4)) == (line * 4, [])


def test_what_does_not_fit_goes_through_the_pager(paged):
    shown, complaints = paged("sed s/^/paged:/", lambda write: [write(line) for line in LONG.splitlines(keepends=True)])
    assert shown == "".join(f"paged:line {number}\n" for number in range(9))
    assert complaints == []


def test_one_endless_line_does_not_fit_either(paged):
    assert paged("tr x y", lambda write: write("x" * 1000))[0] == "y" * 1000


def test_less_gets_its_options_unless_they_are_set(paged):
    show = f"{sys.executable} -c \"import os, sys; sys.stdin.read(); print(os.environ['LESS'], os.environ['LESSCHARSET'])\""
    assert paged(show, lambda write: write(LONG))[0] == "FRX utf-8\n"
    assert paged(show, lambda write: write(LONG), {**SCREEN, "LESS": "S"})[0] == "S utf-8\n"


@pytest.mark.parametrize("command", ["/no/such/pager", "'unbalanced", "false", "sh -c 'exit 127'", "/dev/null"])
def test_a_pager_that_does_not_work_loses_nothing(paged, command):
    shown, complaints = paged(command, lambda write: [write(LONG), write("tail\n")])
    assert shown == LONG + "tail\n"
    assert len(complaints) == 1
    assert command in complaints[0]


def test_a_pager_that_fails_early_in_much_output_loses_nothing(paged):
    text = "x" * 99 + "\n"
    shown, complaints = paged("sh -c 'exit 3'", lambda write: [write(text) for _ in range(5000)])
    assert shown == text * 5000
    assert len(complaints) == 1


def test_quitting_the_pager_ends_the_output_silently(paged):
    made = []

    def endless(write):
        while True:
            made.append(1)
            write("x" * 99 + "\n")

    assert paged("head -n 2", endless) == (("x" * 99 + "\n") * 2, [])
    assert made


def test_a_quit_is_seen_where_the_output_is_made(paged):
    seen = []

    def endless(write):
        try:
            while True:
                write(LONG)
        except PagerClosed:
            seen.append("closed")
            raise

    assert paged("head -n 1", endless)[0] == "line 0\n"
    assert seen == ["closed"]


def test_an_error_while_paging_is_raised_after_the_earlier_output(paged, tmp_path):
    def refuse(write):
        write("before\n")
        raise LookupError

    with pytest.raises(LookupError):
        paged("cat -A", refuse)
    assert (tmp_path / "screen").read_text() == "before\n"


def test_interrupts_are_the_pagers_while_it_is_waited_for(paged):
    kill = f"{sys.executable} -c \"import os, sys; sys.stdin.read(); os.kill(os.getppid(), 2); print('seen')\""
    handler = signal.getsignal(signal.SIGINT)
    assert paged(kill, lambda write: write(LONG)) == ("seen\n", [])
    assert signal.getsignal(signal.SIGINT) is handler


def test_empty_output_shows_nothing(paged):
    assert paged("less", lambda write: None) == ("", [])
