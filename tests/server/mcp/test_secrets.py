"""Answers of the MCP server have placeholders instead of secrets, with their count; an agent could not repair a refusal."""

from __future__ import annotations

import pytest

pytest.importorskip("mcp")

from scopes.agents.register import register
from scopes.secret_scan.clearance import count_placeholders
from scopes.secrets.allow import allow
from scopes.server.mcp.budget import count_document
from tests.support.mcp_client import Agent
from tests.support.planted import KINDS
from tests.support.store import make_store, open_store

TOKEN = KINDS[1][1]
CALLS = [
    ("conversation_read", {"conversation": "conv-001"}),
    ("conversation_show", {"conversation": "conv-001"}),
    ("conversation_search", {"query": "deploy"}),
    ("conversation_continue", {"continuation_id": "conv-001/main"}),
    ("decision_list", {"conversation": "conv-001"}),
    ("memory_search", {"query": "deploy"}),
    ("conversation_list", {}),
]
RESOURCES = ["scopes://conversations", "scopes://conversations/conv-001/main", "scopes://files/deploy.sh"]


@pytest.fixture
def agent(tmp_path):
    agent = Agent(make_store(tmp_path / "store").path)
    text = f"deploy with {TOKEN} now"
    agent.get(
        "conversation_record",
        text=text,
        author="user",
        title=f"The token {TOKEN}",
        kind="decision",
        data={"topic": "deploy", "decision": text},
    )
    agent.get("memory_add", text=text)
    return agent


@pytest.mark.parametrize(("tool", "arguments"), CALLS)
def test_no_tool_answers_with_a_secret(agent, tool, arguments):
    result = agent.call(tool, **arguments)
    assert not result.is_error, result.content
    answered = f"{result.content[0].text} {result.structured_content}"
    assert TOKEN not in answered
    assert "[redacted:github-token:" in answered
    assert result.structured_content["redacted"] == 1


@pytest.fixture
def writer(agent):
    """An agent whose next answers would repeat what was recorded."""
    agent.get("conversation_record", text="other", author="user", conversation="conv-001")
    agent.get("conversation_branch", conversation="conv-001", name="try", start="main~1")
    data = {"topic": "deploy", "decision": f"without {TOKEN}"}
    agent.get("conversation_record", conversation="conv-001/try", text="t", kind="decision", data=data)
    data = {"topic": "deploy", "decision": f"with {TOKEN} again"}
    agent.get("conversation_record", conversation="conv-001/main", text="t", kind="decision", data=data)
    return agent


def test_a_merge_answers_conflicts_without_secrets(writer):
    merged = writer.call("conversation_merge", conversation="conv-001", source="try", target="main")
    answered = f"{merged.content[0].text} {merged.structured_content}"
    assert merged.structured_content["conflicts"]
    assert (TOKEN in answered, "[redacted:github-token:" in answered) == (False, True)


@pytest.mark.parametrize("acknowledge", [False, True])
def test_messages_of_an_inbox_have_no_secrets(agent, acknowledge):
    register(open_store(agent.access.path), "codex")
    agent.get("message_send", conversation="conv-001", to=["codex"], text=f"use {TOKEN}", queue=True)
    found = agent.get("inbox", acknowledge=acknowledge)
    assert len(found["messages"]) == 1
    assert TOKEN not in str(found)
    assert found["redacted"] == 1


def test_a_snippet_has_no_part_of_a_secret_that_is_cut_or_found(agent):
    """Its end is inside of the token. Who searches for the token itself finds nothing: that would tell that it is there."""
    for before in range(100, 170, 7):
        text = f"needle {'w ' * (before // 2)}{TOKEN}"
        agent.get("conversation_record", text=text, author="user", conversation="conv-001")
    for query in ("needle", TOKEN[:8], f"needle {TOKEN}"):
        found = agent.get("conversation_search", query=query, limit=50)["messages_found"]
        assert TOKEN[:8] not in str(found)
    assert agent.get("conversation_search", query=TOKEN, limit=50)["messages_found"] == []
    agent.get("conversation_record", text="a needle alone", author="user", conversation="conv-001")
    assert len(agent.get("conversation_search", query="needle", limit=50)["messages_found"]) == 1


def test_an_error_quotes_no_secret(agent):
    error = agent.refused("conversation_show", conversation=f"deploy {TOKEN}")
    assert TOKEN not in error
    assert "[redacted:github-token:" in error


def test_an_error_without_a_store_quotes_no_secret(tmp_path):
    error = Agent(tmp_path / "none").refused("conversation_show", conversation=f"deploy {TOKEN}")
    assert TOKEN not in error
    found = Agent(tmp_path / "none").get("conversation_search", query=f"deploy {TOKEN}")
    assert (TOKEN in str(found), found["redacted"]) == (False, 1)


def test_a_secret_that_an_invisible_character_divides_does_not_appear_when_the_character_is_removed(agent):
    agent.get("conversation_record", text=f"{TOKEN[:9]}\u200b{TOKEN[9:]}", author="user", conversation="conv-001")
    assert TOKEN not in str(agent.get("conversation_read", conversation="conv-001"))


def test_the_count_is_that_of_what_is_answered(agent):
    """Rows that were left out for the budget have their own count, on the next page."""
    for kind, secret in KINDS[3:13]:
        agent.get("conversation_record", text=f"{kind} {secret} " + "word " * 60, conversation="conv-001")
    whole = agent.get("conversation_read", conversation="conv-001")
    part = agent.get("conversation_read", conversation="conv-001", max_tokens=600)
    assert whole["redacted"] == 11
    assert 0 < part["redacted"] == count_placeholders(str(part["messages"])) < 11


def test_an_allowed_secret_is_answered(agent):
    shown = agent.get("conversation_read", conversation="conv-001")["messages"][0]["text"]
    name = shown.partition("[redacted:github-token:")[2][:4]
    allow(open_store(agent.access.path), name, index_directory=agent.access.index)
    assert TOKEN in str(agent.get("conversation_read", conversation="conv-001"))


@pytest.mark.parametrize("budget", [150, 300, 1_000, 4_000])
@pytest.mark.parametrize("tool", ["conversation_read", "conversation_continue", "conversation_search"])
def test_budgets_hold_when_placeholders_are_longer_than_secrets(agent, tool, budget):
    """A password in a URL is one token, and what stands for it is ten."""
    urls = " ".join(f"https://u:secret{number:02}@h.io" for number in range(60))
    text = f"deploy all of them\n\n{urls}"  # the subject, which is stored cut, has none
    agent.get("conversation_record", text=text, conversation="conv-001")
    name = {"conversation_search": "query", "conversation_continue": "continuation_id"}.get(tool, "conversation")
    result = agent.call(tool, **{name: "deploy" if name == "query" else "conv-001"}, max_tokens=budget)
    if result.is_error:
        assert "raise max_tokens" in result.content[0].text
    else:
        assert count_document(result.structured_content) <= budget
        assert "secret0" not in str(result.structured_content)


@pytest.mark.parametrize("resource", RESOURCES)
def test_no_resource_has_a_secret(agent, resource):
    read = agent.do(lambda client: client.read_resource(resource))
    assert TOKEN not in read.contents[0].text


def test_an_answer_without_secrets_has_no_count(tmp_path):
    agent = Agent(make_store(tmp_path / "store").path)
    assert "redacted" not in agent.get("conversation_record", text="hello", author="user")
