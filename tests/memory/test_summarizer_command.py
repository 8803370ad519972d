"""Running the user's summarizer: its failures, its limits, and that no process survives it."""

from __future__ import annotations

import os
import select
import shlex
import time

import pytest

from scopes.errors import Refused
from scopes.memory.summarizer_command import MAX_OUTPUT_BYTES, run_summarizer


def test_a_prompt_of_megabytes_may_be_read_or_ignored():
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
        ("kill -9 $$", "was killed by signal 9: it wrote nothing to standard error"),
    ],
)
def test_a_failing_command_is_refused(command, message):
    with pytest.raises(Refused, match=message) as error:
        run_summarizer(command, "say it", 20)
    assert "-c scopes.summarizer=" in (error.value.hint or "")


@pytest.mark.parametrize("command", ["sleep 60", "while echo x; do sleep 0.2; done", "exec >&- 2>&-; sleep 60"])
def test_a_hanging_command_is_killed(command):
    before = time.monotonic()
    with pytest.raises(Refused, match=r"took longer than 1 second$"):
        run_summarizer(command, "say it", 1)
    assert time.monotonic() - before < 10


@pytest.mark.parametrize("command", ["sleep 60 & echo done", "echo done; (while echo; do sleep 0.1; done) & exit 0"])
def test_a_background_process_is_not_waited_for(command):
    """It keeps the pipe open as long as it runs."""
    before = time.monotonic()
    assert run_summarizer(command, "say it", 60) == "done"
    assert time.monotonic() - before < 10


def test_output_just_after_the_exit_is_read():
    assert run_summarizer("(sleep 0.2; echo late) & exit 0", "say it", 60) == "late"


def test_processes_of_the_command_are_killed(tmp_path):
    pid = tmp_path / "pid"
    with pytest.raises(Refused):
        run_summarizer(f"sleep 60 & echo $! > {shlex.quote(str(pid))}; wait", "", 1)
    try:
        process = os.pidfd_open(int(pid.read_text()))
    except ProcessLookupError:
        return
    ended = select.poll()  # takes any descriptor, and a worker may have many
    ended.register(process, select.POLLIN)
    assert ended.poll(10_000)
    os.close(process)


def test_invalid_utf8_is_replaced():
    assert run_summarizer("printf 'a\\377b'", "", 20) == "a\ufffdb"


@pytest.mark.parametrize("count", [MAX_OUTPUT_BYTES - 1, MAX_OUTPUT_BYTES])
def test_output_up_to_the_limit_is_read(count):
    assert len(run_summarizer(f"head -c {count} /dev/zero | tr '\\0' x", "", 20)) == count


def test_output_above_the_limit_is_refused():
    with pytest.raises(Refused, match="wrote more than 100,000 bytes"):
        run_summarizer(f"head -c {MAX_OUTPUT_BYTES + 1} /dev/zero | tr '\\0' x", "", 20)


def test_megabytes_on_stderr_are_read_and_the_last_line_is_shown():
    noise = "head -c 3000000 /dev/zero | tr '\\0' x >&2; echo >&2"
    assert run_summarizer(f"{noise}; echo done", "", 20) == "done"
    with pytest.raises(Refused, match=r"failed with exit code 7: the end$"):
        run_summarizer(f"{noise}; echo the end >&2; exit 7", "", 20)


def test_the_error_is_one_line_of_bounded_length():
    with pytest.raises(Refused) as error:
        run_summarizer("printf 'first\\n%01000d' 7 >&2; exit 1", "", 20)
    assert "\n" not in error.value.message
    assert len(error.value.message) < 300


def test_the_command_has_no_terminal():
    """A password prompt would wait for ever."""
    with pytest.raises(Refused):
        run_summarizer("read answer </dev/tty; echo $answer", "", 5)


def test_the_command_reads_exactly_the_prompt():
    assert run_summarizer("od -An -c | head -1", "a\0b", 5) == "a  \\0   b"
    assert run_summarizer("cat", "\u6570\u636e\u202e \U0001f389", 5) == "\u6570\u636e\u202e \U0001f389"
    assert run_summarizer("cat", "half \ud83d", 5) == "half ?"


def test_the_command_is_run_by_a_shell():
    assert run_summarizer("cat | tr a-z A-Z | sed 's/$/!/'", "hello", 5) == "HELLO!"


def test_a_shell_that_cannot_be_started_is_refused(monkeypatch):
    def fail(*_words, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("scopes.child_process.subprocess.Popen", fail)
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
