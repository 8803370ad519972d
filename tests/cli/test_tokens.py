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
    done = tokens(stdin=None, input="hello world")
    assert (done.stdout, done.stderr, done.returncode) == ("2\n", "", 0)


def test_a_file_and_a_conversation_are_counted(store, tmp_path):
    (tmp_path / "notes").write_text("one two three")
    file = json.loads(tokens(str(tmp_path / "notes"), "--json").stdout)
    branch = json.loads(tokens("conv-001/main", "--store", store, "--json").stdout)
    assert (file["kind"], file["characters"], "messages" in file) == ("tokens", 13, False)
    assert (branch["what"], branch["messages"], sum(branch["parts"].values())) == ("conv-001/main", 2, branch["tokens"])


def test_an_estimate_is_marked_and_noted(tmp_path):
    done = tokens("--model", "claude-opus-4-5", stdin=None, input="hello world")
    assert done.stdout.startswith("~")
    assert done.stderr.startswith("note: tokens are estimated")


def test_strict_refuses_an_estimate():
    done = tokens("--model", "gemini-3", "-c", "scopes.tokens=exact", stdin=None, input="hello")
    assert (done.returncode, done.stdout) == (1, "")


def test_an_unknown_model_is_refused_and_a_setting_makes_it_known():
    assert tokens("--model", "llama-3", stdin=None, input="hello").returncode == 2
    done = tokens("--model", "llama-3", "-c", "scopes.model.llama-3.window=8192", stdin=None, input="hello")
    assert done.returncode == 0


def test_a_named_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    done = tokens(str(tmp_path / "pipe"))
    assert (done.returncode, "not a regular file" in done.stderr) == (2, True)


def test_what_is_neither_file_nor_conversation_is_not_found(store):
    assert tokens("conv-009", "--store", store).returncode == 4


def test_doctor_names_every_encoding():
    checks = json.loads(scopes("doctor", "--json", table=PRODUCT).stdout)["checks"]
    (detail,) = [check["detail"] for check in checks if check["name"] == "tokens"]
    assert [part.split()[0] for part in detail.split(", ")] == ["o200k_base", "cl100k_base"]


@pytest.mark.parametrize(
    ("words", "content"),
    [
        (("--budget", "200k"), 120_000),
        (("--budget=1.5M",), 900_000),
        (("--budget", "--model", "gpt-4o"), 76_800),
        (("-c", "scopes.budgetWindow=70/20/10", "--budget=100"), 70),
        (("-c", "scopes.budgetWindow=zen", "--budget=300k"), 240_000),
    ],
)
def test_a_window_is_divided(words, content):
    """S1-13, S1-14."""
    assert json.loads(tokens(*words, "--json").stdout)["parts"]["content"] == content


@pytest.mark.parametrize(
    "words", [("--budget",), ("--budget=many",), ("--budget=0",), ("--budget", "--fetch"), ("--fetch", "--dry-run")]
)
def test_what_cannot_be_divided_or_fetched_is_refused(words):
    assert tokens(*words).returncode == 2


def test_a_wrong_file_in_the_cache_is_named(tmp_path):
    path = tmp_path / "scopes" / "tokens" / "o200k_base.tiktoken"
    path.parent.mkdir(parents=True)
    path.write_text("wrong")
    done = tokens(stdin=None, input="hello", env={"XDG_CACHE_HOME": str(tmp_path)})
    assert f"note: {path} is not o200k_base and was not used" in done.stderr


def test_an_unknown_encoding_is_not_fetched():
    assert tokens("--fetch", "morse").returncode == 2


@pytest.mark.parametrize("words", [("doctor"), ("conv", "list"), ("tokens", "--help")])
def test_commands_that_count_nothing_load_no_tokenizer(words):
    assert imported(*words) & {"tiktoken", "regex", "rich", "bpe_openai"} == set()
