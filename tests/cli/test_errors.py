"""Every way in which a command can fail has an error line, an exit code and no traceback."""

from __future__ import annotations

import json
import signal
import stat
import subprocess

import pytest

from scopes import errors
from tests.cli.running import command_line, environment, scopes

REFUSALS = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.ScopesError)]


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.__name__)
def test_every_error_class_has_its_exit_code_and_hint(refusal):
    done = scopes("conv", "raise", refusal.__name__)
    assert done.returncode == refusal.exit_code
    assert done.stderr == f"error: it is {refusal.__name__}\nhint: do better\n"
    assert done.stdout == "before\n"


def test_with_json_an_error_is_one_document_on_standard_error():
    done = scopes("conv", "raise", "Busy", "--json")
    assert json.loads(done.stderr) == {
        "error": {"kind": "busy", "message": "it is Busy", "hint": "do better", "retryable": True}
    }
    assert done.returncode == 6


def test_a_usage_error_raised_by_a_command_has_our_form():
    done = scopes("conv", "raise", "usage")
    assert (done.returncode, done.stdout) == (2, "before\n")
    assert done.stderr.startswith("error: invalid value: not like this\n")


@pytest.mark.parametrize(
    ("kind", "message"), [("full", "cannot write the output"), ("denied", "cannot use /secret/place")]
)
def test_errors_of_the_machine_are_not_bugs(kind, message):
    """F-55, F-60."""
    done = scopes("conv", "raise", kind)
    assert done.returncode == 8
    assert done.stderr.startswith(f"error: {message}: ")


@pytest.mark.parametrize("kind", ["bug", "memory", "recursion", "missing"])
def test_anything_else_is_a_bug_with_a_private_crash_file(kind, tmp_path):
    done = scopes("conv", "raise", kind, env={"XDG_STATE_HOME": str(tmp_path)})
    assert done.returncode == 70
    assert done.stderr.startswith("error: this is a bug in scopes: ")
    assert "Traceback" not in done.stderr
    (path,) = (tmp_path / "scopes").iterdir()
    assert str(path) in done.stderr
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_crash_file_has_the_traceback_but_no_arguments(tmp_path):
    scopes("conv", "raise", "bug", "-c", "scopes.author=my secret", env={"XDG_STATE_HOME": str(tmp_path)})
    (path,) = (tmp_path / "scopes").iterdir()
    text = path.read_text()
    assert "ZeroDivisionError" in text
    assert "command scopes raise" in text
    assert "my secret" not in text


def test_a_relative_state_home_is_ignored(sealed_world, tmp_path):
    scopes("conv", "raise", "bug", env={"XDG_STATE_HOME": "here"}, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert len(list((sealed_world / ".local" / "state" / "scopes").iterdir())) == 1


def test_where_no_crash_file_can_be_written_the_details_are_printed(tmp_path):
    (tmp_path / "scopes").write_text("in the way")
    done = scopes("conv", "raise", "bug", env={"XDG_STATE_HOME": str(tmp_path)})
    assert done.returncode == 70
    assert "Traceback" in done.stderr
    assert "please report it with the text above" in done.stderr


def test_an_interrupt_exits_with_130():
    done = scopes("conv", "raise", "interrupt")
    assert (done.returncode, done.stdout, done.stderr) == (130, "before\n", "error: interrupted\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "interrupted"),
        (("conv-001/main 4f2a",), "interrupted; recorded as conv-001/main 4f2a before the interrupt"),
    ],
)
def test_ctrl_c_prints_what_was_recorded_before(words, message):
    """P12."""
    with subprocess.Popen(
        command_line("conv", "wait", *words),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, f"error: {message}\n")


def test_a_closed_pipe_ends_the_command_silently():
    """P12."""
    with subprocess.Popen(
        command_line("conv", "many"), env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.read(1) == b"l"
        process.stdout.close()
        err = process.stderr.read()
        assert (process.wait(timeout=60), err) == (141, b"")


def test_a_result_that_cannot_be_written_prints_what_was_recorded():
    """P2: users must not append a message twice because its result could not be printed."""
    with open("/dev/full", "w") as full:
        done = scopes("conv", "reply", capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 8
    assert done.stderr.endswith("no space left on device; recorded as conv-001/main before the error\n")


def test_what_was_shown_is_not_repeated_in_an_error():
    done = scopes("conv", "reply", "then fail")
    assert (done.returncode, done.stderr) == (1, "error: later\n")


@pytest.mark.parametrize(
    "words", [("--help",), ("version",), ("conv", "many"), ("conv", "state", "c"), ("conv", "answer", "-h")]
)
def test_a_full_device_is_an_error_without_traceback(words):
    """P12."""
    with open("/dev/full", "w") as full:
        done = scopes(*words, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 8
    assert done.stderr == "error: cannot write the output: no space left on device\n"


def test_an_error_that_cannot_be_printed_still_has_its_exit_code():
    assert scopes("conv", "deaf").returncode == 4


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_closed_streams_do_not_crash_and_their_descriptors_are_not_reused(closed):
    done = subprocess.run(
        ["bash", "-c", f'"$@" {closed}', "bash", *command_line("conv", "state", "c")],
        env=environment(),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
