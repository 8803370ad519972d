"""A continuation id names a branch wherever an agent gives it, and every answer about a branch has the same fields."""

from __future__ import annotations

import pytest

pytest.importorskip("mcp")

from scopes.agents.register import register
from scopes.conversation.branch import switch
from scopes.conversation.log import log
from scopes.history.names import list_branch_tips, read_active_branch
from tests.support.history import history
from tests.support.mcp_client import NAME, Agent
from tests.support.store import make_store, open_store

FIELDS = ("conversation", "branch", "continuation_id", "commit")
# tool and its arguments, with CONVERSATION/BRANCH where a conversation is named
NAMED = [
    ("conversation_show", {"conversation": "conv-001/fix"}),
    ("conversation_read", {"conversation": "conv-001/fix"}),
    ("conversation_continue", {"continuation_id": "conv-001/fix"}),
    ("decision_list", {"conversation": "conv-001/fix"}),
    ("conversation_record", {"conversation": "conv-001/fix", "text": "x"}),
    ("conversation_record", {"conversation": "conv-001/fix", "text": "x", "key": "k"}),
    ("message_send", {"conversation": "conv-001/fix", "to": [NAME], "text": "x"}),
    ("fact_propose", {"conversation": "conv-001/fix", "key": "Signals", "content": "x"}),
    ("conversation_merge", {"conversation": "conv-001/fix", "source": "main"}),
    ("conversation_merge", {"conversation": "conv-001/fix", "source": "conv-001/main", "dry_run": True}),
    ("conversation_merge", {"conversation": "conv-001", "source": "main", "target": "conv-001/fix"}),
]


@pytest.fixture
def store(tmp_path):
    made = make_store(tmp_path / "store")
    history(made, "main: alpha beta", "fix@alpha: gamma delta")
    register(made, NAME)
    return made


@pytest.fixture
def agent(store):
    return Agent(store.path)


def tips(store):
    return list_branch_tips(open_store(store.path), "conv-001")


@pytest.mark.parametrize(
    ("tool", "arguments"), NAMED, ids=lambda each: "-".join(each) if isinstance(each, dict) else each
)
def test_every_tool_takes_a_continuation_id_and_answers_with_it(store, agent, tool, arguments):
    found = agent.get(tool, **arguments)
    assert {name: found[name] for name in FIELDS} == {
        "conversation": "conv-001",
        "branch": "fix",
        "continuation_id": "conv-001/fix",
        "commit": tips(store)["fix"],
    }
    assert "tip" not in found


def test_a_search_takes_a_continuation_id_and_finds_the_whole_conversation(store, agent):
    history(store, "main: omega alpha2")
    for name in ("conv-001", "conv-001/main", "conv-001/fix"):
        found = agent.get("conversation_search", query="gamma OR omega", conversation=name)
        assert [each["message"]["subject"] for each in found["messages_found"]] == ["gamma"]
    assert "no branch 'nope'" in agent.refused("conversation_search", query="gamma", conversation="conv-001/nope")


def test_a_branch_begins_at_a_message_of_a_continuation_id(store, agent):
    found = agent.get("conversation_branch", conversation="conv-001/fix", name="more", start="conv-001/fix~1")
    assert (found["continuation_id"], found["commit"], found["parent"]) == ("conv-001/more", tips(store)["more"], "fix")
    assert [each.message.text for each in log(open_store(store.path), "conv-001/more").items] == ["gamma", "alpha"]


def test_the_default_of_a_branch_is_the_tip_of_the_one_that_is_named(store, agent):
    found = agent.get("conversation_branch", conversation="conv-001/fix", name="more")
    assert found["commit"] == tips(store)["fix"]


def test_a_merge_goes_into_the_branch_of_the_continuation_id(store, agent):
    before = tips(store)
    found = agent.get("conversation_merge", conversation="conv-001/fix", source="conv-001/main")
    assert (found["source"], found["target"], found["result"]) == ("main", "fix", "merged")
    assert tips(store) == before | {"fix": found["commit"]}


def test_without_a_branch_a_merge_goes_into_the_active_one(store, agent):
    found = agent.get("conversation_merge", conversation="conv-001", source="fix")
    assert (found["target"], found["commit"]) == ("main", tips(store)["main"])


def test_the_named_target_of_a_merge_wins(store, agent):
    found = agent.get("conversation_merge", conversation="conv-001/main", source="main", target="fix")
    assert found["target"] == "fix"


def test_a_merge_that_stops_leaves_the_agent_on_the_target(store, agent):
    for where, value in (("conv-001/main", "SQLite"), ("conv-001/fix", "Postgres")):
        data = {"topic": "db", "decision": value}
        agent.get("conversation_record", conversation=where, text=value, kind="decision", data=data)
    before = tips(store)
    found = agent.get("conversation_merge", conversation="conv-001/main", source="fix")
    assert (found["result"], found["continuation_id"]) == ("conflict", "conv-001/main")
    assert found["commit"] == before["main"] == tips(store)["main"]
    assert found["resolution_branch"] in tips(store).keys() - before.keys()
    again = agent.get("conversation_merge", conversation="conv-001/main", source="fix", dry_run=True)
    assert (again["result"], "resolution_branch" in again) == ("conflict", False)


def test_a_merge_that_stops_leaves_the_active_branch_active(store, agent):
    """The user who works there found the conversation on a branch with conflicts."""
    for where, value in (("conv-001/main", "SQLite"), ("conv-001/fix", "Postgres")):
        data = {"topic": "db", "decision": value}
        agent.get("conversation_record", conversation=where, text=value, kind="decision", data=data)
    assert agent.get("conversation_merge", conversation="conv-001/main", source="fix")["result"] == "conflict"
    assert read_active_branch(open_store(store.path), "conv-001") == "main"


@pytest.mark.parametrize("source", ["fix", "more"])
def test_a_merge_of_the_active_branch_leaves_it_active(store, agent, source):
    """A merge with a message of its own, and a fast-forward."""
    agent.get("conversation_branch", conversation="conv-001/main", name="more")
    agent.get("conversation_record", conversation="conv-001/more", text="more")
    switch(open_store(store.path), "conv-001", source)
    found = agent.get("conversation_merge", conversation="conv-001", source=source, target="main")
    assert found["result"] in {"merged", "fast-forward"}
    assert "active_branch" not in found
    assert read_active_branch(open_store(store.path), "conv-001") == source


def test_the_commit_of_an_answer_is_the_one_that_was_written(store, agent):
    found = agent.get("conversation_record", conversation="conv-001/fix", text="mine")
    assert found["commit"] == found["oid"]
    again = agent.get("conversation_record", conversation=found["continuation_id"], text="more")
    [newest, before] = log(open_store(store.path), "conv-001/fix", limit=2).items
    assert (newest.head.oid, before.head.oid) == (again["commit"], found["commit"])


def test_a_branch_whose_name_begins_with_a_conversation_is_not_mistaken(store, agent):
    agent.get("conversation_branch", conversation="conv-001/fix", name="conv-001/fix")
    agent.get("conversation_record", conversation="conv-001/conv-001/fix", text="odd")
    found = agent.get("conversation_merge", conversation="conv-001", source="conv-001/fix", target="fix")
    assert (found["source"], found["result"]) == ("conv-001/fix", "fast-forward")


def test_the_instructions_name_what_continues_a_conversation(agent):
    listed = agent.get("conversation_list")["conversations"][0]["id"]
    for name in (listed, agent.get("conversation_show", conversation=listed)["continuation_id"]):
        assert agent.get("conversation_continue", continuation_id=name)["continuation_id"] == "conv-001/main"
