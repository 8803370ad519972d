"""`--debug`, SCOPES_DEBUG and `-v`: what they add on standard error."""

from __future__ import annotations

import re

import pytest

from tests.cli.conversation import Conversation
from tests.cli.running import PRODUCT, scopes


@pytest.mark.parametrize(("words", "env"), [(("--debug",), {}), ((), {"SCOPES_DEBUG": "1"})])
def test_debug_prints_the_traceback_of_an_error_and_timings(words, env):
    done = scopes("cat", "nothing", *words, table=PRODUCT, env=env)
    assert done.returncode == 4
    assert "Traceback (most recent call last):" in done.stderr
    assert re.search(r"^error: there is no ", done.stderr, re.MULTILINE)
    assert re.search(r"^debug: exit code 4, [0-9.]+ s, [0-9.]+ s of CPU time, ", done.stderr, re.MULTILINE)


def test_debug_adds_timings_to_a_command_that_succeeds():
    done = scopes("version", "--debug", table=PRODUCT)
    assert done.stderr.startswith("debug: exit code 0, ")
    assert done.stdout.startswith("scopes ")


def test_without_debug_no_traceback_is_printed():
    assert "Traceback" not in scopes("cat", "nothing", table=PRODUCT, env={"SCOPES_DEBUG": ""}).stderr


def test_verbose_names_the_store(tmp_path):
    conversation = Conversation(tmp_path)
    assert conversation.run_main("show", conversation.id, "-v").stderr == f"using the store {conversation.store}\n"
    assert conversation.run_main("show", conversation.id).stderr == ""
