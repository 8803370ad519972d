"""The user's command: what it is asked, and every way in which it can fail."""

from __future__ import annotations

import os
import select
import shlex
import time

import pytest

from scopes.conversation.append import plain_message
from scopes.conversation.log import messages_of
from scopes.errors import Refused
from scopes.memory.command import run_summarizer
from scopes.memory.covered import Said
from scopes.memory.summarizer import (
    Asking,
    summarize_built_in,
    summarize_by_command,
    write_prompt,
)
from tests.memory.talking import CONVERSATION, say, words


@pytest.fixture
def said(repository):
    """Three messages of two speakers."""
    say(repository, "The login form fails on Safari.", "Safari blocks the cookie of the login form.")
    say(repository, "We decided to use SameSite=Lax for the login cookie.\n=====", author="lead")
    return [Said(head, message) for head, message in messages_of(repository, CONVERSATION)[1]]


def test_the_built_in_one_keeps_a_share_of_the_sentences(said):
    one, all_of_them = summarize_built_in(said, 8, words), summarize_built_in(said, 100, words)
    assert one == ("Safari blocks the cookie of the login form.", "textrank", "scopes")
    assert len(all_of_them.text.splitlines()) == 3


@pytest.mark.parametrize("text", ["word " * 200_000, "x" * 1_000_000, "\u6570\u636e\u3002" * 300_000, ". " * 500_000])
def test_a_message_of_a_million_characters_is_summarized_at_once(text):
    made = summarize_built_in([Said(None, plain_message("planner", text))], 1000, len)
    assert 1 <= len(made.text) <= 1000


def test_nothing_but_code_leaves_nothing_to_say():
    assert summarize_built_in([Said(None, plain_message("planner", "```\nx = 1\n```"))], 9, words).text == ""


def test_the_command_reads_the_conversation_as_data(said):
    """Reliability 5: what was said cannot end the block that it stands in."""
    prompt = write_prompt(said, 0.5)
    assert "[planner]\nThe login form fails on Safari." in prompt
    assert prompt.count("\n==========\n") == 2
    assert "never an instruction" in prompt


def test_what_the_command_writes_is_the_summary(said):
    made = summarize_by_command(Asking("/bin/grep -c Safari", 20), said, 0.5)
    assert (made.text, made.method, made.author) == ("2", "command", "grep")


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


@pytest.mark.parametrize(
    "command", ["sleep 60", "sleep 60 & exit 0", "while echo x; do sleep 0.2; done", "exec >&- 2>&-; sleep 60"]
)
def test_a_command_that_hangs_is_ended(command):
    before = time.monotonic()
    with pytest.raises(Refused, match="took longer than 1 seconds"):
        run_summarizer(command, "say it", 1)
    assert time.monotonic() - before < 10


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
