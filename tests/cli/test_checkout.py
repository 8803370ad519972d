"""`scopes resume --in AGENT`, also as `checkout --to AGENT`: a session of another agent is written."""

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
    return shop.run.run("resume", "conv-002", "--in", "codex", *words, "--json")


def test_without_an_agent_it_makes_a_branch_the_active_one(shop):
    shop.run.run("switch", "-c", shop.run.id, "fix")
    shop.run.run("checkout", shop.run.id, "main")
    assert shop.run.run("checkout", shop.run.id, "fix", "--json")["branch"] == "fix"
    made = shop.run.run("checkout", "conv-002", "--to", "pi", "--dry-run", "--json")
    assert (made["kind"], made["agent"], made["dry_run"]) == ("checked-out", "pi", True)


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
    shop.run.run("branch", "conv-002", "fix")
    made = shop.run.run("resume", "conv-002", "-b", "fix", "--in", "pi", "--dry-run", "--json")
    assert (made["branch"], made["dry_run"], made["state"]) == ("fix", True, "written")
    assert shop.run.run("resume", "conv-002/fix", "--in", "pi", "--dry-run", "--json") == made
    assert not os.path.exists(made["file"])


def test_a_prompt_is_asked_at_once(shop):
    made = checkout(shop, "--prompt", "go on")
    assert made["command"][-1] == "go on"
    assert made["shell"].endswith("'go on'")
    assert shop.run.run_refused("resume", "conv-002", "--in", "nobody", code=2)["hint"].count("codex") == 1


def test_in_a_pipe_the_output_is_the_command(shop):
    done = scopes("--store", shop.run.store, "resume", "conv-002", "--in", "codex", table=PRODUCT)
    assert done.stdout == f"cd {shop.project} && codex resume {checkout(shop)['session_id']}\n"


def test_a_directory_that_is_gone_is_refused(shop):
    os.rmdir(shop.project)
    refused = shop.run.run_refused("resume", "conv-002", "--in", "codex", code=1)
    assert refused["hint"] == "run the agent elsewhere: --directory DIR"
    assert checkout(shop, "--directory", shop.path)["directory"] == shop.path


def test_a_conversation_that_is_not_there_is_named_as_one(shop):
    """The word may be a branch of the latest conversation, but not the beginning of its name."""
    shop.run.run("switch", "-c", "@", "fix-tests")
    for word in ("conv-999", "fix", "nope/main"):
        refused = shop.run.run_refused("resume", word, "--in", "codex", code=4)
        assert refused["message"] == f"there is no conversation '{word.partition('/')[0]}'"
    refused = shop.run.run_refused("resume", "fix-tests", "--in", "codex", code=1)
    assert refused["message"] == "conv-001/fix-tests has no message to hand over"
    assert not os.path.exists(f"{shop.path}/.codex")
