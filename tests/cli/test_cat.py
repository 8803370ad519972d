"""`scopes cat`: output and exit codes."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.log import log
from scopes.importers.import_sources import import_sources
from tests.cli.running import PRODUCT, scopes
from tests.importers.demo_format import DemoFormat, session_records, write_transcript
from tests.support.store import make_store


@pytest.fixture
def source(tmp_path):
    """A session of two messages."""
    return write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b"))


@pytest.fixture
def cat(tmp_path, source):
    """Run the command on the first message of the imported session."""
    repository = make_store(tmp_path / "store.git")
    import_sources(repository, [source], (DemoFormat(),))
    first = next(iter(log(repository, "conv-001", oldest_first=True).items)).head.id

    def run(*words):
        return scopes("--store", str(tmp_path / "store.git"), "conv", "cat", first, *words, table=PRODUCT)

    return run


def test_original_prints_a_part_of_the_source(cat, tmp_path):
    done = cat("--original")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
    assert done.stdout in (tmp_path / "a.jsonl").read_text()


def test_raw_prints_the_stored_json(cat):
    assert json.loads(cat("--raw").stdout)["v"] == 1
    done = cat("--raw", "--original")
    assert done.returncode == 2
    assert "leave out one of them" in done.stderr


def test_a_branch_or_head_of_the_latest_conversation_is_read(conversation):
    """As `log` and `diff` do."""
    text = "How shall we do it?"
    newest = conversation.append("fix", "newest")
    assert conversation.run("cat", "main", "--json")["text"] == text
    assert conversation.run("cat", "fix", "--json")["id"] == newest
    assert conversation.run("cat", "fix~1", "--json")["text"] == text
    conversation.run("switch", "fix", "--json")
    assert conversation.run("cat", "HEAD", "--json")["id"] == newest
    assert conversation.run("cat", "HEAD~1", "--json")["text"] == text
    assert conversation.run("log", "HEAD", "-1", "--json")["id"] == newest


def test_a_message_may_follow_its_conversation(conversation):
    newest = conversation.append("fix", "newest")
    for words in (("fix",), (newest[:6],), ("main~0",)):
        shown = conversation.run("cat", conversation.id, *words, "--json")
        assert shown["conversation"] == conversation.id
    assert conversation.run("cat", conversation.id, "fix", "--json")["id"] == newest
    assert conversation.run("cat", f"{conversation.id}/fix", newest, "--json")["id"] == newest
    assert conversation.run("cat", conversation.id, "HEAD", "--json")["id"] == conversation.first
    several = conversation.run("cat", conversation.first, "fix").splitlines()
    assert len(several) >= 2


@pytest.mark.parametrize("option", [(), ("--original",)])
def test_a_message_of_another_branch_than_the_named_one_is_refused(conversation, option):
    """The branch was ignored."""
    newest = conversation.append("fix", "newest")
    error = conversation.run_refused("cat", f"{conversation.id}/main", newest, *option, code=4)
    assert error["message"] == f"that message is not on {conversation.id}/main"
    assert error["hint"] == f"to read it: scopes cat {conversation.id} {newest}"
    if not option:
        assert conversation.run("cat", f"{conversation.id}/fix", "HEAD", "--json")["id"] == newest


def test_a_message_of_two_conversations_is_read_in_the_latest_one_with_a_note(conversation):
    for name in ("conv-002", "conv-003"):
        assert conversation.run("new", "--json")["id"] == name
        conversation.run("cherry-pick", name, f"{conversation.id}/main", "--json")
    latest = conversation.run("list", "--json")["conversations"][0]["id"]
    done = conversation.run_main("cat", conversation.first[:8], "--format", "{conversation}")
    assert done.stdout == f"{latest}\n"
    others = [name for name in (conversation.id, "conv-002", "conv-003") if name != latest]
    assert done.stderr.splitlines() == [
        f"note: message {conversation.first[:8]} of {latest} is shown; it is also in {', '.join(others)}",
        f"hint: to read that one: scopes cat {others[0]}/{conversation.first[:8]}",
    ]
    assert conversation.run("cat", conversation.first, "--json")["conversation"] == latest
    assert conversation.run("cat", f"{others[0]}/{conversation.first}", "--json")["conversation"] == others[0]
