"""Units for service managers: what they start is what was given, whatever is in a path."""

from __future__ import annotations

import plistlib
import shutil
import subprocess

import pytest

from scopes.errors import Invalid
from scopes.hosts.service_units import describe_service

HOSTILE = ["/bin/echo", "a b", 'quote"', "back\\slash", "50%h", "$HOME", "${HOME}", "-c", "ü", "'"]


def test_launchd_gets_the_words_as_they_are():
    unit = describe_service("launchd", HOSTILE)
    document = plistlib.loads(unit.text.encode())
    assert document["ProgramArguments"] == HOSTILE
    assert document["RunAtLoad"] is True
    assert "LaunchAgents" in unit.hint


def test_systemd_gets_quoted_words_and_no_specifiers_or_variables():
    unit = describe_service("systemd", HOSTILE)
    (line,) = [line for line in unit.text.splitlines() if line.startswith("ExecStart=")]
    assert line == ('ExecStart="/bin/echo" "a b" "quote\\"" "back\\\\slash" "50%%h" "$$HOME" "$${HOME}" "-c" "ü" "\'"')
    assert "systemctl --user" in unit.hint


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd")
def test_systemd_itself_accepts_the_unit(tmp_path):
    file = tmp_path / "scopes-watch.service"
    file.write_text(describe_service("systemd", HOSTILE).text)
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(file)], capture_output=True, text=True, check=False
    )
    assert "scopes-watch.service" not in done.stderr


@pytest.mark.parametrize("word", ["a\nExecStartPre=/bin/evil", "a\0b"])
@pytest.mark.parametrize("manager", ["systemd", "launchd"])
def test_a_word_that_would_begin_another_line_is_refused(manager, word):
    with pytest.raises(Invalid, match="line break"):
        describe_service(manager, ["/bin/echo", word])


def test_another_manager_is_refused_with_the_names_of_those_that_are_known():
    with pytest.raises(Invalid) as error:
        describe_service("runit", ["/bin/echo"])
    assert error.value.hint == "managers: systemd, launchd"
