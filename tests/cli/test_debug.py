"""`-vv` and `-v`: what they add on standard error."""

from __future__ import annotations

import re

import pytest

from tests.cli.conversation import Conversation
from tests.cli.running import PRODUCT, scopes


@pytest.mark.parametrize("words", [("-vv",), ("-v", "-v")])
def test_vv_prints_the_traceback_of_an_error_and_timings(words):
    done = scopes("cat", "nothing", *words, table=PRODUCT)
    assert done.returncode == 4
    assert "Traceback (most recent call last):" in done.stderr
    assert re.search(r"^error: there is no ", done.stderr, re.MULTILINE)
    assert re.search(r"^debug: exit code 4, [0-9.]+ s, [0-9.]+ s of CPU time, ", done.stderr, re.MULTILINE)


def test_vv_adds_timings_to_a_command_that_succeeds():
    done = scopes("version", "-vv", table=PRODUCT)
    assert done.stderr.startswith("debug: exit code 0, ")
    assert done.stdout.startswith("scopes ")


def test_verbose_names_the_store_and_prints_no_traceback(tmp_path):
    conversation = Conversation(tmp_path)
    assert conversation.run_main("show", conversation.id, "-v").stderr == f"using the store {conversation.store}\n"
    assert conversation.run_main("show", conversation.id).stderr == ""
    assert "Traceback" not in conversation.run_main("cat", "nothing", "-v").stderr
