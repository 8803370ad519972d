"""Files of sub-agents in a store: they join their session and name the call that started them."""

from __future__ import annotations

import pytest

from scopes.history.messages import read_message, walk_headers_oldest_first
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.importers.discovery import find_sources
from scopes.importers.formats.claude_code import ClaudeCode
from scopes.importers.import_sources import import_sources
from tests.importers.formats.claude_code.logs import SESSION, BytesSource, Log, call, text
from tests.support.store import make_store

AGENT = "a0ad4f4"
FOLDER = f"projects/-home-carol-shop/{SESSION}"


def session_log(*, ended=True):
    """Write a session that starts a sub-agent; its id is in the tool result."""
    log = Log()
    log.user("What do we sell?")
    log.answer("m1", call("toolu_1", "Task", prompt="Search the shop", subagent_type="Explore"))
    if ended:
        log.result("toolu_1", "Tea", toolUseResult={"status": "completed", "agentId": AGENT, "totalTokens": 7})
        log.answer("m2", text("Tea."))
    return log


def agent_log(session=..., **fields):
    """Return a sub-agent's file; if no session is given, its records do not name one."""
    log = Log(session)
    log.user("Search the shop", isSidechain=True, agentId=AGENT, **fields)
    log.answer("s1", text("There is tea"), isSidechain=True, agentId=AGENT, **fields)
    return log


def write(tmp_path, **logs):
    """Write a session and its sub-agent to the paths of Claude Code; return the sources."""
    paths = {"session": tmp_path / f"{FOLDER}.jsonl", "agent": tmp_path / FOLDER / "subagents" / f"agent-{AGENT}.jsonl"}
    for name, log in logs.items():
        paths[name].parent.mkdir(parents=True, exist_ok=True)
        paths[name].write_bytes(log.data())
    return find_sources(str(tmp_path / "projects"))


def import_files(repository, sources):
    return import_sources(repository, sources, (ClaudeCode(),))


def first_of_agent(repository):
    """Return the first message of the sub-agent's branch."""
    tip = list_branch_tips(repository, "conv-001")[f"subagent/{AGENT}"]
    head = next(walk_headers_oldest_first(repository, [tip]))
    return read_message(repository, head.oid)


@pytest.mark.parametrize("named", [..., SESSION, AGENT, f"agent-{AGENT}"])
def test_a_sub_agents_file_joins_the_session_whose_folder_it_is_in(repository, tmp_path, named):
    import_files(repository, write(tmp_path, session=session_log(), agent=agent_log(named)))
    assert sorted(list_branch_tips(repository, "conv-001")) == ["main", f"subagent/{AGENT}"]
    assert len(conversation_ids(repository)) == 1


def test_the_agents_of_a_workflow_are_branches_of_its_session(repository, tmp_path):
    """kenn-io/agentsview#602: `subagents/workflows/wf_9/agent-*.jsonl`."""
    write(tmp_path, session=session_log())
    for name in ("a1", "a2"):
        log = Log(SESSION)
        log.user(f"Scan {name}", isSidechain=True, agentId=name)
        path = tmp_path / FOLDER / "subagents" / "workflows" / "wf_9" / f"agent-{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(log.data())
    import_files(repository, find_sources(str(tmp_path / "projects")))
    assert sorted(list_branch_tips(repository, "conv-001")) == ["main", "subagent/a1", "subagent/a2"]


def test_a_sub_agent_names_the_message_that_started_it(repository, tmp_path):
    """The agent's id is in the tool result."""
    import_files(repository, write(tmp_path, session=session_log(), agent=agent_log()))
    heads = list(walk_headers_oldest_first(repository, [list_branch_tips(repository, "conv-001")["main"]]))
    assert first_of_agent(repository).extra["spawned_by"] == {"call_id": "toolu_1", "message": heads[1].id}


def test_a_sub_agent_that_was_still_running_is_joined_later(repository, tmp_path):
    """The store equals one that imported both at once."""
    import_files(repository, write(tmp_path, session=session_log(ended=False), agent=agent_log()))
    assert "spawned_by" not in first_of_agent(repository).extra
    sources = write(tmp_path, session=session_log())
    import_files(repository, sources)
    assert first_of_agent(repository).extra["spawned_by"]["call_id"] == "toolu_1"
    other = make_store(tmp_path / "other.git")
    import_files(other, sources)
    assert list_branch_tips(repository, "conv-001") == list_branch_tips(other, "conv-001")
    assert import_files(repository, sources).operation is None


def test_the_file_name_gives_the_agent_if_nothing_else_does():
    log = Log(AGENT)
    log.user("Search the shop", isSidechain=True)
    assert (head(log).native_id, head(log).sub_file) == (SESSION, AGENT)


def test_a_file_outside_a_session_folder_is_its_own_session():
    assert head(agent_log(AGENT), f"/{SESSION}/agent-{AGENT}.jsonl").native_id == AGENT


def head(log, path=f"/home/carol/{FOLDER}/subagents/agent-{AGENT}.jsonl"):
    data = log.data()
    return next(ClaudeCode().walk_events(BytesSource(path, len(data), data)))
