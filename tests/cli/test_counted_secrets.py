"""Import and append tell possible secrets once, in one line, and are never refused."""

from __future__ import annotations

import json
from functools import cache

import pytest

from scopes import clock
from scopes.secret_scan import prefilter
from tests.cli.conversation import Conversation
from tests.support.code_sessions import ClaudeSession, Project
from tests.support.planted import KINDS
from tests.support.random_ids import hashed_counter

TOKEN, KEY = KINDS[1][1], KINDS[10][1]
NOTE = "note: {}\nhint: see: scopes secrets list\n"


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    return Conversation(tmp_path)


@pytest.fixture
def with_re2():
    pytest.importorskip("re2")


def transcript(path, *prompts):
    """Write the prompts of one session of an OpenAI message list."""
    path.write_text(json.dumps([{"role": "user", "content": text} for text in prompts]))
    return str(path)


def test_an_append_names_the_rules_and_not_the_secrets(store):
    done = store.run_main("append", store.id, f"use {TOKEN} and {KEY}, again {KEY}")
    assert done.returncode == 0
    assert done.stderr == NOTE.format("2 possible secrets in the text: github-token, stripe-key")
    assert store.run_main("append", store.id, "harmless").stderr == ""


def test_many_lines_get_one_note(store, tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_text(
        "".join(json.dumps({"author": "carol", "text": text}) + "\n" for text in (TOKEN, "x", f"again {TOKEN}"))
    )
    done = store.run_main("append", store.id, "--jsonl", str(path))
    assert done.returncode == 0
    assert done.stderr.count("1 possible secret in the text: github-token") == 1


def test_what_is_allowed_gets_no_note(store):
    store.append("main", TOKEN)
    (row,) = json.loads(store.run_main("secrets", "list", "--json").stdout)["secrets"]
    store.run("secrets", "allow", row["id"])
    assert store.run_main("append", store.id, TOKEN).stderr == ""


@pytest.mark.usefixtures("with_re2")
def test_an_import_counts_the_different_secrets_of_all_conversations(store, tmp_path):
    paths = [
        transcript(tmp_path / "one.json", f"use {TOKEN}", f"again {TOKEN}", KEY),
        transcript(tmp_path / "two.json", "nothing"),
        transcript(tmp_path / "three.json", f"{TOKEN}!"),
    ]
    done = store.run_main("import", *paths)
    assert done.returncode == 0
    assert "3 possible secrets in 2 conversations\nhint: see: scopes secrets list\n" in done.stderr
    assert TOKEN not in done.stderr
    again = store.run_main("import", *paths)
    assert "possible secret" not in again.stderr


@pytest.mark.usefixtures("with_re2")
def test_of_a_session_that_has_grown_the_new_messages_count(store, tmp_path):
    session = ClaudeSession(Project(tmp_path / "shop")).prompt(f"use {TOKEN}").say("a").prompt("b").say("c")
    store.run_main("import", str(session.save(tmp_path)), "--project", "all")
    done = store.run_main("import", str(session.prompt("d").say(KEY).save(tmp_path)), "--project", "all")
    assert "1 possible secret in 1 conversation\n" in done.stderr


def test_the_setting_turns_both_off(store, tmp_path):
    store.run("config", "scopes.secrets.onImport", "false")
    assert store.run_main("append", store.id, TOKEN).stderr == ""
    assert "possible secret" not in store.run_main("import", transcript(tmp_path / "one.json", TOKEN)).stderr


def test_another_value_of_the_setting_is_refused(store):
    assert store.run_main("config", "scopes.secrets.onImport", "maybe").returncode == 2


@pytest.fixture
def without_re2(monkeypatch):
    monkeypatch.setattr(prefilter, "_by_re2", cache(lambda: None))


@pytest.mark.usefixtures("without_re2")
@pytest.mark.parametrize("size", [1_000, 900_000])
def test_without_re2_an_import_up_to_a_megabyte_is_scanned(store, tmp_path, size):
    path = transcript(tmp_path / "one.json", "first", "word " * (size // 5), f"use {TOKEN} {KEY}")
    done = store.run_main("import", path)
    assert done.returncode == 0
    assert "2 possible secrets in 1 conversation\nhint: see: scopes secrets list\n" in done.stderr
    assert "scanned" not in done.stderr


@pytest.mark.usefixtures("without_re2")
def test_without_re2_a_larger_import_says_once_that_not_all_was_scanned(store, tmp_path):
    """The beginning is, so a secret there is told."""
    long = "word " * 120_000
    paths = [transcript(tmp_path / f"{name}.json", f"{name} {TOKEN}", long, long, KEY) for name in ("one", "two")]
    done = store.run_main("import", *paths)
    assert done.returncode == 0
    assert "1 possible secret in 1 conversation" in done.stderr
    assert done.stderr.count("not all messages were scanned for secrets") == 1
    assert done.stderr.count("scopes secrets list; to install RE2: pip install 'scopes-ai[secrets]'") == 1
    assert store.run_main("secrets", "list").returncode == 1


def test_a_dry_run_counts_them_too(store, tmp_path):
    pytest.importorskip("re2")
    done = store.run_main("import", "--dry-run", transcript(tmp_path / "one.json", TOKEN))
    assert "1 possible secret in 1 conversation" in done.stderr
