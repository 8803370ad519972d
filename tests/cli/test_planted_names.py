"""A token in the names of one conversation: no door shows it, in its output, its notes or its errors."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from scopes import clock
from scopes.cli.commands import resume as resume_command
from scopes.handover.resume import Resumption
from tests.cli.conversation import Conversation
from tests.cli.test_planted_secrets import DOORS, undone
from tests.support.planted import KINDS, leaked_parts
from tests.support.random_ids import hashed_counter

KIND, TOKEN = KINDS[1]
OTHER_DOORS = {
    "bundle": "push BUNDLE CONV",
    "bundle as an object": "push BUNDLE CONV --json",
    "preview of a push": "push CONV --dry-run",
    "preview of a push as an object": "push CONV --dry-run --json",
    "context for a task": "context CONV --max-tokens 1000000 --task deploy",
    "context with files": "context CONV --max-tokens 1000000 --mode files",
    "resume": "resume CONV --print",
    "resume as an object": "resume CONV --print --json",
    "resume in a directory that is gone": "resume CONV --print --in codex --directory MISSING",
    "resume as another agent": "resume CONV --print --in gemini",
}
WAYS = [
    *((door, "refuse") for door in (*DOORS, *OTHER_DOORS)),
    *((door, "redact") for door in (*DOORS, *OTHER_DOORS) if door in DOORS or "context" in door),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A conversation with a token in its directory, a file, a branch, the title and a tag; and a remote."""
    path = tmp_path_factory.mktemp("names")
    before = clock.random_bytes
    clock.random_bytes = hashed_counter()
    patch = pytest.MonkeyPatch()
    patch.setenv("HOME", str(path))  # a fixture of a module is made before a test has a home
    try:
        store = Conversation(path)
        directory = path / f"shop-{TOKEN}"
        directory.mkdir()
        store.directory = directory
        (directory / f"{TOKEN}.py").write_text("x = 1\n")
        lines = json.dumps({"author": "carol", "text": "deploy", "files": [{"path": f"{TOKEN}.py", "op": "edit"}]})
        store.run("append", store.id, "--jsonl", "-", given=lines + "\n")
        store.run("switch", "-c", store.id, f"fix/{TOKEN}")
        store.run("tag", store.id, TOKEN)
        store.run("rename", store.id, "--title", f"use {TOKEN}")
        store.run("remote", "add", "origin", str(path / "remote.git"))
    finally:
        clock.random_bytes = before
        patch.undo()
    return store


@pytest.mark.parametrize(("door", "how"), WAYS)
@pytest.mark.cases(len(DOORS) + len(OTHER_DOORS))
def test_no_door_shows_a_token_that_is_in_a_name(store, tmp_path, monkeypatch, door, how):
    monkeypatch.chdir(store.directory)
    words = {**DOORS, **OTHER_DOORS}[door].replace("CONV", store.id)
    places = {
        "FILE": str(tmp_path / "out"),
        "BUNDLE": str(tmp_path / "out.bundle"),
        "MISSING": str(store.directory / "missing"),
    }
    done = store.run_main(*(places.get(word, word) for word in words.split()), "--secrets", how)
    file = tmp_path / "out"
    text = done.stdout + done.stderr + (file.read_bytes().decode("latin-1") if file.exists() else "")
    assert leaked_parts(KIND, TOKEN, undone(text)) == []


def test_what_resume_says_when_it_opens_a_new_session_shows_no_token(store, monkeypatch):
    """The line that is run has to name the directory and the branch; what is told about it has not."""
    shown = []
    output = SimpleNamespace(say=shown.append, note=lambda note: shown.append(f"{note.text} {note.hint}"))
    monkeypatch.setattr(resume_command, "find_program", lambda *_: "/usr/bin/codex")
    monkeypatch.setattr(resume_command.os, "chdir", lambda _: None)
    monkeypatch.setattr(resume_command.os, "execve", lambda *_: shown.append("started") or 0)
    found = Resumption(
        conversation=store.id, branch=f"fix/{TOKEN}", agent="codex", session="new", session_id=None, reason="--session new",
        directory=str(store.directory), command=("codex", "prompt"), shell="",
    )  # fmt: skip
    invocation = SimpleNamespace(output=lambda: output, environ={}, stdout=SimpleNamespace(flush=lambda: None))
    resume_command._start(invocation, found)
    assert shown[-1] == "started"
    assert any(each.startswith(f"opening {store.id}/fix/[redacted:") for each in shown)
    assert leaked_parts(KIND, TOKEN, "\n".join(shown)) == []
