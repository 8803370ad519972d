"""Every answer of every tool is within its budget, from the smallest one up."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("mcp")

from scopes.agents.register import register
from scopes.agents.send import send
from scopes.clock import new_id, now
from scopes.conversation.append import append_all
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.history.names import list_branch_tips
from scopes.model.validation import check_message
from scopes.server.mcp.budget import MIN_TOKENS, count_document, count_tokens
from tests.support.examples import examples
from tests.support.history import history
from tests.support.mcp_client import NAME, Agent
from tests.support.store import make_store, open_store

CODE = "def f(x):\n    return {'a': [1, 2], \"b\": x, 'grüße': '日本語'}\n" * 12
READS = {
    "conversation_list": {},
    "conversation_show": {"conversation": "conv-001"},
    "conversation_read": {"conversation": "conv-001"},
    "conversation_search": {"query": "return OR word", "limit": 50},
    "conversation_continue": {"continuation_id": "conv-001/main"},
    "decision_list": {"conversation": "conv-001"},
    "memory_search": {"query": "cookie", "limit": 50},
    "inbox": {},
}
VARIANTS = (
    ("conversation_read", {"conversation": "conv-001", "newest": True}),
    ("conversation_continue", {"continuation_id": "conv-001", "task": "return x"}),
    ("inbox", {"acknowledge": True}),
    ("conversation_merge", {"conversation": "conv-001", "source": "try", "dry_run": True}),
)
CASES = (*READS.items(), *VARIANTS)


def decision(topic, choice):
    document = {
        "author": "planner",
        "text": choice,
        "kind": "decision",
        "decision": {"topic": topic, "decision": choice},
    }
    return check_message(document, message_id=new_id(), now=now())


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    """A store with much of everything: branches, long messages, decisions, conflicts, memory, an inbox."""
    store = make_store(tmp_path_factory.mktemp("budget") / "store")
    for number in range(30):
        history(store, f"main: a{number}")
    branch = StoreHandle(store).branch("conv-001")
    append_all(branch, [plain_message("user", f"message {number}\n{CODE}") for number in range(40)])
    agent = Agent(store.path)
    agent.get("conversation_branch", conversation="conv-001", name="try")
    for name, value in (("main", "SQLite"), ("try", "Postgres")):
        decided = [decision(f"topic {n}", f"{value} {n}") for n in range(40)]
        append_all(StoreHandle(store).branch("conv-001", name), decided)
    for number in range(15):
        agent.get("memory_add", text=f"the cookie {number} " + "word " * 200, topics=["login", "cookie"])
    register(store, NAME)
    for number in range(10):
        send(branch, plain_message("gemini", f"{number} " + "word " * 100 * number), [NAME])
    return agent


def over_budget(agent, cases):
    """Call tools with budgets in one connection; return those whose answers are larger, or no answers."""

    async def ask(client):
        found = []
        for (tool, arguments), budget in cases:
            answered = await client.call_tool(tool, {**arguments, "max_tokens": budget})
            text = answered.content[0].text
            sizes = (
                [count_tokens(text)]
                if answered.is_error
                else [count_tokens(text), count_document(answered.structured_content)]
            )
            if max(sizes) > budget or (answered.is_error and "raise max_tokens" not in text):
                found.append((tool, arguments, budget, sizes, text[:80]))
        return found

    return agent.do(ask)


def test_the_table_has_every_tool_with_a_budget(agent):
    tools = agent.do(lambda client: client.list_tools()).tools
    with_budget = {tool.name for tool in tools if "max_tokens" in tool.input_schema["properties"]}
    assert with_budget == {tool for tool, _ in CASES} | {"why"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join((case[0], *case[1])))
@pytest.mark.cases(2)
def test_small_budgets_hold(agent, case):
    """The sizes at which answers change most: lists, texts and fields are left out."""
    assert over_budget(agent, [(case, budget) for budget in (MIN_TOKENS, 150, 350, 4_000)]) == []


@settings(max_examples=examples(60), deadline=None)
@given(st.sampled_from(CASES), st.integers(MIN_TOKENS, 12_000))
def test_any_budget_holds(agent, case, budget):
    assert over_budget(agent, [(case, budget)]) == []


@pytest.mark.slow
def test_more_tokens_never_show_fewer_messages(agent):
    shown = [
        len(agent.get("conversation_read", conversation="conv-001", max_tokens=budget)["messages"])
        for budget in (1_000, 2_000, 4_000, 8_000, 16_000)
    ]
    assert all(less <= more for less, more in itertools.pairwise(shown))
    assert shown[0] < shown[-1]


def test_a_context_says_how_many_tokens_it_has_by_the_measure_of_all_answers(agent):
    found = agent.get("conversation_continue", continuation_id="conv-001", max_tokens=8_000)
    assert found["tokens_used"] == count_tokens(found["text"])
    assert found["tokens_used"] > 4_000


def test_a_context_for_which_there_is_no_room_is_refused(agent):
    error = agent.refused("conversation_continue", continuation_id="conv-001", max_tokens=100)
    assert "no message fits into 100 tokens\nraise max_tokens" in error


def test_a_context_without_room_for_its_notes_has_none(agent):
    found = agent.get("conversation_continue", continuation_id="conv-001", max_tokens=250)
    assert "notes" not in found
    assert found["turns_included"] == 1


def test_notes_of_a_context_name_parameters(agent):
    found = agent.get("conversation_continue", continuation_id="conv-001", max_tokens=2_000)
    assert {
        "text": "the newest messages are kept, not the first prompts",
        "hint": "to keep what a task needs: task=TEXT",
    } in (found["notes"])


def test_a_branch_without_messages_has_an_empty_context(tmp_path):
    store = make_store(tmp_path / "store")
    history(store, "main:")
    found = Agent(store.path).get("conversation_continue", continuation_id="conv-001")
    assert (found["turns_included"], found["turns_excluded"]) == (0, 0)


@pytest.mark.parametrize("budget", [10, 99, 100_001])
def test_a_merge_with_an_impossible_budget_is_not_made(tmp_path, budget):
    store = make_store(tmp_path / "store")
    history(store, "main: a", "fix@a: b")
    before = list_branch_tips(open_store(store.path), "conv-001")
    error = Agent(store.path).refused("conversation_merge", conversation="conv-001", source="fix", max_tokens=budget)
    assert "max_tokens must be from 100" in error
    assert list_branch_tips(open_store(store.path), "conv-001") == before


@pytest.mark.parametrize("budget", [100, 150, 300, 1_000])
@pytest.mark.cases(2)
def test_a_merge_that_was_made_is_always_answered(tmp_path, budget):
    """The conflicts that have no room are in a dry run with more tokens."""
    store = make_store(tmp_path / "store")
    history(store, "main: a", "try@a:")
    for name, value in (("main", "SQLite"), ("try", "Postgres")):
        decided = [decision(f"topic {n}", f"{value} {n}") for n in range(100)]
        append_all(StoreHandle(store).branch("conv-001", name), decided)
    agent = Agent(store.path)
    merge = {"conversation": "conv-001", "source": "try", "target": "main"}
    answered = agent.call("conversation_merge", **merge, max_tokens=budget)
    assert count_tokens(answered.content[0].text) <= budget
    assert answered.structured_content["result"] == "conflict"
    assert answered.structured_content["continuation_id"] == "conv-001/main"
    whole = agent.get("conversation_merge", **merge, dry_run=True, max_tokens=100_000)
    assert len(whole["conflicts"]) == 100


@pytest.mark.slow
def test_a_message_to_very_many_agents_is_answered_after_it_was_sent(tmp_path):
    store = make_store(tmp_path / "store")
    history(store, "main: a")
    names = [f"agent number {number}" + " of the whole crowd" * 9 for number in range(120)]
    for name in names:
        register(store, name)
    answered = Agent(store.path).call("message_send", conversation="conv-001", to=["all"], text="hello")
    found = answered.structured_content
    assert count_tokens(answered.content[0].text) <= 4_000
    assert (found["conversation"], len(found["delivered_to"]) + found["delivered_to_left_out"]) == ("conv-001", 120)
