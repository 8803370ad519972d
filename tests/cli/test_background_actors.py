"""What records agents while they work is not what the user did: `undo` takes back the user's own last command."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace

import pytest

from scopes.cli import hook_recorder
from scopes.cli.hook_recorder import take_waiting
from scopes.cli.invocation import Invocation
from scopes.cli.watch_runner import WatchRun
from scopes.conversation.branch import branch
from scopes.conversation.undo import list_operations, undo
from scopes.server.acp.spool import Spool
from tests.cli.running import PRODUCT, scopes
from tests.server.acp.test_spool_files import waiting
from tests.support.hook_agent import HookAgent, texts_of


@pytest.fixture
def agent(sealed_world, tmp_path, monkeypatch):
    monkeypatch.setattr(hook_recorder, "import_when_quiet", lambda paths, import_now: import_now(paths) and NO_ROWS)
    monkeypatch.chdir(tmp_path)  # the process of a hook enters the directory of the session
    found = HookAgent(sealed_world, tmp_path)
    found.turn(1)
    return found


NO_ROWS = SimpleNamespace(messages=1, conversations=())


def command_of_the_user():
    """Return the store as a command that changes it opens it."""
    return Invocation(["branch"], os.environ).repository(create=True)


def end_turn(agent):
    assert hook_recorder.record_turn("claude-code", None, json.dumps(agent.input).encode(), os.environ) == 0


def watch():
    rows = WatchRun(Invocation(["import", "--watch"], os.environ), []).run()
    next(rows)
    rows.close()


def actors():
    return [row.actor for row in list_operations(command_of_the_user()).operations]


def test_undo_takes_back_the_branch_of_the_user_and_not_the_turn_that_a_hook_recorded_since(agent):
    end_turn(agent)
    branch(command_of_the_user(), "conv-001", name="keepme")
    agent.turn(2)
    end_turn(agent)
    assert actors() == ["hooks", "user", "hooks"]
    assert undo(command_of_the_user()).summary == "create conv-001/keepme"
    assert agent.texts() == texts_of(1, 2)


def test_undo_takes_back_the_branch_of_the_user_and_not_what_watch_imported_since(agent, monkeypatch):
    assert scopes("import", table=PRODUCT).returncode == 0
    branch(command_of_the_user(), "conv-001", name="keepme")
    agent.turn(2)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    watch()
    assert actors() == ["watch", "user", "user"], "an import is a command of the user"
    assert undo(command_of_the_user()).summary == "create conv-001/keepme"
    assert agent.texts() == texts_of(1, 2)


def test_with_any_actor_undo_takes_back_what_a_hook_recorded(agent):
    end_turn(agent)
    agent.turn(2)
    end_turn(agent)
    assert undo(command_of_the_user(), any_actor=True).target.actor == "hooks"
    assert agent.texts() == texts_of(1)


def leave_in_spool():
    """Leave a message that a proxy of `scopes acp`, which was killed, could not write."""
    invocation = Invocation(["import"], os.environ)
    command_of_the_user()
    spool = Spool(invocation.state_directory)
    spool.append(invocation.store_path, [waiting()])
    os.close(spool._descriptor)
    return invocation


def test_what_an_import_takes_from_the_spool_of_acp_is_not_the_users(sealed_world):
    assert take_waiting(leave_in_spool()) > 0
    assert set(actors()) == {"acp"}


def test_an_import_takes_the_spool_where_no_agent_has_a_transcript(sealed_world):
    """`doctor` names `scopes import` as the cure, also for a user who has editors only."""
    leave_in_spool()
    done = scopes("import", table=PRODUCT)
    assert (done.returncode, actors()) == (0, ["acp"])
    assert "took 1 message of scopes acp" in done.stderr
    assert "no agent has transcripts in its standard folders" in done.stderr


def test_an_import_that_takes_nothing_and_finds_nothing_is_still_an_error(sealed_world):
    leave_in_spool()
    assert scopes("import", "--dry-run", table=PRODUCT).returncode == 4, "a dry run takes nothing"
    assert scopes("import", "nowhere.jsonl", table=PRODUCT).returncode == 4, "what was named is wanted"
    assert actors() == ["acp"], "it is in the store all the same"
    assert scopes("import", table=PRODUCT).returncode == 4
