"""A server without a store: what only reads answers nothing, and creates nothing."""

from __future__ import annotations

import json
import shutil

import pytest

pytest.importorskip("mcp")

from tests.support.history import history
from tests.support.mcp_client import Agent
from tests.support.store import make_store

ARGUMENTS = {
    "conversation_list": {},
    "conversation_search": {"query": "cookie", "conversation": "conv-001"},
    "memory_search": {"query": "cookie"},
    "conversation_show": {"conversation": "conv-001"},
    "conversation_read": {"conversation": "conv-001"},
    "conversation_continue": {"continuation_id": "conv-001/main"},
    "decision_list": {"conversation": "conv-001"},
    "why": {"target": "app.py:1"},
}
LISTS = {"conversation_list": "conversations", "conversation_search": "messages_found", "memory_search": "hits"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store"


@pytest.fixture
def agent(path):
    return Agent(path)


def test_the_tools_that_read_are_those_of_the_table(agent):
    tools = agent.do(lambda client: client.list_tools()).tools
    assert {tool.name for tool in tools if tool.annotations.read_only_hint} == set(ARGUMENTS)


@pytest.mark.parametrize("tool", LISTS)
def test_a_list_is_empty_and_a_note_says_why(path, agent, tool):
    found = agent.get(tool, **ARGUMENTS[tool])
    assert found[LISTS[tool]] == []
    assert found["notes"] == [
        {"text": "nothing has been recorded yet: there is no store", "hint": "conversation_record makes one"}
    ]
    assert not path.exists()


@pytest.mark.parametrize("tool", sorted(ARGUMENTS.keys() - LISTS.keys()))
def test_what_needs_a_conversation_is_refused_with_the_tool_that_makes_one(path, agent, tool):
    error = agent.refused(tool, **ARGUMENTS[tool])
    assert "there is no store" in error
    assert "conversation_record makes one" in error
    assert not path.exists()


def test_resources_are_empty_or_refused(path, agent):
    async def read(client):
        async def content(uri):
            return json.loads((await client.read_resource(f"scopes://{uri}")).contents[0].text)

        found = [await content("conversations"), await content("files/src/app.py")]
        for uri in ("conversations/conv-001/main", "memory/k3x9"):
            with pytest.raises(Exception, match="there is no store"):
                await client.read_resource(f"scopes://{uri}")
        return found

    listed, files = agent.do(read)
    assert (listed["conversations"], files["messages_found"]) == ([], [])
    assert not path.exists()


def test_an_empty_directory_is_no_store_yet(path, agent):
    path.mkdir()
    assert agent.get("conversation_list")["conversations"] == []
    assert list(path.iterdir()) == []


def test_what_is_no_store_is_refused(path, agent):
    path.mkdir()
    (path / "notes.txt").write_text("mine")
    for tool in ("conversation_list", "conversation_search", "memory_search"):
        assert "is not a scopes store" in agent.refused(tool, **ARGUMENTS[tool])


def test_a_wrong_argument_is_refused_without_a_store_too(agent):
    assert "limit must be" in agent.refused("conversation_list", limit=0)
    assert "limit must be" in agent.refused("memory_search", query="x", limit=0)
    assert "max_tokens must be" in agent.refused("conversation_search", query="x", max_tokens=1)


def test_the_first_message_makes_the_store(path, agent):
    assert agent.get("conversation_record", text="hello")["continuation_id"] == "conv-001/main"
    assert [each["id"] for each in agent.get("conversation_list")["conversations"]] == ["conv-001"]


def test_a_store_that_had_no_index_and_is_deleted_under_the_server_is_made_again_by_a_message(tmp_path):
    store = make_store(tmp_path / "store")
    history(store, "main: a b c")
    agent = Agent(store.path)
    assert agent.get("conversation_read", conversation="conv-001")["messages"]
    shutil.rmtree(store.path)
    assert agent.get("conversation_list")["conversations"] == []
    assert "there is no store" in agent.refused("conversation_read", conversation="conv-001")
    assert agent.get("conversation_record", text="again")["conversation"] == "conv-001"
    assert [each["text"] for each in agent.get("conversation_read", conversation="conv-001")["messages"]] == ["again"]


@pytest.mark.parametrize("tool", ["conversation_list", "conversation_record", "memory_add"])
def test_a_store_that_is_gone_is_not_made_anew(path, agent, tool):
    """Its disk is not mounted: an agent would record below the mount point, and nobody would see it."""
    arguments = {} if tool == "conversation_list" else {"text": "hello"}
    agent.get("conversation_record", text="hello")
    agent.get("conversation_search", query="hello")  # makes the index, by which it is known that there was a store
    path.rename(path.with_name("away"))
    error = agent.refused(tool, **arguments)
    assert (f"the store {path} is gone" in error, "mount its disk" in error) == (True, True)
    assert not path.exists()
