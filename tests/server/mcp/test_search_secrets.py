"""A search of an agent finds nothing by what is masked: neither hits nor counts, titles, notes or an order tell of it."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("mcp")

from scopes.conversation.branch import branch, tag
from scopes.memory.add import add as add_to_memory
from scopes.secret_scan.prefilter import is_fast
from scopes.secrets.allow import allow
from scopes.secrets.scan import scan
from tests.support.examples import sample
from tests.support.history import say
from tests.support.mcp_client import Agent
from tests.support.planted import HEX
from tests.support.store import make_store, open_store

TOKEN = f"dapi{HEX[:32]}"
RIGHT = [
    TOKEN,
    f"{TOKEN[:9]}*",
    f"{TOKEN[:5]}*",
    f'"deploy {TOKEN[:12]}*"',
    f"(in:text {TOKEN[:8]}*)",
    f"re:{TOKEN[:8]}",
    f"re:dapi{TOKEN[4]}",
]
WRONG = [
    "dapi" + HEX[32:64],
    "dapi0ffff*",
    "dapi7*",
    '"deploy dapi0ffffff*"',
    "(in:text dapi0fff*)",
    "re:dapi0fff",
    "re:dapi7",
]
AROUND = ["{}", "deploy {}", "deploy OR {}", "(deploy OR {}) other", "deploy NOT {}", "NOT {} deploy", "deploy NOT (other OR {})"]  # fmt: skip


@pytest.fixture
def agent(tmp_path):
    agent = Agent(make_store(tmp_path / "store").path)
    for text in ("nothing of it", f"deploy with {TOKEN} now, deploy {TOKEN}", "deploy the other thing", "deploy"):
        agent.get("conversation_record", text=text, author="user", title="A plan")
    return agent


def found(agent, query, **options):
    """Return what an agent reads of a search, without the query that it asked."""
    answer = agent.get("conversation_search", query=query, **options)
    assert TOKEN not in str(answer)
    return {name: value for name, value in answer.items() if name not in {"query", "index", "commits_read"}}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("options", [{}, {"newest_first": True}, {"limit": 1}, {"any_word": True}], ids=str)
def test_a_right_guess_answers_what_a_wrong_one_does(agent, around, options):
    pairs = [each for each in zip(RIGHT, WRONG, strict=True) if is_fast() or "re:" not in each[0]]  # re: needs RE2
    for right, wrong in sample(pairs, 3):
        expected = found(agent, around.format(wrong), **options)
        assert found(agent, around.format(right), **options) == expected, right


def test_a_masked_message_is_left_out(agent):
    assert found(agent, '"deploy with"')["messages_found"] == []
    answer = found(agent, "deploy")
    assert (answer["hits"], len(answer["messages_found"])) == (2, 2)
    assert "score" not in answer["messages_found"][0]


def test_what_is_allowed_is_found(agent):
    store = open_store(agent.access.path)
    (secret,) = {row.id for row in scan(store, index_directory=agent.access.index).secrets}
    allow(store, secret, index_directory=agent.access.index)
    assert agent.get("conversation_search", query=f"{TOKEN[:9]}*")["hits"] == 1


def test_an_echoed_query_has_no_id_by_which_a_whole_guess_would_be_known(agent):
    for query in (TOKEN, f"file:{TOKEN}", f"{TOKEN} and more"):
        assert "[redacted:databricks-token]" in agent.get("conversation_search", query=query)["query"]


def test_titles_are_searched_as_they_are_shown(agent):
    agent.get("conversation_record", text="x", author="user", title=f"Rotate {TOKEN}")
    assert len(found(agent, "rotate")["titles"]) == 1
    assert found(agent, f"{TOKEN[:9]}*") == found(agent, "dapi7fff*")


@pytest.fixture
def names(agent):
    """A store with the token in the names that a query can ask for."""
    store = open_store(agent.access.path)
    say(store, "conv-001", "by an author", author=TOKEN)
    say(store, "conv-001", "of a model", author={"name": "bot", "kind": "agent"}, model=TOKEN)
    say(store, "conv-001", "", parts=[{"type": "file_ref", "path": f"src/{TOKEN}/a.py", "op": "read"}])
    call = {"type": "tool_call", "name": TOKEN, "call_id": "1", "input": {}}
    say(store, "conv-001", "", author={"name": "bot", "kind": "agent"}, parts=[call])
    branch(store, "conv-001", name=f"fix/{TOKEN}")
    tag(store, "conv-001", TOKEN, "main")
    return agent


@pytest.mark.parametrize("field", ["author", "agent", "model", "file", "tool", "branch", "tag"])
@pytest.mark.parametrize("around", ["{}", "NOT {}", "deploy OR {}", "deploy NOT {}"])
def test_no_value_of_a_field_tells_what_is_masked(names, field, around):
    pattern = "*{}*" if field in {"file", "branch"} else "{}*"
    right, wrong = (around.format(f"{field}:{pattern.format(each)}") for each in (TOKEN[:9], "dapi7fff"))
    assert found(names, right) == found(names, wrong)


def test_fields_without_a_secret_are_found(names):
    say(
        open_store(names.access.path), "conv-002", "see", parts=[{"type": "file_ref", "path": "src/b.py", "op": "read"}]
    )
    assert found(names, "file:src/b.py")["hits"] == 1
    say(open_store(names.access.path), "conv-002", "of a bot", author={"name": "bot", "kind": "agent"})
    assert found(names, "agent:bot")["hits"] == 1


def test_the_messages_of_a_file_are_listed_without_a_masked_one(names):
    uri = f"scopes://files/src%2F{TOKEN}%2Fa.py"
    text = names.do(lambda client: client.read_resource(uri)).contents[0].text
    assert json.loads(text)["messages_found"] == []


def listed(client, agent):
    """Return what an agent reads of a list."""
    answer = client.get("conversation_list", agent=agent)
    assert TOKEN not in str(answer)
    return answer


def test_a_right_guess_of_a_participant_lists_what_a_wrong_one_does(names):
    for right, wrong in ((TOKEN, WRONG[0]), (TOKEN[:9], "dapi0ffff"), (TOKEN[:5], "dapi7")):
        assert listed(names, right) == listed(names, wrong)
        assert listed(names, right)["conversations"] == []


def test_participants_are_found_by_what_is_shown_of_them(names):
    assert [row["id"] for row in listed(names, "bot")["conversations"]] == ["conv-001"]
    (row,) = listed(names, "[redacted:databricks")["conversations"]
    assert any(name.startswith("[redacted:databricks-token:") for name in row["participants"])


@pytest.fixture
def memory(agent):
    """An agent of a store whose memory has the token in every field that is searched."""
    agent.get("memory_add", text=f"deploy with {TOKEN} now")
    agent.get("memory_add", text="deploy the other thing", topics=["rollout", TOKEN], importance=9)
    store = open_store(agent.access.path)
    add_to_memory(store, "deploy", agent="bot", decisions=[f"keep {TOKEN}"])
    add_to_memory(store, "deploy", agent="bot", actions=[f"rotate {TOKEN}"])
    add_to_memory(store, "by an agent", agent=TOKEN)
    return agent


def remembered(client, query, **options):
    """Return what an agent reads of a search in the memory, without the query that it asked."""
    answer = client.get("memory_search", query=query, limit=50, **options)
    assert TOKEN not in str(answer)
    return {name: value for name, value in answer.items() if name != "query"}


@pytest.mark.parametrize("around", ["{}", "deploy {}", "{} deploy the"])
def test_a_right_guess_finds_in_the_memory_what_a_wrong_one_does(memory, around):
    """Words of the memory are found inside of other words, so a guess may be one character."""
    for right, wrong in (
        (TOKEN, WRONG[0]),
        (TOKEN[:9], "dapi7fff9"),
        (TOKEN[3:8], "zzqzz"),
        (TOKEN[4:].upper(), "ZZQ"),
    ):
        assert remembered(memory, around.format(right)) == remembered(memory, around.format(wrong))


def test_no_character_of_a_masked_text_of_the_memory_is_found(memory):
    shown = json.dumps(remembered(memory, "deploy")["hits"]).casefold()
    for character in "0123456789abcdef":
        hits = remembered(memory, f"now {character}")["hits"]
        assert all(character in hit["entry"]["summary"].casefold() for hit in hits)
    assert "[redacted:databricks-token:" in shown


def test_the_memory_of_a_masked_agent_is_found_by_no_guess(memory):
    assert remembered(memory, "by", agent=TOKEN) == remembered(memory, "by", agent="dapi")
    assert len(remembered(memory, "deploy", agent="bot")["hits"]) == 2


def test_an_entry_of_the_memory_is_found_by_what_is_shown_of_it(memory):
    (hit,) = remembered(memory, "with now")["hits"]
    assert "deploy with [redacted:databricks-token:" in hit["entry"]["summary"]
    assert "[redacted:databricks-token]" in memory.get("memory_search", query=f"x {TOKEN}")["query"]


def test_what_is_allowed_is_found_in_the_memory(memory):
    store = open_store(memory.access.path)
    (secret,) = {row.id for row in scan(store, index_directory=memory.access.index).secrets}
    allow(store, secret, index_directory=memory.access.index)
    assert len(memory.get("memory_search", query=TOKEN[:9], limit=50)["hits"]) == 5
