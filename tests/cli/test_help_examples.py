"""Every example in the help of every command runs, in a store that has the names that the examples use."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest

from scopes import clock
from scopes.cli.command_help import read_docs
from scopes.cli.table import TABLE
from tests.cli.contract import copy_world
from tests.cli.conversation import Conversation
from tests.support.code_sessions import Project
from tests.support.examples import sample
from tests.support.planted import MIXED
from tests.support.random_ids import hashed_counter

TRANSCRIPT = Path(__file__).parent.parent / "faults" / "transcript.jsonl"
MESSAGE_LIST = json.dumps([{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}])
MESSAGE_LINE = json.dumps({"author": "carol", "text": "hello"}) + "\n"
ASKING = """echo '{"questions": [{"key": "Seeds", "id": "drop-ie11", "text": "Drop it?"}]}'"""
INPUTS = {"git": "diff --git a/a.py b/a.py\n", "curl": MESSAGE_LIST, "echo": MESSAGE_LINE}
EXAMPLES = {
    path: read_docs(command).examples.splitlines() for path, command in TABLE.commands.items() if path != ("help",)
}
# What an example needs that the store has not yet; found by the beginning of its words.
STOPPED = (("merge", "conv-001", "--source", "fix", "--target", "main"),)
RESOLVED = (*STOPPED, ("conflicts", "resolve", "conv-001", "1", "--take", "source"))
REQUESTED = (("mr", "open", "conv-001", "--source", "try-1", "--title", "x"),)
OPENED = (("collaborate", "conv-001", "--type", "consensus", "--agents", "reviewer", "--task", "x"),)
BEFORE = {
    "scopes conflicts": STOPPED,
    "scopes merge --continue": RESOLVED,
    "scopes merge mr/3": REQUESTED,
    "scopes switch -": (("switch", "conv-001", "try-2"),),
    "scopes switch -c": (("branch", "-D", "conv-001", "try-1"),),
    "scopes rebase --continue": (
        ("rebase", "conv-001/fix", "--onto", "main"),
        ("conflicts", "resolve", "conv-001", "1", "--take", "source"),
    ),
    "scopes mr show": REQUESTED,
    "scopes mr close": REQUESTED,
    "scopes proposals apply": (("proposals", "accept", "p7q2", "--no-apply"),),
    "scopes proposals rollback": (("proposals", "accept", "p7q2"),),
    "scopes proposals feedback": (("proposals", "accept", "p7q2"),),
    "scopes redo": (("undo",),),
    "scopes agents register reviewer": (("agents", "remove", "reviewer"),),
    "scopes agents register analyst": (("agents", "remove", "analyst"),),
    "scopes collaborate show": OPENED,
    "scopes collaborate argue": OPENED,
    "scopes collaborate close": OPENED,
    "scopes facts run": (("facts", "accept", "conv-001", "budget"),),
    "scopes facts decide conv-001 drop-ie11": (
        ("facts", "accept", "conv-001", "budget"),
        ("facts", "run", "conv-001", "--agent", f"analyst={ASKING}"),
    ),
    "scopes facts propose conv-001 Seeds": (("facts", "accept", "conv-001", "budget"),),
    "scopes agents register carol": (("agents", "remove", "carol"),),
    "scopes abandon conv-001/try-sqlite --revive": (("abandon", "conv-001", "try-sqlite"),),
    "scopes config unset": (("config", "scopes.durability", "fast"),),
    "scopes rewind conv-001 --to": (("tag", "conv-001", "before-refactoring", "main~2"),),
    "scopes tag conv-001 good": (("tag", "conv-001", "good", "--delete"),),
    "scopes tag conv-001 good --delete": (),
    "scopes append conv-001 --from": (("delete-branch", "conv-001", "try-sqlite", "--force"),),
    "scopes branch try-sqlite": (("delete-branch", "conv-001", "try-sqlite", "--force"),),
    "scopes branch conv-001 try-sqlite": (("delete-branch", "conv-001", "try-sqlite", "--force"),),
    "scopes delete-branch conv-001 analysis/security-review": (("merge", "conv-001", "analysis/security-review"),),
    "scopes config get": (("config", "scopes.author", "carol"),),
    "scopes config scopes.author": (("config", "scopes.author", "carol"),),
    "scopes undo conv-001": (("tag", "conv-001", "x"),),
    "scopes secrets allow 3fa9 --remove": (("secrets", "allow", "3fa9"),),
}
# The exit code is the answer: the two sides differ, or nothing was found.
ANSWERS = {"diff": {1}, "range-diff": {1}, "check": {0, 1}, "search": {0, 1}, "merge": {0, 3}, "rebase": {0, 3},
           "cherry-pick": {0, 3}, "why": {0, 1}, "list": {0, 1}, "redact": {1},
           "purge": {0, 4}}  # fmt: skip
# What needs something that a test has not: a network, a session of an agent, commits of it (see test_commits.py), rank files of a tokenizer, another program, a compressor.
NOT_RUN = re.compile(
    r"acp .*-- |scopes watch(?! --once| --print)|tokens fetch|scopes mcp( --|$)|scopes resume|--hook|--strict-tokens|scopes\.summarizer=|\.zst"
    r"|--commit |agent-trace|--format git-ai|hooks install git"
    r"|scopes (--store \S+ )?(push|fetch|pull|clone|bundle)\b|remote (add|set-url|rename|remove)|show (origin|mr)"
)


def calls_in(example):
    """Return the words of the call of scopes in a line of a shell, and its standard input."""
    inner = re.search(r"\$\((scopes [^)]*)\)", example)
    lexer = shlex.shlex(inner[1] if inner else example, posix=True, punctuation_chars="|&<>")
    lexer.whitespace_split, lexer.commenters = True, "#"
    segments, given = [[]], ""
    for word in lexer:
        if word in {"|", "&&"}:
            given = INPUTS.get(segments[-1][0], given)
            segments.append([])
        else:
            segments[-1].append(word)
    (words,) = [segment[1:] for segment in segments if segment[0] == "scopes"]
    for sign in {"<", ">"} & set(words):
        at = words.index(sign)
        given = Path(words[at + 1]).read_text() if sign == "<" else given
        del words[at : at + 2]
    return [os.path.expanduser(word) for word in words], given


def make_store(directory):
    """Make a store with the conversations, branches, messages and tags that the examples name."""
    store = Conversation(directory)
    store.run("import", str(TRANSCRIPT), "--project", "all", "--json")
    for name in ("run-1", "run-2"):
        store.run("new", "--id", name)
        store.run("append", name, f"This is {name}.")
    store.imported = store.run("cat", "conv-002", "--json")["id"]
    store.run("new", "--id", "leaky")
    store.run("append", "leaky", f"sk_live_{MIXED[:24]}")
    store.secret = json.loads(store.run_main("secrets", "list", "--json").stdout)["secrets"][0]["id"]
    for name in ("reviewer", "tester", "carol"):
        store.run("agents", "register", name, "--capability", "review", "--json")
    store.fork("The login fails on Safari.")
    store.run("agents", "register", "analyst", "--depends-on", "Seeds")
    for fact_id, key in (("budget", "Seeds"), ("cache", "Strategies"), ("samesite", "Constraints")):
        store.run("facts", "propose", store.id, key, f"about the {fact_id}", "--data", json.dumps({"id": fact_id}))
    store.run("branch", store.id, "again")
    store.run("branch", store.id, "release")
    for number in range(5):
        store.append("fix", f"fix {number}")
        store.message = store.append(
            "main",
            f"step {number}",
            "--data",
            '{"files": [{"op": "edit", "path": "src/app.py"}, {"op": "edit", "path": "src/login.py"}]}',
        )
    store.append_on_both("decision", {"topic": "auth", "decision": "jwt"}, {"topic": "auth", "decision": "sessions"})
    store.append_typed("release", "decision", {"topic": "auth", "decision": "jwt"}, "alice")
    store.append_typed("again", "decision", {"topic": "auth", "decision": "sessions"}, "bob")
    store.decision = store.append_typed("main", "decision", {"topic": "db", "decision": "SQLite"}, "alice")
    store.append_typed("fix", "decision", {"topic": "data base", "decision": "files"}, "bob")
    store.proposal = store.run(
        "proposals", "create", f"{store.id}/main", "task/42", "owner=bob", "--as", "alice"
    ).strip()
    store.append("main", "It uses localStorage.", "--data", '{"work_item": "SHOP-12"}')
    for name, start in {
        "analysis/security-review": "main~1",
        "try-1": "main~1",
        "try-2": "main~1",
        "try-sqlite": "main~1",
    }.items():
        store.run("branch", store.id, name, "--from", start)
        store.append(name, f"A word on {name}.")
    store.candidates = [
        store.append("main", text)
        for text in ("We decided to use tabs. We agreed on pytest.", "We decided to use Postgres.")
    ]
    store.entry = store.run(
        "memory", "add", "rotate", "--agent", "planner", "--action", "a", "--action", "b", "--json"
    )["id"]
    store.run("tag", store.id, "good", f"{store.id}/main~3")
    return store


@pytest.fixture(scope="session")
def stores():
    """The store of the examples, once it was made."""
    return []


@pytest.fixture
def workspace(tmp_path, monkeypatch, sealed_world):
    """A directory and a home with the files that the examples name."""
    for name in ("work/shop", "work/site", "src/shop", ".codex/sessions", ".claude/projects/-home-carol-shop", "ci"):
        (sealed_world / name).mkdir(parents=True)
    shutil.copy(TRANSCRIPT, sealed_world / ".claude/projects/-home-carol-shop/7c1e.jsonl")
    shutil.copy(TRANSCRIPT, sealed_world / ".codex/sessions")
    directory = tmp_path / "work"
    for name in ("backup", "src", "ci"):
        (directory / name).mkdir(parents=True)
    (directory / "ci" / "scopes-check.toml").touch()
    (directory / "last.sarif").write_text('{"runs": []}')
    (directory / "run.jsonl").write_text(MESSAGE_LIST)
    (directory / "why.json").write_text('{"reasoning": "no server state"}')
    for name in ("reviewer.json", "card.json"):
        (directory / name).write_text('{"name": "cook"}')
    (directory / "messages.jsonl").write_text(MESSAGE_LINE * 2)
    shutil.copy(TRANSCRIPT, directory / "agent.jsonl")
    (directory / "tests" / "rules").mkdir(parents=True)
    (directory / "tests" / "rules" / "none.jsonl").touch()
    (directory / "tests" / "rules" / "none.expect.toml").write_text('[[expect]]\nrule = "run/missing"\n')
    for name in ("better.txt", "README.md", "screen.png"):
        (directory / name).write_text("some text\n")
    for name in ("check-state.py", "judge", "editor"):
        (directory / name).write_text("#!/bin/sh\n")
        (directory / name).chmod(0o755)
    (directory / "judge").write_text('#!/bin/sh\ntest "$SCOPES_MESSAGE" = ""\n')
    (directory / "check-state.py").write_text("#!/bin/sh\n! grep -q decisions/auth\n")
    (directory / "editor").write_text('#!/bin/sh\necho PostgreSQL > "$1"\n')
    project = Project(directory / "src")  # below the directory, which stays outside of repositories
    project.write("app.py", "".join(f"value_{number} = {number}\n" for number in range(80)))
    project.commit("Values")
    project.git("tag", "v1.2")
    monkeypatch.setenv("EDITOR", str(directory / "editor"))
    monkeypatch.chdir(directory)
    return directory


@pytest.fixture
def store_of_examples(stores, tmp_path, tmp_path_factory, monkeypatch, workspace):
    """Return a function that returns a new copy of the store."""
    if not stores:
        monkeypatch.setattr(clock, "random_bytes", hashed_counter())
        stores.append(make_store(tmp_path_factory.mktemp("examples")))

    def copy(number):
        monkeypatch.setattr(clock, "random_bytes", os.urandom)
        (tmp_path / str(number)).mkdir()
        return copy_world(stores[0], tmp_path / str(number))

    return copy


def with_names(store, path, words):
    """Replace the invented ids of an example by ids of the store."""
    names = {
        "p7q2": store.proposal,
        "k3x9.2": f"{store.entry}.2",
        "conv-042": store.id,
        "3f2a91c0": store.secret,
        "3fa9": store.secret,
        "try": "try-1",
        "try~1": "try-1~1",
        "conv-001/try": "conv-001/try-1",
        "mr/3": "mr/1",
        "@architect": "@review",
        "fq7x2m": store.message,
        "9ce2kd": store.decision,
        "conv-007": "run-1",
        "conv-008": "run-2",
        "3f2a9c1e": store.candidates[1],
        "3f2a9c1e.1": f"{store.candidates[0]}.1",
        "3f2a9c1e.2": f"{store.candidates[0]}.2",
        "/srv/agents/store.git": f"{store.store}2",
    }
    if "k3x9" in words:
        names["k3x9"] = id_for(store, path, words)
    if path[0] == "mr":
        names["3"] = "1"
    if "cookies" in words and path[0] == "conflicts":
        names["cookies"] = store.list_conflicts()[0]["id"]
    return [names.get(word, word) for word in words]


def id_for(store, path, words):
    """Return the id of what a command is about: a memory entry, an operation or a message."""
    if path[0] == "memory":
        return store.entry
    if path[-1] == "undo" or "operations" in path:
        return store.run("operations", "-a", "--json")["operations"][0]["id"]
    return store.decision if "--data" in words else store.imported if "--original" in words else store.message


def test_an_example_is_read_as_a_shell_reads_it():
    assert calls_in("id=$(scopes new)") == (["new"], "")
    assert calls_in("git diff | scopes append conv-001 --as reviewer")[1].startswith("diff --git")
    assert calls_in("scopes show --format mermaid > branches.mmd") == (["show", "--format", "mermaid"], "")
    assert calls_in('eval "$(scopes completion bash)"        # in ~/.bashrc') == (["completion", "bash"], "")
    assert calls_in("scopes bisect run conv-001 -- sh -c '! grep -q x'")[0][-1] == "! grep -q x"


@pytest.mark.parametrize("path", EXAMPLES, ids=" ".join)
def test_every_example_of_the_help_runs(path, store_of_examples):
    assert EXAMPLES[path]
    lines = [line.strip() for line in EXAMPLES[path] if not NOT_RUN.search(line)]
    for number, example in enumerate(sample(lines, 2)):
        store = store_of_examples(number)
        beginning = max((key for key in BEFORE if example.startswith(key)), key=len, default=None)
        for words in () if beginning is None else BEFORE[beginning]:
            done = store.run_main(*with_names(store, path, words))
            assert done.returncode in {0, 3}, (words, done.stderr)
        words, given = calls_in(example)
        words = with_names(store, path, words)
        # An editor and a pipe need streams with file descriptors.
        run = store.run_process if given or "--edit" in words else store.run_main
        done = run("--yes", *words, **({"input": given, "stdin": None} if given else {}))
        expected = {1} if "--diff" in words else ANSWERS.get(path[-1], {0})
        assert done.returncode in expected, (example, done.stdout, done.stderr)
