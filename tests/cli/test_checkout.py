"""`scopes checkout` as a command: a branch becomes the active one, or with --to a session of another agent."""

from __future__ import annotations

import json
import os

import pytest

from scopes import clock
from tests.cli.conversation import Conversation
from tests.cli.running import PRODUCT, scopes
from tests.handover.continued import go_on
from tests.handover.sessions import Home
from tests.support.random_ids import hashed_counter
from tests.support.store import open_store


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A store with a session of Claude Code as conv-002."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    conversation = Conversation(tmp_path)
    home = Home(tmp_path, open_store(conversation.store))
    home.run = conversation
    monkeypatch.setenv("HOME", home.path)
    return home


def checkout(shop, *words):
    return shop.run.run("checkout", "conv-002", "--to", "codex", *words, "--json")


def test_without_an_agent_it_makes_a_branch_the_active_one(shop):
    shop.run.run("switch", "-c", shop.run.id, "fix")
    shop.run.run("checkout", shop.run.id, "main")
    assert shop.run.run("checkout", shop.run.id, "fix", "--json")["branch"] == "fix"
    refused = shop.run.run_refused("checkout", shop.run.id, "fix", "--full", code=2)
    assert refused["hint"] == "name the agent: --to AGENT"


def test_a_session_is_written_imported_and_taken_back(shop):
    made = checkout(shop)
    assert (made["state"], made["new_branch"], made["messages"]) == ("written", "codex/1", 2)
    go_on("codex", made["file"])
    shop.run.run("import", made["file"])
    shown = shop.run.run("branch", "conv-002", "--json")
    assert "codex/1" in json.dumps(shown)
    assert checkout(shop)["state"] == "continued"
    shop.run.run("undo")
    assert checkout(shop)["state"] == "continued"
    shop.run.run("undo")
    assert os.path.exists(made["file"])


def test_undo_deletes_the_file_and_redo_writes_it(shop):
    made = checkout(shop)
    shop.run.run("undo")
    assert not os.path.exists(made["file"])
    shop.run.run("redo")
    assert checkout(shop)["state"] == "unchanged"


def test_a_branch_may_be_named_after_its_conversation(shop):
    shop.run.run("switch", "-c", "conv-002", "fix")
    made = shop.run.run("checkout", "conv-002", "fix", "--to", "pi", "--dry-run", "--json")
    assert (made["branch"], made["dry_run"], made["state"]) == ("fix", True, "written")
    assert shop.run.run("checkout", "conv-002/fix", "--to", "pi", "--dry-run", "--json") == made
    assert not os.path.exists(made["file"])


def test_print_writes_the_session_to_standard_output(shop):
    done = scopes("--store", shop.run.store, "checkout", "conv-002", "--to", "codex", "--print", table=PRODUCT)
    assert done.returncode == 0
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert records[0]["type"] == "session_meta"
    assert not os.path.exists(f"{shop.path}/.codex")


def test_in_a_pipe_the_output_is_the_command(shop):
    done = scopes("--store", shop.run.store, "checkout", "conv-002", "--to", "codex", table=PRODUCT)
    assert done.stdout == f"cd {shop.project} && codex resume {checkout(shop)['session_id']}\n"


def test_an_agent_that_is_not_known_is_named_with_those_that_are(shop):
    refused = shop.run.run_refused("checkout", "conv-002", "--to", "aider", code=2)
    agents = "claude-code, codex, gemini, llm, opencode, pi, qwen"
    assert refused["hint"] == f"agents: {agents}; for any other one: scopes history CONV --for-prompt"


def test_a_directory_that_is_gone_is_refused(shop):
    os.rmdir(shop.project)
    refused = shop.run.run_refused("checkout", "conv-002", "--to", "codex", code=1)
    assert refused["hint"] == "run the agent elsewhere: --directory DIR"
    assert checkout(shop, "--directory", shop.path)["directory"] == shop.path


def test_a_conversation_that_is_not_there_is_named_as_one(shop):
    """The word may be a branch of the latest conversation, but not the beginning of its name."""
    shop.run.run("switch", "-c", "@", "fix-tests")
    for word in ("conv-999", "fix", "nope/main"):
        refused = shop.run.run_refused("checkout", word, "--to", "codex", code=4)
        assert refused["message"] == f"there is no conversation '{word.partition('/')[0]}'"
    refused = shop.run.run_refused("checkout", "fix-tests", "--to", "codex", code=1)
    assert refused["message"] == "conv-001/fix-tests has no message to hand over"
    assert not os.path.exists(f"{shop.path}/.codex")
