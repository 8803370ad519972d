"""`why` on repositories that real agents built: ten lines are asked for, and ten right prompts are named.

    SCOPES_TEST_AGENTS=DIRECTORY python -m pytest -m realagents

Each agent does the work of `tests.support.shop_work` in a git repository. Its sessions are imported, or the hooks or
`scopes acp` record them; then the answers for lines of three files are compared.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from scopes.live.event_log import read_events
from tests.cli.running import PRODUCT, scopes
from tests.live.test_real_agent_hooks import run, texts, wait_for
from tests.support import agent_tools, shop_work
from tests.support.acp_client import Editor, prompt_params, proxy_command
from tests.support.agent_settings import (
    configure_codex,
    configure_gemini,
    configure_opencode,
    configure_pi,
    configure_qwen,
)
from tests.support.model_script import Script
from tests.support.real_agents import programs
from tests.support.shop_work import QUESTIONS, SESSIONS
from tests.support.store import list_conversations
from tests.support.stub_model import StubModel

__all__ = ["programs"]
pytestmark = [pytest.mark.realagents, pytest.mark.timeout(1800)]
PATCHING_MODEL = "gpt-5.5"  # Codex offers `apply_patch` only for the names of models that it knows


def configure_patching_codex(home, port):
    """Name a model whose tools include `apply_patch`, and run commands without asking, as `--yolo` does elsewhere."""
    found = configure_codex(home, port, PATCHING_MODEL)
    settings = home / ".codex" / "config.toml"
    settings.write_text(f'sandbox_mode = "danger-full-access"\napproval_policy = "never"\n{settings.read_text()}')
    return {**found, "INITIAL_AGENT_MODE": "agent-full-access"}


class Program(NamedTuple):
    """A program of an agent: its settings, its tools, how it begins a session, and how it goes on with the last one."""

    configure: Callable[[Path, int], dict[str, str]]
    tools: Any
    first: Sequence[str]
    again: Sequence[str]
    acp: Sequence[str] = ()


CODEX = ("--dangerously-bypass-hook-trust", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
GEMINI = ("gemini", "-m", "gemini-2.5-pro", "--yolo")
QWEN = ("qwen", "--auth-type", "openai", "--yolo")
PI = ("pi", "--provider", "stub", "--model", "stub-model")
PROGRAMS = {
    "codex": Program(
        configure_patching_codex,
        agent_tools.CODEX,
        ["codex", "exec", *CODEX],
        ["codex", "exec", "resume", *CODEX, "--last"],
        ["codex-acp"],
    ),
    "opencode": Program(
        configure_opencode, agent_tools.OPENCODE, ["opencode", "run"], ["opencode", "run", "-c"], ["opencode", "acp"]
    ),
    "gemini": Program(
        configure_gemini, agent_tools.GEMINI, [*GEMINI, "-p"], [*GEMINI, "-r", "latest", "-p"], [*GEMINI[:-1], "--acp"]
    ),
    "qwen": Program(configure_qwen, agent_tools.QWEN, [*QWEN, "-p"], [*QWEN, "-c", "-p"]),
    "pi": Program(configure_pi, agent_tools.PI, [*PI, "-p"], [*PI, "-c", "-p"]),
}


class Workshop:
    """A project in a git repository, an agent with a scripted model, and the store that is asked."""

    def __init__(self, name, programs, home, project, set_variable):
        self.name, self.program, self.programs = name, PROGRAMS[name], programs
        self.home, self.project = home, project
        project.mkdir()
        set_variable("PWD", str(project))  # opencode trusts it more than its current directory
        self.git("init", "-q", "-b", "main")
        for key, value in {"user.name": "Alice", "user.email": "alice@example.org"}.items():
            self.git("config", key, value)
        self.model = StubModel(Script(shop_work.script_work(self.program.tools, project)))
        for variable, value in self.program.configure(home, self.model.port).items():
            set_variable(variable, value)

    def git(self, *words, **variables):
        environment = {**os.environ, **variables}
        subprocess.run(["git", *words], cwd=self.project, env=environment, check=True, capture_output=True)

    def scopes(self, *words):
        return scopes(*words, table=PRODUCT, cwd=str(self.project))

    def type_prompts(self):
        """Run the agent once for each prompt."""
        for prompts in SESSIONS:
            for number, prompt in enumerate(prompts):
                words = self.program.again if number else self.program.first
                run(self.programs, [*words, prompt], self.project)

    def type_in_editor(self):
        """Run the agent behind `scopes acp` once for each session, with all its prompts."""
        for prompts in SESSIONS:
            command = [str(self.programs / self.program.acp[0]), *self.program.acp[1:]]
            editor = Editor(proxy_command(agent=command), cwd=self.project)
            try:
                editor.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}}, seconds=600)
                session = editor.ask("session/new", {"cwd": str(self.project), "mcpServers": []}, seconds=600)
                for prompt in prompts:
                    params = prompt_params(session["sessionId"], prompt)
                    assert editor.ask("session/prompt", params, seconds=600)["stopReason"] == "end_turn"
            finally:
                editor.close()

    def change_by_hand(self):
        """Write a line and commit it a minute later, as a person does without an agent."""
        date = f"@{int(time.time()) + 60} +0000"
        with (self.project / "rates.txt").open("a") as file:
            file.write(f"{shop_work.BY_HAND}\n")
        self.git("commit", "-q", "-m", "Add Croatia", "rates.txt", GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=date)

    def ask(self, file, text):
        """Return the exit code of `scopes why FILE:LINE`, and its answer for the line."""
        lines = (self.project / file).read_text().splitlines()
        (number,) = [number for number, line in enumerate(lines, 1) if text in line]
        done = self.scopes("why", f"{file}:{number}", "--json")
        assert done.stdout, done.stderr
        (answer,) = map(json.loads, done.stdout.splitlines())
        return done.returncode, answer

    def wait_for_record(self):
        """Wait until all prompts and answers are recorded: an agent may run its hooks after it has answered."""
        count = 2 * sum(map(len, SESSIONS))
        wait_for(lambda: len(texts(os.environ["SCOPES_STORE"])) == count, self.home)


@pytest.fixture
def workshop(programs, sealed_world, tmp_path, monkeypatch):
    """Return a function that starts the work of an agent."""
    started = []

    def start(name):
        started.append(Workshop(name, programs, sealed_world, tmp_path / "shop", monkeypatch.setenv))
        return started[-1]

    yield start
    for each in started:
        each.model.close()


def check_answers(workshop, *, is_continued=False):
    """Ask for the ten lines; all turns may be of one conversation."""
    asked = [(question, *workshop.ask(question.file, question.text)) for question in QUESTIONS]
    best = [(found["answers"] or [{}])[0] for _, _, found in asked]
    answers = [
        (answer.get("prompt", "").strip('"'), found["level"]) for answer, (_, _, found) in zip(best, asked, strict=True)
    ]
    assert answers == [(question.prompt, question.level) for question in QUESTIONS], asked
    counted = [[*SESSIONS[0], *SESSIONS[1]]] * 2 if is_continued else SESSIONS
    assert [answer["turn"] for answer in best] == [counted[q.session].index(q.prompt) + 1 for q in QUESTIONS]
    assert [code for _, code, _ in asked] == [int(question.level == "commit-only") for question in QUESTIONS]
    conversations = [
        {answer["conversation"] for answer, q in zip(best, QUESTIONS, strict=True) if q.session == n} for n in (0, 1)
    ]
    assert [len(each) for each in conversations] == [1, 1]
    assert (conversations[0] == conversations[1]) == is_continued


def check_line_by_hand(workshop):
    """Ask for a line that a person wrote and committed a minute after the last turn; no turn is named."""
    workshop.change_by_hand()
    code, found = workshop.ask("rates.txt", shop_work.BY_HAND)
    assert (code, found["level"], found["answers"]) == (1, "none", [])


def check_details(workshop):
    """Ask what a short prompt agreed to, which command wrote a file, and which commits a conversation made."""
    _, short = workshop.ask("test_shop.py", "def test_an_empty_basket")
    assert short["answers"][0]["agreed_to"] == shop_work.OFFER
    assert short["answers"][0]["longer_prompt"].strip('"') == shop_work.DISCOUNT
    assert short["subject"] == "Test the shop"
    _, generated = workshop.ask("rates.txt", "Austria takes")
    assert shop_work.RATES_COMMAND in generated["answers"][0]["command"]
    _, later = workshop.ask("shop.py", "share = customer.orders_last_year")
    assert later["subject"] == "Give a discount"
    assert later["answers"][0]["made_commit"] is True
    _, changing = workshop.ask("shop.py", "return round(sum(")
    assert "commit" not in changing


def import_sessions(workshop, *places):
    done = workshop.scopes("import", *[str(workshop.home / place) for place in places])
    assert done.returncode == 0, done.stderr


SESSION_FILES = {
    "codex": ".codex/sessions",
    "gemini": ".gemini/tmp",
    "qwen": ".qwen/projects",
    "pi": ".pi/agent/sessions",
}


def keep_gemini_sessions(home):
    """Turn off that Gemini CLI deletes session files when it starts.

    If a session was resumed in a later minute, 0.61.0 has made a second file for it. That holds no message, so it
    counts as damaged, and the next start deletes all files with the id of the session. Only hooks and `scopes acp` see
    all turns then.
    """
    path = home / ".gemini" / "settings.json"
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({**settings, "general": {"sessionRetention": {"enabled": False}}}))


def find_resumed_files(workshop):
    """Return what to import of an agent that has resumed its session behind `scopes acp`: opencode exports it."""
    if workshop.name == "codex":
        return SESSION_FILES["codex"]
    events = read_events(str(workshop.home / ".local/state/scopes")).events
    session = next(event.details["session"] for event in events if event.name == "session")
    exported = run(workshop.programs, ["opencode", "export", session], workshop.project).stdout
    (workshop.home / "exported.json").write_bytes(exported)
    return "exported.json"


@pytest.mark.parametrize("name", SESSION_FILES)
def test_ten_lines_of_a_real_run_name_ten_right_prompts_after_an_import(name, workshop):
    work = workshop(name)
    if name == "gemini":
        keep_gemini_sessions(work.home)
    work.type_prompts()
    import_sessions(work, SESSION_FILES[name])
    check_answers(work)
    check_details(work)
    check_line_by_hand(work)


@pytest.mark.parametrize("name", ["codex", "gemini", "opencode"])
def test_ten_lines_of_a_real_run_name_ten_right_prompts_when_hooks_record_it(name, workshop):
    work = workshop(name)
    assert work.scopes("setup", name, "--only", "hooks").returncode == 0
    work.type_prompts()
    work.wait_for_record()
    check_answers(work)
    check_details(work)
    check_line_by_hand(work)


@pytest.mark.parametrize("name", ["codex", "gemini", "opencode"])
def test_ten_lines_of_a_real_run_name_ten_right_prompts_behind_scopes_acp(name, workshop):
    work = workshop(name)
    work.type_in_editor()
    check_answers(work, is_continued=True)
    check_details(work)
    check_line_by_hand(work)
    if name != "gemini":  # which begins a session of its own, and one that nobody uses
        import_sessions(work, find_resumed_files(work))
        assert list_conversations(os.environ["SCOPES_STORE"]) == ["conv-001"]
