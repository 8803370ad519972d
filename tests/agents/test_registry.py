"""Registered agents: numbers that are never used again, names that address one, changes that undo takes back."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.agents.agent import Agent, decode_agent, encode_agent
from scopes.agents.delivery import deliver_unread
from scopes.agents.inbox import read_inbox, watch_inbox
from scopes.agents.list import list_agents, show_agent
from scopes.agents.register import AgentChanges, register, remove, update
from scopes.agents.registry import Registry, store_registry
from scopes.conversation.new_rename_delete import new
from scopes.conversation.undo import redo, undo
from scopes.conversation.verify import verify
from scopes.errors import Ambiguous, Corrupt, Invalid, NotFound, Refused
from scopes.facts.run import RunLimits, run_programs
from scopes.history.metadata import write_metadata
from scopes.store.config import Setting
from scopes.store.refs import AGENTS
from scopes.store.repository import open_repository
from scopes.store.transactions import exclusive_write
from tests.support.examples import examples
from tests.support.history import history
from tests.support.store import FAST, git, make_store


def names(repository):
    return {agent.number: agent.name for agent in Registry(repository).agents}


def test_agents_are_numbered_in_the_order_of_registration(repository):
    """S2-1, S4-29."""
    for name in ("planner", "carol", "reviewer"):
        register(repository, name)
    assert names(repository) == {1: "planner", 2: "carol", 3: "reviewer"}


def test_a_number_is_never_used_again(repository):
    """S2-1: neither after a removal nor after an undo of the registration."""
    assert register(repository, "a").agent.number == 1
    assert register(repository, "b").agent.number == 2
    remove(repository, "b")
    assert register(repository, "c").agent.number == 3
    undo(repository)
    assert register(repository, "d").agent.number == 4
    assert names(repository) == {1: "a", 4: "d"}
    assert verify(repository).findings == ()


@given(st.lists(st.sampled_from(["register", "remove", "undo", "redo"]), max_size=12))
@settings(max_examples=examples(20))
def test_no_two_registrations_ever_get_one_number(tmp_path_factory, steps):
    repository = make_store(tmp_path_factory.mktemp("agents"))
    given_numbers = []
    for number, step in enumerate(steps):
        try:
            if step == "register":
                given_numbers.append(register(repository, f"agent-{number}").agent.number)
            elif step == "remove":
                remove(repository, next(iter(names(repository).values()), "nobody"))
            else:
                (undo if step == "undo" else redo)(repository)
        except (NotFound, Refused):
            pass
    assert given_numbers == sorted(set(given_numbers))
    assert names(repository).keys() <= set(given_numbers)


def test_a_name_is_registered_once(repository):
    register(repository, "planner")
    with pytest.raises(Refused, match="registered already, as number 1"):
        register(repository, "planner")
    register(repository, "other")
    with pytest.raises(Refused):
        update(repository, "other", AgentChanges(name="planner"))


@pytest.mark.parametrize("name", ["", "  ", "all", "@review", "7", "x" * 201, "a\0b", "\x1b[31m"])
def test_a_name_that_cannot_be_addressed_is_refused(repository, name):
    with pytest.raises(Invalid):
        register(repository, name)
    assert repository.find_ref(AGENTS) is None


@pytest.mark.parametrize("name", ["::error::name", "'ann", "a<b>", ",", " ann"])
def test_a_name_under_which_nobody_could_write_a_message_is_refused(repository, name):
    with pytest.raises(Invalid, match="is not a valid author name"):
        register(repository, name)
    register(repository, "ann.")
    with pytest.raises(Invalid, match="is not a valid author name"):
        update(repository, "ann.", AgentChanges(name=name))
    assert [agent.name for agent in Registry(repository).agents] == ["ann."]


@pytest.mark.parametrize("word", ["", "a b", "x" * 201, "a\tb", "\x1b[31m"])
def test_a_capability_is_one_printable_word(repository, word):
    with pytest.raises(Invalid):
        register(repository, "planner", capabilities=[word])


def test_an_agent_is_found_by_name_number_and_prefix(repository):
    """S4-55."""
    for name in ("planner", "plotter", "critic"):
        register(repository, name)
    registry = Registry(repository)
    assert [registry.find(text).name for text in ("planner", "2", "c")] == ["planner", "plotter", "critic"]
    with pytest.raises(Ambiguous, match="planner, plotter"):
        registry.find("pl")
    with pytest.raises(NotFound) as refusal:
        registry.find("planer")
    assert refusal.value.hint == "did you mean planner?"


def test_a_writing_verb_takes_no_beginning_of_a_name(repository):
    """`agents remove kim` twice removed kimberly as well."""
    for name in ("kim", "kimberly"):
        register(repository, name)
    remove(repository, "kim")
    verbs = [
        lambda: remove(repository, "kim"),
        lambda: update(repository, "kim", AgentChanges(available=False)),
        lambda: update(repository, "kim", AgentChanges(description="x")),
        lambda: read_inbox(repository, "kim", acknowledge=True),
        lambda: next(watch_inbox(repository, "kim", acknowledge=True, idle_seconds=0)),
        lambda: deliver_unread(repository, "kim"),
    ]
    before = Registry(repository).agents
    for verb in verbs:
        with pytest.raises(NotFound, match="there is no agent 'kim'") as refusal:
            verb()
        assert refusal.value.hint.startswith("did you mean kimberly? ")
        assert refusal.value.hint.endswith("needs the whole name of an agent")
    assert (Registry(repository).agents, names(repository)) == (before, {2: "kimberly"})
    assert read_inbox(repository, "kim").agent.name == "kimberly"
    assert remove(repository, "2").agent.name == "kimberly"


def test_update_adds_and_removes_single_items(repository):
    register(repository, "planner", capabilities=["plan", "go"], dependencies=["spec"], metadata={"model": "m"})
    changes = AgentChanges(
        type="human",
        description=" decides ",
        add_capabilities=["review", "plan"],
        remove_capabilities=["go", "nope"],
        add_dependencies=["tests"],
        remove_dependencies=["spec"],
    )
    done = update(repository, "planner", changes)
    agent = done.agent
    assert (agent.number, agent.type, agent.description) == (1, "human", "decides")
    assert (agent.capabilities, agent.dependencies, agent.metadata) == (
        ("plan", "review"),
        ("tests",),
        {"model": "m"},
    )
    assert [note.text for note in done.notes] == ["the agent has no capability 'nope'"]
    assert Registry(repository).agents == (agent,)


def test_a_new_name_notes_the_settings_that_have_the_old_one(repository):
    """The program of the agent was no longer run, without a word."""
    register(repository, "critic")
    values = {"scopes.agent.critic.delivery": "cat > /dev/null", "scopes.agent.critic.timeout": "5"}
    opened = open_repository(repository.path, {key: Setting(key, value, "flag") for key, value in values.items()})
    first, second = update(opened, "critic", AgentChanges(name="the judge")).notes
    assert first.text == "the setting scopes.agent.critic.delivery is not used for the judge"
    assert first.hint == "set it again: scopes config 'scopes.agent.the judge.delivery' 'cat > /dev/null'"
    assert second.text == "the setting scopes.agent.critic.timeout is not used for the judge"
    assert update(opened, "the judge", AgentChanges(description="x")).notes == ()


def test_a_change_that_changes_nothing_is_no_operation(repository):
    register(repository, "planner")
    assert update(repository, "planner", AgentChanges(available=False)).change == "away"
    again = update(repository, "planner", AgentChanges(available=False))
    assert (again.change, again.operation) == ("unchanged", None)
    undo(repository)
    assert Registry(repository).find("planner").available


def test_participants_are_known_without_a_registration(repository):
    history(repository, "main: a b")
    register(repository, "planner", capabilities=["plan"])
    rows = [(row.name, row.agent is not None, row.conversations) for row in list_agents(repository).agents]
    assert rows == [("planner", True, 0), ("carol", False, 1)]
    assert show_agent(repository, "carol").row.conversations == 1
    register(repository, "carol")
    assert [row.name for row in list_agents(repository).agents] == ["planner", "carol"]
    assert show_agent(repository, "carol").row.agent.number == 2
    with pytest.raises(NotFound):
        show_agent(repository, "nobody")


def test_the_list_can_be_limited_to_a_capability_and_an_availability(repository):
    history(repository, "main: a")
    register(repository, "one", capabilities=["review"])
    register(repository, "two", capabilities=["review"], available=False)
    register(repository, "three")
    listed = {
        "@review": list_agents(repository, capability="@review"),
        "available": list_agents(repository, capability="review", available=True),
        "away": list_agents(repository, available=False),
    }
    assert {key: [row.name for row in found.agents] for key, found in listed.items()} == {
        "@review": ["one", "two"], "available": ["one"], "away": ["two"],
    }  # fmt: skip


UNPRINTABLE = [rb"a\u0000b", rb"\ud800", rb"a\nb", rb"\u001b[31m", rb"a\u202eb"]
WORDS = st.lists(st.text(st.characters(categories=["L", "N", "S", "P"]), min_size=1, max_size=9), max_size=3).map(tuple)


@given(
    name=st.text(min_size=1, max_size=30).filter(str.isprintable),
    words=WORDS,
    facts=st.dictionaries(st.text(min_size=1), st.text(), max_size=3),
    available=st.booleans(),
)
@settings(max_examples=examples(60))
def test_an_agent_survives_its_stored_form(name, words, facts, available):
    agent = Agent(
        number=7, name=name, type="human", capabilities=words, dependencies=words, metadata=facts, available=available,
        registered="2026-01-01T00:00:00Z", extra={"later": [1]}, card={"skills": []},
    )  # fmt: skip
    stored = encode_agent(agent)
    if not any("\ud800" <= c <= "\udfff" for c in "".join((name, *words, *facts, *facts.values()))):
        assert decode_agent(stored) == agent


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"number": 0, "name": "x", "registered": "t"}',
        b'{"number": "1", "name": "x", "registered": ""}',
        *(b'{"number": 1, "name": "%s", "registered": "t"}' % name for name in UNPRINTABLE),
    ],
)
def test_a_damaged_agent_is_refused(data):
    with pytest.raises(Corrupt):
        decode_agent(data)


@pytest.mark.parametrize("name", UNPRINTABLE)
def test_a_name_that_no_setting_can_have_stops_no_run(repository, name):
    """The registry of another person's store: names go into settings and into the environment of programs."""
    new(repository)
    register(repository, "ann", dependencies=["Seeds"])
    document = json.loads(git(repository, "show", f"{AGENTS}:agents/000001.json"))
    data = json.dumps({**document, "number": 2, "name": "NAME"}).encode().replace(b"NAME", name)
    commit = repository.find_ref(AGENTS)
    forged = write_metadata(repository, commit, {"agents/000002.json": data}, "forged")
    git(repository, "update-ref", AGENTS, forged)
    run = run_programs(open_repository(repository.path, FAST), "conv-001", {"ann": "true"}, RunLimits())
    assert run.ending == "converged"
    assert "files of the registry that are not agents were ignored: 000002.json" in [each.text for each in run.notes]


def test_a_file_that_is_no_agent_is_a_note_and_stays(repository, tmp_path):
    register(repository, "planner")
    blob = git(repository, "hash-object", "-w", "--stdin", stdin=b"not JSON").strip()
    tree = git(repository, "mktree", "--missing", stdin=f"100644 blob {blob}\t000009.json\n".encode()).strip()
    top = git(repository, "mktree", "--missing", stdin=f"040000 tree {tree}\tagents\n".encode()).strip()
    commit = git(repository, "commit-tree", top, "-m", "damage").strip()
    git(repository, "update-ref", AGENTS, commit)
    registry = Registry(open_repository(repository.path, FAST))
    assert registry.agents == ()
    assert "000009.json" in registry.notes[0].text


def test_the_registry_is_readable_with_git(repository):
    register(repository, "planner", capabilities=["plan"])
    shown = json.loads(git(repository, "show", f"{AGENTS}:agents/000001.json"))
    assert (shown["name"], shown["type"], shown["capabilities"]) == ("planner", "ai", ["plan"])
    assert git(repository, "show", f"{AGENTS}:next") == "2\n"


def test_an_agent_has_the_time_of_its_last_change(repository, monkeypatch):
    """Appendix A: createdAt and updatedAt."""
    made = register(repository, "ann").agent
    assert made.updated is None
    monkeypatch.setattr("scopes.agents.register.now", lambda: "2030-01-01T00:00:00.000Z")
    for change in (lambda: update(repository, "ann", AgentChanges(available=False)),
                   lambda: update(repository, "ann", AgentChanges(description="reviews"))):  # fmt: skip
        assert change().agent.updated == "2030-01-01T00:00:00.000Z"
    unchanged = update(repository, "ann", AgentChanges(description="reviews")).agent
    assert Registry(repository).agents == (unchanged,)
    assert (unchanged.registered, unchanged.number) == (made.registered, 1)


@pytest.mark.parametrize(
    ("field", "value", "default"),
    [
        ("type", "robot", "ai"), ("type", 5, "ai"), ("description", ["x"], ""), ("capabilities", "review", ()),
        ("capabilities", [1, "go", None], ("go",)), ("dependencies", {"a": 1}, ()), ("metadata", [1], {}),
        ("metadata", {"a": 1, "b": "c"}, {"b": "c"}), ("available", "no", True), ("available", None, True),
        ("card", "x", {}), ("updated", 5, None),
    ],
)  # fmt: skip
def test_a_field_of_another_type_has_its_default(field, value, default):
    """As a newer version may have written it."""
    document = {"v": 9, "number": 1, "name": "ann", "registered": "2026-01-01T00:00:00Z", field: value}
    assert getattr(decode_agent(json.dumps(document).encode()), field) == default


def test_fields_of_a_newer_version_survive_a_change(repository):
    register(repository, "ann")
    stored = json.loads(git(repository, "show", f"{AGENTS}:agents/000001.json"))
    newer = json.dumps({**stored, "v": 2, "rank": {"level": 3}}).encode()
    assert decode_agent(encode_agent(decode_agent(newer))).extra == {"rank": {"level": 3}}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"agent_type": "robot"}, "'robot' is not a type of agent"),
        ({"description": "x" * 2001}, "the description has 2,001 characters"),
        ({"metadata": {"a": "x" * 10_001}}, "the metadata has more than 10,000 characters"),
        ({"metadata": {"a b": "x"}}, "'a b' cannot be a metadata name"),
        (
            {"capabilities": [f"c{number}" for number in range(101)]},
            "101 capabilities were given; an agent has at most 100",
        ),
        ({"dependencies": ["a\u202eb"]}, "cannot be a dependency"),
        ({"dependencies": ["\ud800"]}, "cannot be a dependency"),
    ],
)
def test_what_cannot_be_stored_of_an_agent_is_refused_and_nothing_is_written(repository, fields, text):
    with pytest.raises(Invalid, match=text) as refused:
        register(repository, "ann", **fields)
    assert refused.value.hint, "every refusal names its cure"
    assert repository.find_ref(AGENTS) is None


def test_two_agents_of_one_name_are_named_by_number(repository):
    """Two machines registered the name, and one fetched from the other."""
    register(repository, "ann")
    register(repository, "bob")
    registry = Registry(repository)
    twin = encode_agent(dataclasses.replace(registry.agents[0], number=2))
    with exclusive_write(repository):
        store_registry(registry, {"agents/000002.json": twin}, "twin")
    with pytest.raises(Ambiguous, match="'ann' is the name of 2 agents") as caught:
        Registry(repository).find("ann")
    assert caught.value.hint == "name one by its number: 1, 2"
    assert Registry(repository).find("2").number == 2


def test_an_empty_name_is_no_prefix_of_the_only_agent(repository):
    """An unset variable of a script removed the only agent."""
    register(repository, "ann")
    for function in (remove, show_agent):
        with pytest.raises(Invalid, match="the name of an agent is empty"):
            function(repository, "")
    assert [agent.name for agent in Registry(repository).agents] == ["ann"]


def test_a_name_that_differs_in_its_case_alone_is_noted(repository):
    assert register(repository, "ann").notes == ()
    (note,) = register(repository, "ANN").notes
    assert note.text == "there is also the agent 'ann', number 1: case matters in names"
