"""The crash file."""

from __future__ import annotations

import io
import os
import re
import stat

import pytest

from scopes import __version__
from scopes.cli.errors import write_crash_file
from scopes.cli.invocation import Invocation


@pytest.fixture
def invocation(tmp_path):
    made = Invocation(["conv", "append", "my secret words"], {"XDG_STATE_HOME": str(tmp_path)})
    made.command = "scopes append"
    made.stderr = io.StringIO()
    return made


def crash():
    """Return an error that was raised from another one."""
    try:
        {}["inner"]
    except KeyError as error:
        outer = ValueError("outer \udcff")
        outer.__cause__ = error
        return outer


def test_the_file_has_version_system_command_and_all_tracebacks(invocation):
    with open(write_crash_file(invocation, crash())) as file:
        text = file.read()
    assert text.startswith(f"scopes {__version__}\npython 3.")
    assert "\ncommand scopes append\n" in text
    assert "KeyError: 'inner'" in text
    assert "ValueError: outer \\udcff" in text


def test_the_file_has_neither_arguments_nor_the_host_name(invocation):
    with open(write_crash_file(invocation, crash())) as file:
        text = file.read()
    assert "my secret words" not in text
    assert f"system {os.uname().sysname} " in text
    assert os.uname().nodename not in text.splitlines()[2].split()


def test_the_file_name_has_the_time_and_the_file_is_private(invocation, tmp_path):
    path = write_crash_file(invocation, crash())
    assert re.fullmatch(r"crash-2026-01-01T000000-000Z-\d+\.txt", os.path.basename(path))
    assert os.path.dirname(path) == str(tmp_path / "scopes")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_an_existing_symbolic_link_is_not_followed(invocation, tmp_path, monkeypatch):
    monkeypatch.setattr("scopes.clock.read_clock", lambda: 0)
    path = write_crash_file(invocation, crash())
    os.unlink(path)
    os.symlink(tmp_path / "elsewhere", path)
    assert write_crash_file(invocation, crash()) is None
    assert not (tmp_path / "elsewhere").exists()
    assert "ValueError" in invocation.stderr.getvalue()


def test_without_any_home_the_details_are_printed(invocation, monkeypatch):
    monkeypatch.setenv("HOME", "/proc/nowhere")
    invocation.environ = {}
    assert write_crash_file(invocation, crash()) is None
    assert "ValueError" in invocation.stderr.getvalue()
