"""Real agents with the hooks of scopes: each runs a prompt as its users do, and the turn is in the store.

SCOPES_TEST_AGENTS=DIRECTORY python -m pytest -m realagents
"""

from __future__ import annotations

import json
import os
import subprocess
import time

import pytest

from scopes.history.messages import read_message, walk_headers_oldest_first
from scopes.history.names import list_branch_tips
from scopes.live.event_log import HOOK_LOG, read_events
from tests.cli.running import PRODUCT, scopes
from tests.support.agent_settings import configure_codex, configure_gemini, configure_opencode
from tests.support.real_agents import model, programs
from tests.support.store import list_conversations, open_store
from tests.support.stub_model import TEXT

__all__ = ["model", "programs"]
pytestmark = [pytest.mark.realagents, pytest.mark.timeout(1800)]
PROMPT = "remember ALPHA-77"
AGENTS = {
    "codex": (
        configure_codex,
        # Codex asks its users whether they trust a new hook; without a terminal this option answers.
        ["codex", "exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check"],
        ["codex", "exec", "resume", "--dangerously-bypass-hook-trust", "--skip-git-repo-check", "--last"],
    ),
    "gemini": (configure_gemini, ["gemini", "-m", "gemini-2.5-pro", "-p"], None),
    "opencode": (configure_opencode, ["opencode", "run"], ["opencode", "run", "-c"]),
}
AGENT_LOG_SECONDS = 300


def texts(store):
    """Return the texts of prompts and answers of the conversations of a store, oldest first."""
    if not os.path.isdir(store):
        return []
    repository = open_store(store)
    found = []
    for conversation in list_conversations(store):
        heads = walk_headers_oldest_first(repository, list(list_branch_tips(repository, conversation).values()))
        found += [read_message(repository, head.oid) for head in heads]
    return [message.text.strip('"') for message in found if message.kind in {"prompt", "answer"} and message.text]


def wait_for(look, home):
    end = time.monotonic() + AGENT_LOG_SECONDS
    while not look():
        events = read_events(str(home / ".local/state/scopes"), HOOK_LOG).events
        assert time.monotonic() < end, f"not recorded: {events}"
        time.sleep(0.2)


def run(programs, words, project):
    done = subprocess.run(
        [str(programs / words[0]), *words[1:]],
        cwd=project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done


@pytest.mark.parametrize("name", AGENTS)
def test_a_real_agent_runs_the_hook_and_its_turns_are_in_the_store(
    name, programs, model, sealed_world, tmp_path, monkeypatch
):
    configure, first, second = AGENTS[name]
    for variable, value in configure(sealed_world, model.port).items():
        monkeypatch.setenv(variable, value)
    store = os.environ["SCOPES_STORE"]
    assert scopes("setup", name, "--only", "hooks", table=PRODUCT).returncode == 0
    run(programs, [*first, PROMPT], tmp_path)
    wait_for(lambda: texts(store) == [PROMPT, TEXT], sealed_world)
    if second is not None:
        run(programs, [*second, "and again"], tmp_path)
        wait_for(lambda: texts(store) == [PROMPT, TEXT, "and again", TEXT], sealed_world)
    status = json.loads(scopes("setup", "--status", "--only", "hooks", name, "--json", table=PRODUCT).stdout)["hooks"][
        0
    ]
    assert status["condition"] == "installed"
    assert "problem" not in status
    assert scopes("setup", name, "--only", "hooks", "--remove", table=PRODUCT).returncode == 0
