"""Programs that scopes runs read no secrets: of agents, of facts, of summaries, of bisect; nor do agents that it starts."""

from __future__ import annotations

import json
import sys

import pytest

from scopes import clock
from scopes.cli.table import TABLE
from tests.cli.conversation import Conversation
from tests.cli.test_secret_doors import DOORS
from tests.support.planted import FORMS, KINDS, leaked_parts
from tests.support.random_ids import hashed_counter

TOKEN = KINDS[1][1]
KEEP = f'{sys.executable} -c \'import sys; open("read.txt", "a").write(sys.stdin.read() + chr(10))\''

# How commands of the table let content out of the store. Options of the user: they refuse, unless told otherwise.
GATED = {"context", "export", "memory", "push"}
# They replace: a program or an agent reads it.
REPLACING = {"acp", "agents", "bisect", "check", "facts", "inbox", "mcp", "resume", "send", "summarize"}
# They print for the user, or write into the store, into its directories or into the configuration of programs.
NONE = {
    "amend", "append", "branch", "cat", "changes", "cherry-pick", "clone", "collaborate", "completion", "config",
    "conflicts", "decisions", "delete", "diff", "doctor", "fetch", "gc", "help", "import", "init", "list", "log",
    "merge", "mr", "new", "operations", "proposals", "pull", "purge", "rebase", "redact", "redo", "remote", "rename",
    "retract", "rewind", "search", "secrets", "setup", "show", "switch", "tag", "tokens", "undo", "usage", "verify",
    "why",
}  # fmt: skip


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    return Conversation(tmp_path)


@pytest.fixture
def planted(store):
    """A conversation with every kind, each in another form, and a word before and after."""
    for number, (_, secret) in enumerate(KINDS[:12]):
        form = list(FORMS.values())[number % len(FORMS)]
        store.append("main", f"Deploy number {number} with this value. {form(secret)}")
    return store


def read_by_program(tmp_path):
    return (tmp_path / "read.txt").read_text()


def has_none(text):
    return [kind for kind, secret in KINDS if leaked_parts(kind, secret, text)] == []


def test_every_command_is_one_of_these():
    """A new command is decided here, and in the table of doors in CONTRIBUTING.md."""
    names = {path[0] for path in TABLE.commands}
    assert names == GATED | REPLACING | NONE
    assert len(names) == len(GATED) + len(REPLACING) + len(NONE)
    assert {door.split()[0] for door in DOORS} <= GATED


@pytest.mark.parametrize("given", ["message", "context", "state"])
def test_the_command_of_bisect_reads_no_secret(planted, tmp_path, given):
    data = {"topic": "deploy", "decision": f"with {TOKEN}"}
    planted.append_typed("main", "decision", data, "carol")
    command = ["sh", "-c", "! tee -a read.txt | grep -q redacted"]
    done = planted.run_main("bisect", planted.id, "--input", given, "--", *command)
    assert done.returncode == 0, done.stderr
    text = read_by_program(tmp_path)
    assert has_none(text)
    assert "[redacted:" in text


def test_the_message_for_bisect_stays_json(planted, tmp_path):
    command = ["sh", "-c", "! tee -a read.txt | grep -q redacted"]
    planted.run_main("bisect", planted.id, "--input", "message", "--", *command)
    for line in read_by_program(tmp_path).splitlines():
        assert json.loads(line)["author"]["name"] == "carol"


@pytest.mark.parametrize("words", [["summarize"], ["summarize", "--compact"]])
def test_the_summarizer_reads_no_secret(planted, tmp_path, words):
    done = planted.run_main("-c", f"scopes.summarizer={KEEP}; echo short", *words, planted.id)
    assert done.returncode == 0, done.stderr
    text = read_by_program(tmp_path)
    assert has_none(text)
    assert "Deploy number" in text
    assert "[redacted:" in text


def test_the_summarizer_of_the_memory_reads_no_secret(planted, tmp_path):
    done = planted.run_main("-c", f"scopes.summarizer={KEEP}; echo short", "memory", "update", "--now")
    assert done.returncode == 0, done.stderr
    assert has_none(read_by_program(tmp_path))


@pytest.mark.parametrize("form", sorted(FORMS))
def test_the_program_of_an_agent_gets_messages_without_secrets(store, tmp_path, form):
    store.run("agents", "register", "ann")
    setting = f"scopes.agent.ann.delivery={KEEP}"
    for _, secret in KINDS[::5]:
        done = store.run_main("-c", setting, "send", store.id, "--to", "ann", f"use it {FORMS[form](secret)}")
        assert done.returncode == 0, done.stderr
    received = [json.loads(line) for line in read_by_program(tmp_path).splitlines() if line]
    assert [each["from"] for each in received] == [received[0]["from"]] * len(KINDS[::5])
    assert all("[redacted:" in each["text"] for each in received)
    assert has_none(json.dumps(received, ensure_ascii=False))
    assert has_none("\n".join(each["text"] for each in received))


def test_an_allowed_secret_is_delivered(store, tmp_path):
    """What an agent needs can be allowed, by its id."""
    store.append("main", f"use {TOKEN}")
    (row,) = json.loads(store.run_main("secrets", "list", "--json").stdout)["secrets"]
    store.run("secrets", "allow", row["id"])
    store.run("agents", "register", "ann")
    store.run_main("-c", f"scopes.agent.ann.delivery={KEEP}", "send", store.id, "--to", "ann", f"use {TOKEN}")
    assert TOKEN in read_by_program(tmp_path)


@pytest.mark.parametrize("form", sorted(FORMS))
def test_the_programs_of_facts_read_no_secrets(store, tmp_path, form):
    store.append("main", "hello")
    store.run("agents", "register", "analyst", "--depends-on", "Seeds")
    for number, (_, secret) in enumerate(KINDS[::5]):
        fact = f"the {number}. value is {FORMS[form](secret)}".replace("\0", "\\x00")
        store.run("facts", "propose", store.id, "Seeds", fact, "--data", f'{{"id": "fact-{number}"}}')
        store.run("facts", "accept", store.id, f"fact-{number}")
    done = store.run_main("-c", f"scopes.agent.analyst.command={KEEP}", "facts", "run", store.id)
    assert done.returncode == 0, done.stderr
    document = json.loads(read_by_program(tmp_path).splitlines()[0])
    assert len(document["facts"]) == len(KINDS[::5])
    assert has_none("\n".join(fact["content"] for fact in document["facts"]))


def test_an_agent_card_has_no_secret_and_says_that_one_was_replaced(store):
    store.run("agents", "register", "ann", "--description", f"deploys with {TOKEN}")
    done = store.run_main("agents", "show", "ann", "--card")
    assert has_none(done.stdout)
    assert "[redacted:github-token:" in json.loads(done.stdout)["description"]
    assert "1 possible secret was replaced" in done.stderr


def test_an_agent_card_without_a_secret_is_as_before(store):
    store.run("agents", "register", "ann", "--description", "deploys")
    done = store.run_main("agents", "show", "ann", "--card")
    assert json.loads(done.stdout)["description"] == "deploys"
    assert "secret" not in done.stderr


def test_a_session_for_another_agent_is_refused_or_redacted(planted, tmp_path):
    words = ("resume", planted.id, "--in", "codex", "--json", "--directory", str(tmp_path))
    assert planted.run_refused(*words[:-3], *words[-2:], code=1)["kind"] == "secrets"
    written = planted.run(*words, "--secrets", "redact")["file"]
    with open(written, encoding="utf-8") as file:
        text = file.read()
    assert has_none(text)
    assert "[redacted:" in text
