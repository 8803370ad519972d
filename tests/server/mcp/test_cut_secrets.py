"""What an agent reads is searched for secrets before it is cut: no query and no budget shows a part of one.

These secrets are found by what stands around them: a name in front of a value, the lines of a key, the host of a URL.
"""

from __future__ import annotations

import pytest

pytest.importorskip("mcp")

from tests.support.mcp_client import Agent
from tests.support.store import make_store

VALUE = "q8Zr2LwK5tYx9VbN3mPc7Jd1"
PASSWORD = "hunter7Zq4secret"
LINES = [f"b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz{number:02}QQ" for number in range(6)]
KEY = "\n".join(["-----BEGIN OPENSSH PRIVATE KEY-----", *LINES, "-----END OPENSSH PRIVATE KEY-----"])
TEXT = (
    f"needle: DB_PASSWORD={VALUE} HOST=x\nfrom https://deploy:{PASSWORD}@host/x\nprivate key file\n{KEY}\nthe last word"
)
PARTS = (VALUE[:8], VALUE[8:16], VALUE[-8:], PASSWORD[:8], PASSWORD[-8:], "b3BlbnNz", "ABG5vbmU", "AAAAtz03")
QUERIES = ["needle", "password", '"DB_PASSWORD"', "host", "deploy", "private", "openssh", "key", "begin", "end", "last"]
READERS = [
    ("conversation_list", {}),
    ("conversation_show", {"conversation": "conv-001"}),
    ("conversation_read", {"conversation": "conv-001"}),
    ("conversation_read", {"conversation": "conv-001", "newest": True}),
    ("conversation_continue", {"continuation_id": "conv-001/main"}),
    ("conversation_continue", {"continuation_id": "conv-001/main", "task": "deploy the needle"}),
    ("decision_list", {"conversation": "conv-001"}),
]
RESOURCES = ["scopes://conversations", "scopes://conversations/conv-001/main", "scopes://files/deploy.sh"]


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    """An agent of a store with the secrets at several distances from the beginning of messages, titles and entries."""
    agent = Agent(make_store(tmp_path_factory.mktemp("cut") / "store").path)
    for words in (0, 6, 9, 12, 25):
        text = "word " * words + TEXT
        agent.get("memory_add", text=text)
        data = {"topic": text[:150], "decision": text}
        agent.get("conversation_record", text=text, author="user", title=text[:200], kind="decision", data=data)
        agent.get("conversation_record", text=text, author="user", conversation="conv-001")
    return agent


def parts_in(result):
    """Return the parts of secrets that an answer has, as text or as an object."""
    answered = f"{result.content[0].text} {result.structured_content}"
    return [part for part in PARTS if part in answered]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("tool", ["conversation_search", "memory_search"])
@pytest.mark.cases(8)
def test_a_hit_near_a_secret_shows_no_part_of_it(agent, tool, query):
    result = agent.call(tool, query=query, limit=50, max_tokens=20_000)
    assert not result.is_error
    assert parts_in(result) == []


@pytest.mark.parametrize("query", [VALUE, VALUE[:9], PASSWORD, LINES[2][-9:]])
def test_a_hit_inside_of_a_secret_shows_no_other_part_of_it(agent, query):
    hits = agent.get("conversation_search", query=query, limit=50)["messages_found"]
    assert [part for part in PARTS if part in str(hits)] == []


@pytest.mark.parametrize("budget", [400, 1_000, 20_000])
@pytest.mark.parametrize(("tool", "arguments"), READERS)
def test_no_budget_leaves_a_part_of_a_secret(agent, tool, arguments, budget):
    assert parts_in(agent.call(tool, **arguments, max_tokens=budget)) == []


@pytest.mark.parametrize("resource", RESOURCES)
def test_no_resource_has_a_part_of_a_secret(agent, resource):
    text = agent.do(lambda client: client.read_resource(resource)).contents[0].text
    assert [part for part in PARTS if part in text] == []
