"""Every hint of the tools is followed: what it names exists, and what it says to do works.

SITUATIONS has a row for each place in `scopes/server/mcp` that makes a hint, and rows for hints of the operations below,
which `hints` says in the words of the tools.
"""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest

pytest.importorskip("mcp")

import scopes
from scopes.agents.register import AgentChanges, register, update
from scopes.agents.send import send
from scopes.errors import NotFound
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.ids import BranchName, ConversationId
from scopes.secret_scan.clearance import without_store
from scopes.server.mcp.access import describe_error
from scopes.server.mcp.clearing import answering
from scopes.server.mcp.hints import _PARAMETERS, _TOOLS, agent_hint
from scopes.server.mcp.positions import position
from tests.server.mcp.hint_steps import PLAIN_TOOLS, WORD, Situation, follow
from tests.support.history import history
from tests.support.mcp_client import Agent
from tests.support.store import make_store

HERE = {"conversation": "conv-001/main"}
MESSAGE = {**HERE, "text": "x"}
FACT = {"conversation": "conv-001", "key": "Signals", "content": "it rains"}
DECISION = {"topic": "db", "decision": "SQLite"}
MERGE = {"conversation": "conv-001", "source": "try", "target": "main"}
MERGED = "ask the user to resolve its conflicts and continue it, or to abort it: scopes merge conv-001/"
SITUATIONS = [  # place in scopes/server/mcp, or "" for a hint of an operation; what is there; call; pattern of the hint; values
    ("access", "nothing", "conversation_list", {}, "conversation_record makes one", {"text": "x"}),
    ("access", "nothing", "conversation_show", HERE, "conversation_record makes one", {"text": "x"}),
    ("budget.check_budget", "", "conversation_list", {"max_tokens": 1}, "for example: 4000", {}),
    ("budget.fit", "long", "conversation_read", {"conversation": "long", "max_tokens": 100}, "raise max_tokens", {}),
    ("contexts.context_answer", "long", "conversation_continue", {"continuation_id": "long", "max_tokens": 100}, "raise max_tokens", {}),
    ("inboxes._note_large", "two", "inbox", {"acknowledge": True, "max_tokens": 1_000}, "raise max_tokens", {}),
    ("inboxes._none_fits", "large", "inbox", {"acknowledge": True, "max_tokens": 1_000}, "raise max_tokens", {}),
    ("inboxes._none_fits", "huge", "inbox", {"acknowledge": True}, "ask the user to take it out: scopes inbox codex --ack", {}),
    ("inboxes._require_agent", "", "message_send", {**MESSAGE, "to": ["ghost"]}, "ask the user to register it: scopes agents register ghost", {}),
    ("merges.abort_own", "merging", "conversation_merge", {"conversation": "conv-001", "target": "fix", "abort": True}, "give the conversation and the target of the merge; conversation_show has what is in progress", {}),
    ("merges.abort_own", "merging of gemini", "conversation_merge", {**MERGE, "abort": True}, rf"{MERGED}\S+ --continue \(or --abort\)", {}),
    ("merges.hinted_for_agent", "merging of gemini", "conversation_merge", MERGE, rf"{MERGED}\S+ --continue \(or --abort\)", {}),
    ("merges.hinted_for_agent", "merging", "conversation_merge", MERGE, r"take it back: conversation_merge\(.*, abort=true\), or ask the user .*", {}),
    ("pages._find", "", "conversation_read", {**HERE, "after": "fix"}, "after is the `next` of an answer about the same branch", {}),
    ("reading._find_project", "home", "conversation_list", {"here": True}, "leave out here", {}),
    ("reading._check_rows", "", "conversation_list", {"limit": 0}, "for example: 20", {}),
    ("writing.conversation_merge", "", "conversation_merge", {"conversation": "conv-001"}, "give the branch to merge: source=NAME", {"NAME": "fix"}),
    ("writing.inbox", "no agent", "inbox", {}, "ask the user to register it: scopes agents register codex", {}),
    ("writing._check_new", "", "conversation_record", {"text": "x", "key": "k"}, "record the first message without a key", {}),
    ("writing._check_new", "", "conversation_record", {**MESSAGE, "title": "t"}, "leave out title, or conversation", {}),
    ("writing._check_new", "", "conversation_record", {"text": "x", "title": " "}, "leave it out", {}),
    ("writing._check_new", "", "conversation_record", {**MESSAGE, "key": ""}, "leave it out", {}),
    ("writing._make_message", "", "conversation_record", {**MESSAGE, "data": DECISION}, "kinds: .*decision.*", {"kind": "decision"}),
    ("writing._make_message", "", "conversation_record", {**MESSAGE, "kind": "decision"}, r"for example: \{.*", {}),
    ("", "", "conversation_show", {"conversation": "conv-9"}, "list them: conversation_list", {}),
    ("", "", "conversation_show", {"conversation": "conv-001/nothing"}, "branches of conv-001: fix, main", {}),
    ("", "", "conversation_show", {"conversation": "conv-001/mian"}, r"did you mean main\?", {}),
    ("", "away", "message_send", {**MESSAGE, "to": ["codex"]}, "to let the message wait for them: queue", {}),
    ("", "", "message_send", {**MESSAGE, "to": []}, "to=NAME, to=@capability or to=all", {"NAME": "codex", "@capability": "@review"}),
    ("", "", "fact_propose", {**FACT, "sources": ["zzzz9"]}, "a source is .*", {}),
    ("writing._make_message", "", "conversation_record", {**MESSAGE, "text": " "}, "give a text", {"text": "x"}),
    ("", "", "message_send", {**MESSAGE, "text": "", "to": ["codex"]}, "give a text", {"text": "x"}),
    ("", "", "conversation_record", {**MESSAGE, "author": " "}, "for example: author=carol", {}),
    ("", "", "conversation_record", {**MESSAGE, "author": "a<b>"}, "a commit would store it as 'a b': use that", {}),
    ("", "", "conversation_branch", {**HERE, "name": "fix"}, "choose another name", {"name": "more"}),
    ("", "", "conversation_merge", {**MERGE, "source": "main"}, "name another branch with source or target", {"source": "fix", "target": "fix"}),
    ("", "", "conversation_continue", {"continuation_id": "conv-001", "task": " "}, "for example: task='.*'", {}),
    ("", "", "conversation_list", {"agent": "ghost"}, "agents: carol", {}),
    ("", "", "memory_add", {"text": "x", "topics": [""]}, "leave out topics", {}),
    ("", "", "fact_propose", {**FACT, "key": "Sgnals"}, r"did you mean Signals\?", {}),
    ("", "", "fact_propose", {**FACT, "key": "Nothing"}, "keys: .*Signals", {}),
    ("", "", "conversation_search", {"query": "first nonsense"}, "find them with any_word", {}),
]  # fmt: skip
SOURCES = Path(scopes.__path__[0])
BELOW = ("agents", "api", "code_links", "context", "conversation", "facts", "history", "index", "memory", "merge", "model",
         "search", "secrets", "store", "tokens", "server/mcp")  # fmt: skip
NO_TOOL = {"http"}  # its hints are read by the user who starts it


def prepare(store, scene):
    """Make what a situation needs in a store with a conversation of two branches; return the ids of messages by word."""
    if scene != "no agent":
        register(store, "codex")
    register(store, "gemini", capabilities=["review"])
    if scene == "home":
        os.chdir(os.environ["HOME"])  # which is no project
    if scene == "away":
        update(store, "codex", AgentChanges(available=False))
    if scene == "long":
        history(store, f"main: {'word' * 200}", conversation="long")
    for size in {"two": (1, 2_000), "large": (2_000,), "huge": (100_000,)}.get(scene, ()):
        send(StoreHandle(store).branch("conv-001"), plain_message("gemini", "word " * size), ["codex"])
    if scene.startswith("merging"):
        owner = Agent(store.path, scene.partition(" of ")[2] or "codex")
        owner.get("conversation_branch", conversation="conv-001", name="try")
        for where, value in (("conv-001/main", "SQLite"), ("conv-001/try", "Postgres")):
            data = {"topic": "db", "decision": value}
            owner.get("conversation_record", conversation=where, text=value, kind="decision", data=data)
        assert owner.get("conversation_merge", **MERGE)["resolution_required"]
    return {}


@pytest.fixture
def path(tmp_path, monkeypatch):
    """The path of a store that is not there; the current directory is no project."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "store"


@pytest.fixture
def store(path):
    made = make_store(path)
    history(made, "main: first third fourth", "fix@first: second")
    return made


def situation_of(agent, tool, arguments, message="", values=()):
    tools = {each.name: each.input_schema for each in agent.do(lambda client: client.list_tools()).tools}
    return Situation(agent, tools, tool, arguments, message, dict(values))


def ask(agent, tool, arguments):
    """Return the message and the hint of a refusal, or of the note of an answer that has one."""
    result = agent.call(tool, **arguments)
    if result.is_error:
        message, _, hint = result.content[0].text.partition("\n")
        return message, hint
    [note] = [each for each in result.structured_content["notes"] if "hint" in each]
    return note["text"], note["hint"]


@pytest.mark.every_case("each hint is of its own")
@pytest.mark.parametrize(("place", "scene", "tool", "arguments", "hint", "values"), SITUATIONS)
def test_what_a_hint_says_works(request, path, place, scene, tool, arguments, hint, values):
    ids = {} if scene == "nothing" else prepare(request.getfixturevalue("store"), scene)
    arguments = arguments | {name: ids[each] for name, each in arguments.items() if str(each) in ids}
    agent = Agent(path)
    message, found = ask(agent, tool, arguments)
    assert re.fullmatch(hint, found), found
    assert follow(situation_of(agent, tool, arguments, message, values), found) > 0


def test_a_branch_that_was_deleted_meanwhile_is_looked_for_in_the_list(store):
    with answering(without_store()), pytest.raises(NotFound) as caught:
        position(store, ConversationId("conv-001"), BranchName("gone"))
    with answering(without_store()):
        message, _, hint = describe_error(caught.value).partition("\n")
    assert hint == "list the conversations: conversation_list"
    assert follow(situation_of(Agent(store.path), "conversation_show", HERE, message), hint) == 1


def test_a_server_whose_directory_was_deleted_works_when_it_is_started_again(store, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    agent, wanted = Agent(store.path), {"continuation_id": "conv-001", "include_files": True}
    message, hint = ask(agent, "conversation_continue", wanted)

    def restart():
        os.chdir(tmp_path)
        Agent(store.path).get("conversation_continue", **wanted)

    assert hint == "ask the user to start the server again"
    assert follow(situation_of(agent, "conversation_continue", wanted, message, {"restart": restart}), hint) == 1


def literal(node):
    """Return the text of a literal, with X1 for what is put into it; None for another expression."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(str(each.value) if isinstance(each, ast.Constant) else "X1" for each in node.values)
    return None


def walk_hints(tree, function=""):
    """Yield the function and the expression of each hint in a module."""
    for node in ast.iter_child_nodes(tree):
        name = node.name if isinstance(node, ast.FunctionDef) else function
        if isinstance(node, ast.Call):
            yield from ((name, each.value) for each in node.keywords if each.arg == "hint")
            if getattr(node.func, "id", "") == "Note" and len(node.args) > 1:
                yield name, node.args[1]
        if isinstance(node, ast.Assign) and any(
            "hint" in (getattr(t, "id", ""), getattr(t, "attr", "")) for t in node.targets
        ):
            yield name, node.value
        yield from walk_hints(node, name)


def hints_in(folder):
    for file in sorted((SOURCES / folder).rglob("*.py")):
        text = file.read_text()
        if "hint" in text or "Note(" in text:
            yield from ((file.stem, *found) for found in walk_hints(ast.parse(text)))


def test_every_place_that_makes_a_hint_is_in_the_table():
    """A literal is matched by the pattern of a row of its function; of a call, its function has a row."""
    followed = {(place, agent_hint(hint) or hint) for place, _, _, _, hint, _ in SITUATIONS}
    followed |= {("positions.position", "list the conversations: conversation_list")}
    followed |= {("positions.current_directory", "ask the user to start the server again")}
    missing = []
    for module, function, node in hints_in("server/mcp"):
        text = literal(node)
        is_made = isinstance(node, ast.Call) and getattr(node.func, "id", "") != "agent_hint"
        if module in NO_TOOL or (text is None and not is_made):
            continue  # a name or a field: what is in it is made elsewhere
        place = f"{module}.{function}".rstrip(".")
        pattern = ".+" if text is None else re.escape(agent_hint(text) or text).replace("X1", ".+")
        if not any(place == name and re.fullmatch(pattern, hint) for name, hint in followed):
            missing.append((place, text))
    assert missing == []


def test_every_hint_of_an_operation_names_tools_and_arguments_that_exist(path):
    """Also of those that no situation of the table has."""
    tools = situation_of(Agent(path), "", {}).tools
    arguments = {name for schema in tools.values() for name in schema["properties"]}
    texts = {text for folder in BELOW for _, _, node in hints_in(folder) if (text := literal(node)) is not None}
    wrong = []
    for text in sorted(texts):
        hint = agent_hint(text) or ""
        named = [
            tool
            for tool in tools
            if re.search(rf"\b{tool}\b", hint) and (tool not in PLAIN_TOOLS or f"{tool}(" in hint)
        ]
        known = {name for tool in named for name in tools[tool]["properties"]} or arguments
        given = set(re.findall(r"(?<![\w.])([a-z_]+)=", hint))
        if not given <= known or not set(WORD.findall(hint)) <= tools.keys() | arguments:
            wrong.append((text, hint))
    assert wrong == []
    assert len(texts) > 100


def test_what_stands_for_a_command_or_an_option_exists(path):
    tools = situation_of(Agent(path), "", {}).tools
    assert set(_TOOLS.values()) <= tools.keys()
    assert set(_PARAMETERS.values()) <= {name for schema in tools.values() for name in schema["properties"]}
