"""Which session of an agent a branch records, and whether the agent still has it."""

from __future__ import annotations

import os

import pytest

from scopes.errors import Corrupt
from scopes.handover.resume import PROGRAMS, AgentSession, find_session, is_kept
from scopes.history import sources
from scopes.history.handles import StoreHandle
from scopes.history.messages import read_root_of
from scopes.history.names import find_root_commit
from scopes.store.objects import read_commit
from tests.handover.sessions import Home
from tests.importers.formats.claude_code.logs import SESSION
from tests.support.history import history, say

CLAUDE = PROGRAMS["claude-code"]


@pytest.fixture
def home(tmp_path, repository):
    return Home(tmp_path, repository)


def session_of(home, conversation="conv-001", branch="main"):
    repository = home.repository
    root_commit = find_root_commit(repository, conversation)
    found = StoreHandle(repository).branch(conversation, branch)
    root = read_root_of(repository, read_commit(repository, root_commit), found.tip)
    return find_session(found, root, root_commit)


def test_an_imported_session_has_its_file_and_where_its_record_ends(home):
    session = session_of(home)
    assert (session.agent, session.id, session.file) == (CLAUDE, SESSION, home.file)
    assert session.tip == StoreHandle(home.repository).branch("conv-001").tip


def test_messages_of_others_leave_the_end_of_the_record_where_it_was(home):
    before = session_of(home).tip
    say(home.repository, "conv-001", "use integers", author="carol")
    assert session_of(home).tip == before != StoreHandle(home.repository).branch("conv-001").tip


def test_a_conversation_that_was_not_imported_has_no_session(home, repository):
    assert session_of(home, history(repository, "main: a b").conversation) is None


def test_a_record_of_a_source_that_is_damaged_is_passed_over(home, monkeypatch):
    def refuse(repository, commit):
        raise Corrupt("damaged")

    monkeypatch.setattr(sources, "read_source_record", refuse)
    assert session_of(home) is None


@pytest.mark.parametrize(
    ("agent", "file"),
    [
        ("gemini", ".gemini/tmp/shop/chats/session-x.jsonl"),
        ("qwen", ".qwen/projects/shop/chats/x.jsonl"),
        ("pi", ".pi/agent/sessions/--shop--/1_x.jsonl"),
    ],
)
def test_every_agent_whose_files_are_read_is_asked_for_its_session(agent, file, tmp_path):
    session = AgentSession(PROGRAMS[agent], "x", f"{tmp_path}/{file}", None)
    assert not is_kept(session, {}, str(tmp_path))
    os.makedirs(os.path.dirname(session.file))
    open(session.file, "w").close()
    assert is_kept(session, {}, str(tmp_path))


def test_a_session_is_kept_while_its_file_is_in_a_folder_of_the_agent(home, tmp_path):
    session = session_of(home)
    assert is_kept(session, {}, home.path)
    assert not is_kept(session, {"CLAUDE_CONFIG_DIR": str(tmp_path)}, home.path)
    os.rename(home.file, f"{tmp_path}/copy.jsonl")
    assert not is_kept(session, {}, home.path)
    assert not is_kept(session._replace(file=f"{tmp_path}/copy.jsonl"), {}, home.path)


@pytest.mark.parametrize("agent", ["opencode"])
def test_an_agent_that_cannot_be_asked_is_taken_to_have_its_session(agent):
    assert is_kept(AgentSession(PROGRAMS[agent], "x", "/nowhere/x.json", None), {}, "/nowhere")


def test_a_session_behind_the_proxy_has_no_file_and_is_kept():
    assert is_kept(AgentSession(CLAUDE, "x", None, None), {}, "/nowhere")
