"""The tools that write refuse what the command line refuses, and leave the store as it was."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("mcp")

from scopes.agents.register import register
from scopes.conversation.list import list_conversations
from scopes.conversation.log import log
from scopes.conversation.verify import verify
from scopes.model.message import EXAMPLES
from tests.cli.running import PRODUCT, scopes
from tests.support.history import history
from tests.support.mcp_client import Agent
from tests.support.store import make_store, open_store

RECORD = {"conversation": "conv-001", "text": "x"}
SEND = {"conversation": "conv-001", "to": ["gemini"], "text": "x"}
FACT = {"conversation": "conv-001", "key": "Signals", "content": "x"}
APPEND = ("append", "conv-001", "x")
LONG_NAME = "n" * 201
# tool, its arguments, the same on the command line, and what both refuse
REFUSED = [
    ("conversation_record", {**RECORD, "reply_to": "nope"}, (*APPEND, "--reply-to", "nope"), "'nope'"),
    ("conversation_record", {**RECORD, "author": "bad\nname"}, (*APPEND, "--as", "bad\nname"), "author name"),
    ("conversation_record", {**RECORD, "author": "a<b>"}, (*APPEND, "--as", "a<b>"), "author name"),
    ("conversation_record", {**RECORD, "author": " "}, (*APPEND, "--as", " "), "needs a name"),
    ("conversation_record", {**RECORD, "author": LONG_NAME}, (*APPEND, "--as", LONG_NAME), "200 bytes"),
    ("conversation_record", {**RECORD, "text": " \n"}, ("append", "conv-001", " \n"), "the message is empty"),
    ("conversation_record", {**RECORD, "data": {"a": 1}}, (*APPEND, "--data", '{"a": 1}'), "needs a typed kind"),
    ("conversation_record", {**RECORD, "kind": "decision"}, (*APPEND, "--kind", "decision"), "of kind decision needs"),
    (
        "conversation_record",
        {**RECORD, "conversation": "conv-001/ma"},
        ("append", "conv-001/ma", "x"),
        "no branch 'ma'",
    ),
    (
        "conversation_record",
        {**RECORD, "conversation": "conv-9"},
        ("append", "conv-9", "x"),
        "no conversation 'conv-9'",
    ),
    ("conversation_record", {"text": "x", "title": " "}, ("new", " "), "the title is empty"),
    ("conversation_branch", {"conversation": "conv-001", "name": "a b"}, ("branch", "conv-001", "a b"), "branch name"),
    ("conversation_branch", {"conversation": "conv-001", "name": "main"}, ("branch", "conv-001", "main"), "exists"),
    (
        "conversation_branch",
        {"conversation": "conv-001", "name": "c", "start": "nope"},
        ("switch", "-c", "conv-001", "c", "nope"),
        "'nope'",
    ),
    (
        "conversation_merge",
        {"conversation": "conv-001", "source": "main", "target": "main"},
        ("merge", "conv-001", "main", "--target", "main"),
        "into itself",
    ),
    (
        "conversation_merge",
        {"conversation": "conv-001", "source": "fix", "target": "ma"},
        ("merge", "conv-001", "fix", "--target", "ma"),
        "no branch 'ma'",
    ),
    ("memory_add", {"text": " "}, ("memory", "add", " "), "is empty"),
    ("memory_add", {"text": "x", "topics": [""]}, ("memory", "add", "x", "--topic", ""), "a topic is empty"),
    ("memory_add", {"text": "x", "topics": ["t"] * 31}, ("memory", "add", "x", *["--topic", "t"] * 31), "at most 30"),
    ("message_send", {**SEND, "to": []}, ("send", "conv-001", "x"), "no receiver is named"),
    ("message_send", {**SEND, "to": ["nobody"]}, ("send", "conv-001", "x", "--to", "nobody"), "no agent 'nobody'"),
    ("message_send", {**SEND, "to": ["@x"]}, ("send", "conv-001", "x", "--to", "@x"), "capability 'x'"),
    ("message_send", {**SEND, "text": " "}, ("send", "conv-001", " ", "--to", "gemini"), "the message is empty"),
    ("message_send", {**SEND, "conversation": "conv-001/ma"}, ("send", "conv-001/ma", "x", "--to", "gemini"), "'ma'"),
    (
        "fact_propose",
        {**FACT, "key": "Sgnals"},
        ("facts", "propose", "conv-001", "Sgnals", "x"),
        "context key 'Sgnals'",
    ),
    ("fact_propose", {**FACT, "content": " "}, ("facts", "propose", "conv-001", "Signals", " "), "cannot be proposed"),
    (
        "fact_propose",
        {**FACT, "sources": ["nope"]},
        ("facts", "propose", "conv-001", "Signals", "x", "--source", "nope"),
        "no message 'nope'",
    ),
]


@pytest.fixture
def store(tmp_path):
    made = make_store(tmp_path / "store")
    history(made, "main: a b", "fix@a: c")
    register(made, "gemini")
    return made


@pytest.fixture
def agent(store):
    return Agent(store.path)


def refs(store):
    """Return every ref with its value: what is stored."""
    return open_store(store.path).list_refs("refs/")


@pytest.mark.parametrize(("tool", "arguments", "words", "refusal"), REFUSED, ids=lambda each: str(each)[:40])
def test_a_tool_refuses_what_the_command_refuses(store, agent, tool, arguments, words, refusal):
    before = refs(store)
    error = agent.refused(tool, **arguments)
    done = scopes("--store", store.path, *words, table=PRODUCT)
    assert refusal in error
    assert (done.returncode != 0, refusal in done.stderr) == (True, True), done.stderr
    assert refs(store) == before


def test_no_refusal_has_a_hint_about_the_command_line(agent):
    for tool, arguments, _, _ in REFUSED:
        error = agent.refused(tool, **arguments)
        assert " --" not in error
        assert "scopes " not in error.replace("conversation_record: ", "").replace(
            "scopes agents register", ""
        )  # a user's


@pytest.mark.parametrize("name", ["b", "b-prefix", "main~1", "fix"])
def test_an_answered_message_is_stored_by_its_id(store, agent, name):
    ids = {
        each.message.text: each.head.id for branch in ("main", "fix") for each in log(store, f"conv-001/{branch}").items
    }
    given = {"b": ids["b"], "b-prefix": ids["b"][:8]}.get(name, name)
    agent.get("conversation_record", **RECORD, reply_to=given)
    [entry] = log(open_store(store.path), "conv-001/main", limit=1).items
    assert entry.message.reply_to == {"main~1": ids["a"], "fix": ids["c"]}.get(name, ids["b"])


@pytest.mark.parametrize("kind", ["decision", "analysis", "proposal", "priority", "method"])
def test_a_typed_message_needs_its_document_and_the_hint_has_one(agent, kind):
    error = agent.refused("conversation_record", **RECORD, kind=kind)
    example = json.loads(error.partition("for example: ")[2])
    assert example == json.loads(EXAMPLES[kind])
    assert agent.get("conversation_record", **RECORD, kind=kind, data=example)["kind"] == "message"


def test_the_registry_says_who_is_a_human(store, agent):
    register(store, "carol", agent_type="human")
    for author in ("carol", "gemini", "user", "somebody"):
        agent.get("conversation_record", **RECORD, author=author)
    written = [
        each.message.author for each in log(open_store(store.path), "conv-001/main", limit=4, oldest_first=True).items
    ]
    assert [tuple(author) for author in written] == [
        ("carol", "human"),
        ("gemini", "agent"),
        ("user", "human"),
        ("somebody", "agent"),
    ]


def test_a_name_that_is_nearly_registered_gets_a_note(agent):
    found = agent.get("conversation_record", **RECORD, author="gemni")
    assert found["notes"] == [{"text": "gemni is not registered; did you mean gemini?"}]


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "x", "kind": "decision"},
        {"text": "x", "reply_to": "nope"},
        {"text": "x", "author": "bad\nname"},
        {"text": "x", "key": "k"},
        {"text": " ", "title": "Login"},
        {"text": "x", "kind": "decision", "data": {"topic": "t", "decision": "d", "more": "x" * (65 << 20)}},
        {"text": "x", "kind": "decision", "data": {"topic": "t"}},
    ],
    ids="-".join,
)
def test_a_first_message_that_is_refused_begins_no_conversation(store, agent, arguments):
    agent.refused("conversation_record", **arguments)
    assert len(list_conversations(open_store(store.path)).conversations) == 1


def test_a_title_that_would_be_ignored_is_refused(agent):
    assert "a title is for a new conversation" in agent.refused("conversation_record", **RECORD, title="Login")


def test_a_new_conversation_belongs_to_the_project_of_the_server(agent, tmp_path, monkeypatch):
    project = tmp_path / "shop"
    project.mkdir()
    monkeypatch.chdir(project)
    began = agent.get("conversation_record", text="hello")
    assert [each["id"] for each in agent.get("conversation_list", here=True)["conversations"]] == [
        began["conversation"]
    ]


def test_nothing_that_was_refused_damages_the_store(store, agent):
    for tool, arguments, _, _ in REFUSED:
        agent.refused(tool, **arguments)
    assert verify(open_store(store.path)).exit_code == 0
