"""Running the user's command: every way in which it can fail, and that nothing of it goes on."""

from __future__ import annotations

import os
import select
import shlex
import time

import pytest

from scopes.errors import Refused
from scopes.memory.summarizer_command import MAX_OUTPUT_BYTES, run_summarizer


def test_a_prompt_of_megabytes_and_a_command_that_does_not_read_it_are_no_trouble():
    assert run_summarizer("wc -c", "x" * 3_000_000, 20) == "3000000"
    assert run_summarizer("echo done", "x" * 3_000_000, 20) == "done"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("true", "wrote nothing"),
        ("printf ' \\n '", "wrote nothing"),
        ("echo no such model >&2; exit 3", "failed with exit code 3: no such model"),
        ("scopes-no-such-program", "failed with exit code 127"),
        ("head -c 1000000 /dev/zero", "wrote more than 100,000 bytes"),
        ("yes", "wrote more than 100,000 bytes"),
        ("kill -9 $$", "was killed by signal 9: no message"),
    ],
)
def test_a_command_that_does_not_do_its_work_is_refused(command, message):
    with pytest.raises(Refused, match=message) as refusal:
        run_summarizer(command, "say it", 20)
    assert "--builtin" in (refusal.value.hint or "")


@pytest.mark.parametrize("command", ["sleep 60", "while echo x; do sleep 0.2; done", "exec >&- 2>&-; sleep 60"])
def test_a_command_that_hangs_is_ended(command):
    before = time.monotonic()
    with pytest.raises(Refused, match="took longer than 1 seconds"):
        run_summarizer(command, "say it", 1)
    assert time.monotonic() - before < 10


@pytest.mark.parametrize("command", ["sleep 60 & echo done", "echo done; (while echo; do sleep 0.1; done) & exit 0"])
def test_what_a_command_left_behind_is_not_waited_for(command):
    """It holds the pipe as long as it lives."""
    before = time.monotonic()
    assert run_summarizer(command, "say it", 60) == "done"
    assert time.monotonic() - before < 10


def test_what_is_written_just_after_the_command_has_ended_is_taken():
    assert run_summarizer("(sleep 0.2; echo late) & exit 0", "say it", 60) == "late"


def test_nothing_that_the_command_began_goes_on(tmp_path):
    pid = tmp_path / "pid"
    with pytest.raises(Refused):
        run_summarizer(f"sleep 60 & echo $! > {shlex.quote(str(pid))}; wait", "", 1)
    try:
        process = os.pidfd_open(int(pid.read_text()))
    except ProcessLookupError:
        return
    assert select.select([process], [], [], 10)[0] == [process]  # readable once it has ended
    os.close(process)


def test_bytes_that_are_no_text_are_shown_as_such():
    assert run_summarizer("printf 'a\\377b'", "", 20) == "a\ufffdb"


@pytest.mark.parametrize("count", [MAX_OUTPUT_BYTES - 1, MAX_OUTPUT_BYTES])
def test_what_is_just_not_too_much_is_taken(count):
    assert len(run_summarizer(f"head -c {count} /dev/zero | tr '\\0' x", "", 20)) == count


def test_one_byte_more_is_too_much():
    with pytest.raises(Refused, match="wrote more than 100,000 bytes"):
        run_summarizer(f"head -c {MAX_OUTPUT_BYTES + 1} /dev/zero | tr '\\0' x", "", 20)


def test_megabytes_of_complaints_do_not_stop_it_and_the_last_line_is_told():
    noise = "head -c 3000000 /dev/zero | tr '\\0' x >&2; echo >&2"
    assert run_summarizer(f"{noise}; echo done", "", 20) == "done"
    with pytest.raises(Refused, match=r"failed with exit code 7: the end$"):
        run_summarizer(f"{noise}; echo the end >&2; exit 7", "", 20)


def test_a_complaint_is_one_line_of_bounded_length():
    with pytest.raises(Refused) as refusal:
        run_summarizer("printf 'first\\n%01000d' 7 >&2; exit 1", "", 20)
    assert "\n" not in refusal.value.message
    assert len(refusal.value.message) < 300


def test_it_has_no_terminal_to_ask():
    """A password prompt of a model's program would wait for ever."""
    with pytest.raises(Refused):
        run_summarizer("read answer </dev/tty; echo $answer", "", 5)


def test_it_reads_exactly_the_prompt_whatever_characters_are_in_it():
    assert run_summarizer("od -An -c | head -1", "a\0b", 5) == "a  \\0   b"
    assert run_summarizer("cat", "\u6570\u636e\u202e \U0001f389", 5) == "\u6570\u636e\u202e \U0001f389"
    assert run_summarizer("cat", "half \ud83d", 5) == "half ?"


def test_it_is_a_line_of_the_shell():
    assert run_summarizer("cat | tr a-z A-Z | sed 's/$/!/'", "hello", 5) == "HELLO!"


def test_a_shell_that_cannot_be_started_is_refused(monkeypatch):
    def fail(*_words, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("scopes.memory.summarizer_command.subprocess.Popen", fail)
    with pytest.raises(Refused, match="the summarizer cannot be started: Permission denied"):
        run_summarizer("cat", "", 5)


def test_no_file_is_left_open():
    before = len(os.listdir("/proc/self/fd"))
    for command in ("cat", "false", "yes"):
        try:
            run_summarizer(command, "hello", 5)
        except Refused:
            continue
    assert len(os.listdir("/proc/self/fd")) == before
