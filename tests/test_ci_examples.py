"""The CI examples of the README and of the manual page are real: their policies load, their jobs parse and run."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

from scopes.check.policy import parse_policy
from scopes.check.rules.registry import PARAMETERS
from scopes.cli.command_help import read_manual
from tests.cli.conversation import Conversation

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
MANUAL = read_manual(("check",))
TRANSCRIPT = ROOT / "tests" / "faults" / "transcript.jsonl"
RECORDS = (
    {"type": "thread.started", "thread_id": "0199a1b2-0000-7000-8000-000000000000"},
    {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "Done."}},
    {"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}},
)


def list_blocks():
    """Return the fenced blocks of the README and the indented ones of the manual page, without their indentation."""
    fenced = re.findall(r"```(?:toml|yaml)\n(.*?)```", README, re.DOTALL)
    indented = re.findall(r"(?m)(?:^  .*\n(?:\n(?=  ))?)+", MANUAL)
    return fenced + [textwrap.dedent(block) for block in indented]


POLICIES = [block for block in list_blocks() if re.match(r"fail_on|\[", block)]
JOBS = [block for block in list_blocks() if re.match(r"(?:on|agent|repos|name):", block)]
COMMANDS = [
    command
    for block in list_blocks()
    if block not in POLICIES
    for command in re.findall(r"scopes check (?:agent|~)[^'\n]*", block)
]


def test_the_pages_have_examples():
    assert (len(POLICIES), len(JOBS), len(COMMANDS)) == (4, 5, 7)


@pytest.mark.parametrize("text", POLICIES)
def test_a_policy_of_the_pages_loads(text):
    assert parse_policy(text, "scopes-check.toml", PARAMETERS).path


def test_every_form_and_event_of_the_manual_page_loads():
    lines = re.findall(r"(?m)^  (?! )(.+?)  +\S", MANUAL)
    events = [line for line in lines if re.match(r"(?:run|edit|read|tool|fetch|text|agent)\(|test$", line)]
    forms = [line for line in lines if re.match(r"(?:never|some|A needs|last|at most) ", line)]
    assert (len(events), len(forms)) == (8, 8)
    for form in forms:
        for event in events:
            chosen = event.replace("), ", ") | ")  # two examples in one line
            words = [chosen if word in {"A", "B"} else word.replace("N", "3") for word in form.split(" ")]
            parse_policy(f"[[rule]]\nid = 'x'\nexpect = '''{' '.join(words)}'''\n", "p.toml", {})


@pytest.mark.parametrize("text", JOBS)
def test_a_job_of_the_pages_is_yaml(text):
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load(text)


@pytest.mark.parametrize("text", JOBS)
def test_a_job_of_the_pages_is_indented_evenly_without_tabs(text):
    for line in text.splitlines():
        assert "\t" not in line
        assert (len(line) - len(line.lstrip())) % 2 == 0


def test_every_check_of_the_jobs_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sessions = Path.home() / ".codex" / "sessions"
    sessions.mkdir(parents=True)
    shutil.copy(TRANSCRIPT, sessions)
    (tmp_path / "agent.jsonl").write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    for words in (["init", "-q"], ["commit", "-qm", "base", "--allow-empty"]):
        subprocess.run(["git", "-c", "user.name=c", "-c", "user.email=c@x", *words], check=True)
    subprocess.run(["git", "update-ref", "refs/remotes/origin/main", "HEAD"], check=True)
    store = Conversation(tmp_path)
    for command in COMMANDS:
        words = [str(Path(word).expanduser()) if word.startswith("~") else word for word in shlex.split(command)[1:]]
        done = store.run_main(*words)
        assert done.returncode in {0, 1}, (command, done.stderr)
    assert all((tmp_path / name).stat().st_size for name in ("s.sarif", "base.sarif", "q.json", "j.xml"))
