"""A git command has limits of time, memory and file size, and what it says is made safe to show."""

from __future__ import annotations

import os
import sys
import time

import pytest

from scopes.errors import Inaccessible
from scopes.sync import git_process
from scopes.sync.git_process import Limits, describe_failure, run_limited, server_lines

SECRET = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def run(code, **options):
    """Run Python source under limits."""
    options = {"limits": Limits(seconds=30), **options}
    return run_limited([sys.executable, "-c", code], directory="/", environment=dict(os.environ), **options)


def test_output_errors_and_exit_code_are_returned():
    done = run("import sys; print(sys.stdin.read() * 2); sys.exit('why')", stdin=b"ab")
    assert (done.code, done.output, done.errors) == (1, b"abab\n", "why\n")


def test_a_command_that_takes_too_long_is_killed_with_what_it_started(tmp_path):
    started = tmp_path / "pid"
    code = (
        "import os, subprocess, time\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        f"open('{started}.new', 'w').write(str(child.pid)); os.rename('{started}.new', '{started}')\n"
        "time.sleep(60)"
    )
    with pytest.raises(Inaccessible, match="git took longer than 1 second"):
        run(code, limits=Limits(seconds=1))
    pid = int(started.read_text()) if started.exists() else 0
    for _ in range(3000):
        if not is_running(pid):
            break
        time.sleep(0.01)
    assert not is_running(pid)


def is_running(pid):
    """Return True if there is a process that has not ended, whether its parent knows that or not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_command_cannot_take_more_memory_than_its_limit():
    done = run("x = bytearray(1 << 30)", limits=Limits(seconds=30, memory_bytes=400 << 20))
    assert "MemoryError" in done.errors


def test_a_command_cannot_write_a_larger_file_than_its_limit(tmp_path):
    path = tmp_path / "large"
    done = run(f"open({str(path)!r}, 'wb').write(bytes(1 << 20))", limits=Limits(seconds=30, file_bytes=1 << 16))
    assert done.code != 0
    assert path.stat().st_size <= 1 << 16


def test_a_command_that_does_not_exist_fails_as_the_shell_says():
    done = run_limited(["/nowhere/git"], directory="/", environment={"PATH": "/bin:/usr/bin"}, limits=Limits())
    assert done.code == 127


def test_a_directory_that_is_gone_is_an_error(tmp_path):
    with pytest.raises(Inaccessible, match="cannot be started"):
        run_limited(["git"], directory=str(tmp_path / "gone"), environment={}, limits=Limits())


def test_words_are_not_read_by_the_shell(tmp_path):
    words = [sys.executable, "-c", "import sys; print(sys.argv[1:])", "$(touch x)", "'; touch x", "-c"]
    done = run_limited(words, directory=str(tmp_path), environment=dict(os.environ), limits=Limits())
    assert done.output.decode().strip() == repr(["$(touch x)", "'; touch x", "-c"])
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_output_without_end_is_stopped(monkeypatch):
    assert git_process._MAX_OUTPUT == 256 << 20
    monkeypatch.setattr(git_process, "_MAX_OUTPUT", 4 << 20)
    with pytest.raises(Inaccessible, match="MiB of names"):
        run("import sys\nwhile True: sys.stdout.buffer.write(bytes(1 << 20))")


def test_progress_is_passed_on():
    seen = []
    lines = "remote: Counting objects:  50% (5/10)\\rReceiving objects: 100% (7/7), done.\\nother: 3% (1/2)\\n"
    run(f"import sys; sys.stderr.write('{lines}')", on_progress=lambda *each: seen.append(each))
    assert seen == [("counting objects", 5, 10), ("receiving objects", 7, 7)]


@pytest.mark.parametrize(
    "line",
    [
        "remote: \x1b]0;title\x07Counting objects: 50% (5/10)",
        "remote: come here: 50% (5/10)",
        "remote: Enter your password: 50% (5/10)",
        "remote: Counting objects please run this: 50% (5/10)",
        "remote: Counting objects: 50% (5/1" + "0" * 40 + ")",
        "Password: 50%",
    ],
)
def test_a_server_cannot_put_its_own_text_into_the_progress(line):
    seen = []
    run(f"import sys; sys.stderr.write({line!r} + chr(10))", on_progress=lambda *each: seen.append(each))
    assert seen == []


def test_a_silent_command_is_reported_once_and_one_that_speaks_at_once_is_not():
    waits = []
    run("import time; time.sleep(1.1)", on_wait=lambda: waits.append("silent"))
    assert waits == ["silent"]
    run(
        "import sys, time; sys.stderr.write('x'); sys.stderr.flush(); time.sleep(0.6)",
        on_wait=lambda: waits.append("no"),
    )
    assert waits == ["silent"]


def test_standard_input_may_be_larger_than_a_pipe():
    assert run("import sys; print(len(sys.stdin.buffer.read()))", stdin=bytes(1 << 20)).output == b"1048576\n"


@pytest.mark.parametrize(
    ("errors", "shown"),
    [
        ("", "git gave no reason"),
        ("fatal: repository not found\n", "fatal: repository not found"),
        ("warning: x\nhint: y\nTo host\nfatal: no\n", "fatal: no"),
        ("Counting objects: 50% (1/2)\rfatal: early EOF\n", "fatal: early EOF"),
        ("fatal: a\nfatal: a\nfatal: b\n", "fatal: a; fatal: b"),
        ("remote: \x1b[31mno\x1b[0m\n", "remote: ^[[31mno^[[0m"),
    ],
)
def test_why_git_failed_is_a_few_safe_lines(errors, shown):
    assert describe_failure(errors) == shown


def test_neither_secrets_nor_very_long_lines_are_shown():
    shown = describe_failure(f"fatal: {SECRET} is wrong\nfatal: {'x' * 9999}\n" + "error: again\n" * 99)
    assert SECRET not in shown
    assert len(shown) < 1000


def test_what_the_server_says_is_kept_apart():
    assert server_lines("remote: no talks\nfatal: x\nremote: Counting: 5% (1/9)\nremote: on Fridays  \n") == (
        "no talks",
        "on Fridays",
    )
