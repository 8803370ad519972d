"""Agent cards of the A2A protocol: out, in, and what a card may hold that is not ours."""

from __future__ import annotations

import json

import pytest

from scopes.agents.agent import encode_agent
from scopes.agents.card import MAX_CARD_BYTES, MAX_CARD_DEPTH, export_card, import_card
from scopes.agents.register import AgentChanges, register, update
from scopes.agents.registry import Registry
from scopes.errors import Corrupt, Invalid, Refused

CARD = {
    "name": "Recipe Agent",
    "description": "Finds recipes",
    "version": "2.1.0",
    "supportedInterfaces": [{"url": "https://agent.example.com/a2a", "protocolBinding": "JSONRPC"}],
    "capabilities": {"streaming": True},
    "skills": [
        {
            "id": "find-recipe",
            "name": "Find",
            "description": "by ingredients",
            "tags": ["cooking", "search"],
            "examples": ["eggs"],
        },
        {"id": "plan", "name": "Plan", "description": "a week", "tags": ["meal plan"]},
    ],
}


def card_of(repository, name):
    return json.loads(json.dumps(export_card(repository, name).card))


def test_a_card_comes_in_and_goes_out_with_all_its_fields(repository):
    done = import_card(repository, json.dumps(CARD).encode())
    assert (done.agent.name, done.agent.description) == ("Recipe Agent", "Finds recipes")
    assert done.agent.capabilities == ("find-recipe", "cooking", "search", "plan", "meal-plan")
    out = card_of(repository, "1")
    assert {key: out[key] for key in CARD} == CARD


def test_capabilities_are_the_skills_of_a_card(repository):
    register(repository, "reviewer", capabilities=["review"], dependencies=["spec"], metadata={"model": "m"})
    out = card_of(repository, "reviewer")
    assert out["skills"] == [{"id": "review", "name": "review", "description": "review", "tags": ["review"]}]
    assert out["scopes"] == {"number": 1, "type": "ai", "dependencies": ["spec"], "metadata": {"model": "m"}}
    copied = import_card(repository, json.dumps(out).encode(), name="second").agent
    assert (copied.number, copied.capabilities, copied.dependencies) == (2, ("review",), ("spec",))
    assert copied.metadata == {"model": "m"}


def test_metadata_of_any_name_hides_no_field_of_a_card(repository):
    """`--meta type=human` made another kind of agent of the copy."""
    register(repository, "reviewer", metadata={"type": "human", "dependencies": "x", "number": "7"})
    out = card_of(repository, "reviewer")
    copied = import_card(repository, json.dumps(out).encode(), name="second").agent
    assert (copied.type, copied.number, copied.metadata["type"]) == ("ai", 2, "human")


def test_a_removed_capability_leaves_the_card(repository):
    import_card(repository, json.dumps(CARD).encode(), name="cook")
    gone = ["plan", "meal-plan"]
    update(repository, "cook", AgentChanges(add_capabilities=["serve"], remove_capabilities=gone))
    assert [skill["id"] for skill in card_of(repository, "cook")["skills"]] == ["find-recipe", "serve"]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"skills": "x"}, "the skills of the card are not a list: the agent has no capabilities"),
        ({"scopes": {"type": "robot"}}, "the card has the type 'robot', which is none: the agent is registered as ai"),
        ({"scopes": {"type": ["human"]}}, "the card has the type \"['human']\", which is none: the agent is registered as ai"),
    ],
)  # fmt: skip
def test_what_a_card_says_in_no_known_form_is_noted(repository, fields, text):
    """It was registered as another agent than the card described, without a word."""
    done = import_card(repository, json.dumps({"name": "odd", **fields}).encode())
    assert [note.text for note in done.notes] == [text]
    assert import_card(repository, json.dumps(CARD).encode()).notes == ()


def test_a_card_without_a_name_is_given_one(repository):
    with pytest.raises(Corrupt, match="this is not an agent card: it has no name") as refused:
        import_card(repository, b'{"description": "x"}')
    assert refused.value.hint == "give the agent one"
    assert import_card(repository, b'{"description": "x"}', name="critic").agent.name == "critic"


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"name": 1}', b"\xff\xfe", b'{"name": "x"'])
def test_what_is_no_card_is_refused(repository, data):
    with pytest.raises(Corrupt, match="not an agent card"):
        import_card(repository, data)


@pytest.mark.parametrize(
    "fields",
    [
        {"skills": 1},
        {"skills": [1, {"tags": 2}, {"id": 3}]},
        {"description": ["x"]},
        {"scopes": []},
        {"scopes": {"dependencies": 1}},
        {"scopes": {"metadata": [1]}},
        {"scopes": {"metadata": {"a": 1}}},
    ],
)
def test_odd_fields_of_a_card_are_kept_out_of_the_agent(repository, fields):
    agent = import_card(repository, json.dumps({"name": "odd", **fields}).encode()).agent
    assert (agent.capabilities, agent.dependencies, agent.description) == ((), (), "")
    assert agent.metadata == {}


def test_hostile_words_of_a_card_are_no_capabilities(repository):
    skills = [{"id": "\x1b[31mred", "tags": ["ok", "x" * 1000, "  "]}]
    agent = import_card(repository, json.dumps({"name": "h", "skills": skills}).encode()).agent
    assert agent.capabilities == ("ok", "x" * 200)


def test_a_card_that_is_too_large_or_has_a_known_name_is_refused(repository):
    with pytest.raises(Invalid, match="at most 1,000,000 bytes"):
        import_card(repository, b" " * (MAX_CARD_BYTES + 1))
    import_card(repository, json.dumps(CARD).encode())
    with pytest.raises(Refused):
        import_card(repository, json.dumps(CARD).encode())


@pytest.mark.parametrize("extra", [0, 1, 5_000])
def test_a_card_has_at_most_so_many_levels(repository, extra):
    """It is stored indented: 400 kB of a card with 900 levels became 360 MB, which every command read then."""
    lists = MAX_CARD_DEPTH - 1 + extra
    data = b'{"name": "deep", "x": ' + b"[" * lists + b"1, " * 1_000 + b"1" + b"]" * lists + b"}"
    if not extra:
        assert import_card(repository, data).agent.name == "deep"
        assert len(encode_agent(Registry(repository).find("deep"))) < 100_000
        return
    with pytest.raises((Invalid, Corrupt), match=r"at most 30 levels|this is not an agent card"):
        import_card(repository, data)
    assert Registry(repository).agents == ()
