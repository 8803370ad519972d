"""No secret leaves by a door: refused by default, replaced with --redact, and let pass once with --allow-secrets."""

from __future__ import annotations

import json
import re

import pytest

from scopes import clock
from scopes.secrets.identity import KEY_FILE
from tests.cli.conversation import Conversation
from tests.support.planted import FORMS, KINDS, MIXED, encoded, in_json
from tests.support.random_ids import hashed_counter

TOKEN, KEY = KINDS[1][1], KINDS[10][1]
PLACEHOLDER = re.compile(r"\[redacted:([a-z-]+):([0-9a-f]{4})\]")
DOORS = [
    "export CONV", "export CONV --format json", "export CONV --format jsonl", "export CONV --format openai",
    "export CONV --all --format md", "export CONV --output FILE", "context CONV --max-tokens 5000",
    "context CONV --max-tokens 5000 --json", "context CONV --max-tokens 5000 --format messages",
    "context CONV --max-tokens 5000 --task deploy", "context CONV --max-tokens 5000 --explain",
    "context CONV --for-prompt", "context CONV --for-prompt --with-tools full", "context CONV --for-prompt --explain",
    "context CONV --for-prompt --json",
]  # fmt: skip


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    return Conversation(tmp_path)


@pytest.fixture
def planted(store):
    """A conversation with two secrets in one message, and a harmless message after it."""
    store.append("main", f"deploy with {TOKEN}\nand {KEY} please")
    store.append("main", "done")
    return store


def run(store, door, *more):
    words = [word.replace("CONV", store.id).replace("FILE", "out.txt") for word in door.split()]
    return store.run_main(*words, *more)


def written(done, tmp_path):
    file = tmp_path / "out.txt"
    return done.stdout + done.stderr + (file.read_text() if file.exists() else "")


@pytest.mark.parametrize("door", DOORS)
def test_a_door_refuses_and_names_message_rule_and_line(planted, tmp_path, door):
    done = run(planted, door)
    text = written(done, tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert TOKEN not in text
    assert KEY not in text
    assert re.search(r"message [a-z2-7]{8}, line 1: github-token \([0-9a-f]{8}\)", text)
    assert "--secrets redact" in text


@pytest.mark.parametrize("door", DOORS)
def test_a_door_redacts_if_asked_to(planted, tmp_path, door):
    done = run(planted, door, "--secrets", "redact")
    text = written(done, tmp_path)
    assert done.returncode == 0, done.stderr
    assert TOKEN not in text
    assert KEY not in text
    assert {rule for rule, _ in PLACEHOLDER.findall(text)} >= {"github-token"}


@pytest.mark.parametrize("door", DOORS)
def test_a_door_lets_secrets_pass_once(planted, tmp_path, door):
    done = run(planted, door, "--secrets", "allow")
    assert done.returncode == 0, done.stderr
    assert TOKEN in written(done, tmp_path)
    assert run(planted, door, "--force" if "FILE" in door else "--quiet").returncode == 1


def test_the_memory_is_a_door(store):
    store.run("memory", "add", f"use {TOKEN} to deploy")
    assert TOKEN not in store.run("memory", "context", "--secrets", "redact")
    assert store.run_refused("memory", "context", code=1)["kind"] == "secrets"
    assert TOKEN in store.run("memory", "context", "--secrets", "allow")
    store.append("main", "hello")
    assert store.run_main("context", store.id, "--for-prompt", "--memory", "project").returncode == 1
    assert TOKEN not in store.run("context", store.id, "--for-prompt", "--memory", "project", "--secrets", "redact")


def test_the_report_of_a_check_has_no_secret(planted, tmp_path):
    for form in ("json", "sarif", "junit", "markdown", "gitlab"):
        planted.run_main("check", planted.id, "--report", f"{form}=report.{form}")
        text = (tmp_path / f"report.{form}").read_text()
        assert "secrets/in-transcript" in text
        assert TOKEN[4:20] not in text
        assert KEY[8:24] not in text


def test_the_error_has_a_kind_for_programs(planted):
    assert planted.run_refused("export", planted.id, "--format", "json", code=1)["kind"] == "secrets"


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_a_secret_leaves_by_an_export(store, form):
    hidden = FORMS[form](TOKEN)
    store.append("main", hidden)
    for name in ("json", "md"):
        assert store.run_main("export", store.id, "--format", name).returncode == 1
        done = store.run_main("export", store.id, "--format", name, "--secrets", "redact")
        assert done.returncode == 0, done.stderr
        assert TOKEN not in done.stdout
        assert encoded(f"user:{TOKEN}") not in done.stdout
        assert PLACEHOLDER.search(done.stdout)


def test_redacted_json_stays_json_and_equal_secrets_have_equal_placeholders(store):
    store.append("main", in_json(f'a "quoted" \\ path {TOKEN}', 2))
    store.append("main", f"again {TOKEN}, and {KINDS[2][1]}")
    export = json.loads(store.run("export", store.id, "--format", "json", "--secrets", "redact"))
    first, second = (message["parts"][0]["text"] for message in export["messages"])
    inner = json.loads(json.loads(first)["output"])["output"]
    (mark,) = PLACEHOLDER.findall(inner)
    assert inner == f'a "quoted" \\ path [redacted:{mark[0]}:{mark[1]}]'
    marks = PLACEHOLDER.findall(second)
    assert marks[0] == mark
    assert marks[1] != mark


def test_titles_and_names_of_branches_are_looked_at(store):
    store.append("main", "hello")
    store.run("rename", store.id, "--title", f"about {TOKEN}")
    error = store.run_refused("export", store.id, code=1)
    assert "the title or a name of conv-001" in error["message"]
    assert TOKEN not in store.run("export", store.id, "--secrets", "redact")


def test_an_amended_text_is_redacted_and_still_the_amended_one(store):
    """The hash that proves an amendment is that of the stored text."""
    message = store.append("main", "use the old key")
    store.run("amend", store.id, message, f"use {TOKEN}")
    for form in ("openai", "md"):
        text = store.run("export", store.id, "--format", form, "--secrets", "redact")
        assert TOKEN not in text
        assert PLACEHOLDER.search(text)
    assert "old key" not in store.run("export", store.id, "--format", "openai", "--secrets", "redact")


def test_the_key_of_the_ids_is_in_the_store_and_in_no_object(planted, tmp_path):
    planted.run_main("export", planted.id)
    key = tmp_path / "store.git" / KEY_FILE
    assert (len(key.read_bytes()), key.stat().st_mode & 0o777) == (32, 0o600)
    assert planted.run("verify", "--json")["kind"]
    files = [path for path in (tmp_path / "store.git").rglob("*") if path.is_file() and path != key]
    assert not any(key.read_bytes() in path.read_bytes() for path in files)


def test_show_log_and_cat_are_no_doors(planted):
    assert TOKEN in planted.run("log", planted.id)
    assert TOKEN in planted.run("cat", f"{planted.id}/main~1")


def test_a_project_file_with_a_secret_is_left_out_and_named(store, tmp_path):
    """R6: names are not enough."""
    (tmp_path / "notes.txt").write_text(f"first\ntoken {TOKEN}\n")
    store.append("main", "look at the notes", "--data", '{"files": [{"op": "read", "path": "notes.txt"}]}')
    context = ["context", store.id, "--max-tokens", "5000", "--mode", "files", "--json"]
    (skipped,) = store.run(*context)["files_skipped"]
    assert skipped == {"path": "notes.txt", "reason": "has a possible secret: github-token, line 2"}
    redacted = store.run(*context, "--secrets", "redact")
    assert PLACEHOLDER.search(redacted["formatted_history"])
    assert TOKEN in store.run(*context, "--secrets", "allow")["formatted_history"]


def test_a_short_word_in_a_placeholder_does_not_look_like_a_secret(store):
    store.append("main", f"password={MIXED[:30]}")
    text = store.run("export", store.id, "--secrets", "redact")
    store.append("main", text)
    store.run("rewind", store.id, "-n", "2")
    store.append("main", text)
    assert store.run_main("export", store.id).returncode == 0


@pytest.mark.parametrize(
    "door",
    [
        "context CONV --max-tokens 5000",
        "context CONV --for-prompt",
        "context CONV --max-tokens 5000 --json",
        "export CONV",
    ],
)
def test_the_name_of_a_field_of_a_typed_message_is_looked_at(store, door):
    """Where its line is shown, an underscore of a name is a blank: a key in it was not found."""
    store.append_typed("main", "priority", {"task": "a", "urgency": "high", TOKEN: {"x": 1}}, "carol")
    done = run(store, door)
    assert (done.returncode, done.stdout) == (1, "")
    assert TOKEN[4:] not in run(store, door, "--secrets", "redact").stdout


@pytest.mark.parametrize("door", [door for door in DOORS if "--task" not in door])
def test_names_of_authors_and_branches_are_replaced(store, tmp_path, door):
    store.append("main", "hello", author=TOKEN)
    store.run("switch", "-c", store.id, KEY)
    store.append(KEY, "on the branch", author=TOKEN)
    where = door.replace("CONV", f"CONV/{KEY}")
    assert run(store, where).returncode == 1
    done = run(store, where, "--secrets", "redact")
    text = written(done, tmp_path).replace("\\", "")
    assert done.returncode == 0, done.stderr
    assert TOKEN[4:] not in text
    assert KEY[8:] not in text
