"""Real agents go on with a conversation that began in Claude Code: each sees the old messages, and what it adds joins.

SCOPES_TEST_AGENTS=DIRECTORY python -m pytest -m realagents tests/handover
"""

from __future__ import annotations

import json
import os

import pytest

from tests.cli.running import PRODUCT, scopes
from tests.importers.formats.claude_code.logs import Log, call, text
from tests.live.test_real_agent_hooks import run
from tests.support.agent_settings import (
    configure_codex,
    configure_gemini,
    configure_llm,
    configure_opencode,
    configure_pi,
    configure_qwen,
)
from tests.support.real_agents import llm_programs, model, programs
from tests.support.stub_model import TEXT

__all__ = ["llm_programs", "model", "programs"]
pytestmark = [pytest.mark.realagents, pytest.mark.timeout(1800)]
OLD = ["hide the prices of the shop", "I will look. ", "PRICES = [1, 2]", "done, in prices.py"]
GEMINI = ("gemini", "-m", "gemini-2.5-pro", "--yolo")
STUB = ("--provider", "stub", "--model", "stub-model")
AGENTS = {
    "codex": (configure_codex, lambda session: ["codex", "exec", "--skip-git-repo-check", "resume", session]),
    "gemini": (configure_gemini, lambda session: [*GEMINI, "--resume", session, "-p"]),
    "llm": (configure_llm, lambda session: ["llm", "--cid", session]),
    "opencode": (configure_opencode, lambda session: ["opencode", "run", "-s", session]),
    "pi": (configure_pi, lambda session: ["pi", *STUB, "--session", session, "-p"]),
    "qwen": (configure_qwen, lambda session: ["qwen", "--auth-type", "openai", "--yolo", "--resume", session, "-p"]),
}

BEFORE = {"llm": [["llm", "make the database"]]}


@pytest.fixture
def project(tmp_path, sealed_world):
    """A project with a session of Claude Code, which is imported as conv-001."""
    folder = tmp_path / "shop"
    folder.mkdir()
    log = Log()
    log.user(OLD[0], cwd=str(folder))
    log.answer("m1", text(OLD[1]), call("toolu_01", "Bash", command="cat prices.py"), cwd=str(folder))
    log.result("toolu_01", OLD[2], cwd=str(folder))
    log.answer("m2", text(OLD[3]), cwd=str(folder))
    file = sealed_world / ".claude/projects/-shop/session.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(log.data())
    assert json_of("import", str(file))["conversations"][0]["messages"] == 4
    return folder


def documents_of(*words):
    done = scopes(*words, "--json", table=PRODUCT)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def json_of(*words):
    (document,) = documents_of(*words)
    return document


def texts_of(where):
    return [
        (part.get("text") or part.get("output") or part["name"]).strip('"')  # OpenCode quotes a prompt
        for message in documents_of("log", where, "--reverse")
        if message["message_kind"] in {"prompt", "answer", "tool-results"}
        for part in message["parts"]
    ]


@pytest.mark.every_case("each is another program")
@pytest.mark.parametrize("name", AGENTS)
def test_a_real_agent_goes_on_with_a_conversation_of_another(
    name, programs, model, project, sealed_world, monkeypatch, request
):
    programs = request.getfixturevalue("llm_programs") if name == "llm" else programs
    configure, resume = AGENTS[name]
    for variable, value in configure(sealed_world, model.port).items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("PWD", str(project))  # OpenCode believes it
    for words in BEFORE.get(name, ()):
        run(programs, words, project)
    written = json_of("resume", "conv-001", "--in", name)
    run(programs, [*resume(written["session_id"]), "and the tests?"], project)
    asked = next(body for _, body in model.requests if "and the tests?" in body)
    assert [old for old in OLD if old.strip() not in asked] == []
    assert "toolu_01" in asked
    imported = json_of("import")
    assert "conv-001" in [found["id"] for found in imported["conversations"]]
    assert len(imported["conversations"]) == 1 + len(BEFORE.get(name, ()))
    before, after = texts_of("conv-001"), texts_of(f"conv-001/{written['new_branch']}")
    assert after == [*before, "and the tests?", TEXT]
    assert {found["new_messages"] for found in json_of("import")["conversations"]} == {0}
