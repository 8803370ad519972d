"""The messages of a branch in pages."""

from __future__ import annotations

import pytest

pytest.importorskip("mcp")

from scopes.conversation.append import append_all
from scopes.conversation.log import log
from scopes.conversation.merge import merge
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.server.mcp import pages
from scopes.server.mcp.budget import count_tokens
from tests.support.history import history, say
from tests.support.mcp_client import Agent
from tests.support.store import make_store, open_store


@pytest.fixture
def store(tmp_path):
    return make_store(tmp_path / "store")


@pytest.fixture
def agent(store):
    return Agent(store.path)


def fill(store, count, words=0):
    """Begin a conversation with numbered messages."""
    history(store, "main:")
    messages = [plain_message("user", f"m{number} " + "word " * words) for number in range(count)]
    append_all(StoreHandle(store).branch("conv-001"), messages)


def firsts(found):
    """Return the first word of each message of an answer."""
    return [each["text"].split()[0] for each in found["messages"]]


def names(numbers):
    return [f"m{number}" for number in numbers]


def walk_pages(agent, **options):
    """Return the ids of all messages, read page by page."""
    seen, after = [], None
    while True:
        found = agent.get("conversation_read", conversation="conv-001/main", after=after, **options)
        seen += [each["id"] for each in found["messages"]]
        after = found.get("next")
        if after is None:
            return seen


def test_the_newest_messages_can_be_read_alone(store, agent):
    fill(store, 6)
    found = agent.get("conversation_read", conversation="conv-001", newest=True, limit=2)
    assert (firsts(found), found["has_older"]) == (["m4", "m5"], True)
    assert "next" not in found


def test_of_the_newest_messages_a_budget_leaves_out_the_oldest(store, agent):
    fill(store, 60, words=200)
    found = agent.get("conversation_read", conversation="conv-001", newest=True, limit=50, max_tokens=2_000)
    shown = firsts(found)
    assert shown == names(range(60 - len(shown), 60))
    assert len(shown) + found["left_out"] == 50


def test_the_newest_of_a_short_branch_are_all_its_messages(store, agent):
    fill(store, 3)
    found = agent.get("conversation_read", conversation="conv-001", newest=True)
    assert firsts(found) == ["m0", "m1", "m2"]
    assert not {"has_older", "left_out", "next"} & found.keys()


def test_the_newest_messages_after_another_one(store, agent):
    fill(store, 9)
    after = agent.get("conversation_read", conversation="conv-001", limit=3)["next"]
    found = agent.get("conversation_read", conversation="conv-001", after=after, newest=True, limit=2)
    assert (firsts(found), found["left_out"]) == (["m7", "m8"], 4)


def test_what_is_left_out_is_counted_to_the_end_of_the_branch(store, agent):
    fill(store, 30)
    found = agent.get("conversation_read", conversation="conv-001", limit=10)
    assert (firsts(found), found["left_out"], found["next"]) == (names(range(10)), 20, found["messages"][-1]["id"])


def test_the_last_page_names_no_next_one(store, agent):
    fill(store, 4)
    after = agent.get("conversation_read", conversation="conv-001", limit=3)["next"]
    found = agent.get("conversation_read", conversation="conv-001", after=after)
    assert firsts(found) == ["m3"]
    assert not {"left_out", "next"} & found.keys()


@pytest.mark.parametrize("options", [{"limit": 1}, {"limit": 2}, {"limit": 500, "max_tokens": 400}])
@pytest.mark.cases(2)
def test_pages_of_merged_branches_have_each_message_once(store, agent, options):
    """A message of one side has the other side neither before nor after it: a range would give it again and again."""
    history(store, "main: a b", "fix@b: d e f", "try@b: g h")
    for branch in ("fix", "try"):
        say(store, "conv-001/main", f"between {branch}")
        merge(store, "conv-001", branch, target="main")
    whole = [each.head.id for each in log(open_store(store.path), "conv-001/main", oldest_first=True).items]
    assert walk_pages(agent, **options) == whole


def test_a_page_begins_after_a_message_that_is_named_by_a_prefix_or_a_revision(store, agent):
    drawn = history(store, "main: a b c d")
    for name in (drawn.ids["b"], drawn.ids["b"][:8], "main~2", drawn.oids["b"]):
        assert firsts(agent.get("conversation_read", conversation="conv-001", after=name)) == ["c", "d"]


def test_a_message_of_another_branch_begins_no_page(store, agent):
    drawn = history(store, "main: a b", "fix@a: d")
    error = agent.refused("conversation_read", conversation="conv-001/main", after=drawn.ids["d"])
    assert "is not on conv-001/main" in error


def test_only_the_messages_of_the_page_are_read(store, agent, monkeypatch):
    """Of the others the headers are enough: a page of a long branch costs no more than one of a short branch."""
    fill(store, 200)
    read = []
    monkeypatch.setattr(pages, "read_body", lambda repository, head: read.append(head) or real(repository, head))
    found = agent.get("conversation_read", conversation="conv-001", limit=5)
    assert ([head.id for head in read], len(read)) == ([each["id"] for each in found["messages"]], 5)


real = pages.read_body


def test_the_newest_messages_are_found_without_a_walk_over_the_branch(store, agent, monkeypatch):
    fill(store, 200)
    limits = []
    monkeypatch.setattr(
        pages, "log", lambda *where, **options: limits.append(options["limit"]) or walk(*where, **options)
    )
    agent.get("conversation_read", conversation="conv-001", newest=True, limit=5)
    assert limits == [6]


walk = pages.log


def test_a_text_is_not_repeated_as_a_part(store, agent):
    fill(store, 1)
    [row] = agent.get("conversation_read", conversation="conv-001")["messages"]
    assert (row["text"].strip(), "parts" in row) == ("m0", False)


def test_a_page_of_long_messages_fits_its_budget(store, agent):
    fill(store, 40, words=3_000)
    answered = agent.call("conversation_read", conversation="conv-001", max_tokens=1_000)
    assert count_tokens(answered.content[0].text) <= 1_000
    assert len(answered.structured_content["messages"]) >= 3
