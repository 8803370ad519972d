"""`scopes tokens`: output and exit codes."""

from __future__ import annotations

import json
import os

import pytest

from scopes import clock
from tests.cli.running import PRODUCT, imported, scopes
from tests.support.history import history
from tests.support.random_ids import hashed_counter
from tests.support.store import make_store
from tests.tokens.conftest import skip_without_rank_files


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store with one conversation of two messages."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    repository = make_store(tmp_path / "store.git")
    history(repository, "main: one two")
    return str(tmp_path / "store.git")


def tokens(*words, **keywords):
    return scopes("tokens", *words, table=PRODUCT, **keywords)


def test_standard_input_is_counted():
    skip_without_rank_files()
    done = tokens("count", stdin=None, input="hello world")
    assert (done.stdout, done.stderr, done.returncode) == ("2\n", "", 0)


def test_a_file_and_a_conversation_are_counted(store, tmp_path):
    (tmp_path / "notes").write_text("one two three")
    file = json.loads(tokens("count", str(tmp_path / "notes"), "--json").stdout)
    branch = json.loads(tokens("count", "conv-001/main", "--store", store, "--json").stdout)
    assert (file["kind"], file["characters"], "messages" in file) == ("tokens", 13, False)
    assert (branch["what"], branch["messages"], sum(branch["parts"].values())) == ("conv-001/main", 2, branch["tokens"])


def test_an_estimate_is_marked_and_noted(tmp_path):
    done = tokens("count", "--model", "claude-opus-4-5", stdin=None, input="hello world")
    assert done.stdout.startswith("~")
    assert done.stderr.startswith("note: tokens are estimated")


def test_strict_refuses_an_estimate():
    done = tokens("count", "--model", "gemini-3", "--strict-tokens", stdin=None, input="hello")
    assert (done.returncode, done.stdout) == (1, "")


def test_an_unknown_model_is_refused_and_a_setting_makes_it_known():
    assert tokens("count", "--model", "llama-3", stdin=None, input="hello").returncode == 2
    done = tokens("count", "--model", "llama-3", "-c", "scopes.model.llama-3.window=8192", stdin=None, input="hello")
    assert done.returncode == 0


def test_a_named_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    done = tokens("count", str(tmp_path / "pipe"))
    assert (done.returncode, "not a regular file" in done.stderr) == (2, True)


def test_what_is_neither_file_nor_conversation_is_not_found(store):
    assert tokens("count", "conv-009", "--store", store).returncode == 4


def test_the_status_names_every_encoding():
    rows = json.loads(tokens("status", "--json").stdout)["encodings"]
    assert [row["name"] for row in rows] == ["o200k_base", "cl100k_base"]


def test_a_wrong_file_in_the_cache_is_named(tmp_path):
    path = tmp_path / "scopes" / "tokens" / "o200k_base.tiktoken"
    path.parent.mkdir(parents=True)
    path.write_text("wrong")
    done = tokens("count", stdin=None, input="hello", env={"XDG_CACHE_HOME": str(tmp_path)})
    assert f"note: {path} is not o200k_base and was not used" in done.stderr


def test_an_unknown_encoding_is_not_fetched():
    assert tokens("fetch", "morse").returncode == 2


@pytest.mark.parametrize("words", [("doctor"), ("conv", "list"), ("tokens", "--help")])
def test_commands_that_count_nothing_load_no_tokenizer(words):
    assert imported(*words) & {"tiktoken", "regex", "rich", "bpe_openai"} == set()
