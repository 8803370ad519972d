"""`scopes context`, `budget` and `history`: output and exit codes."""

from __future__ import annotations

import json
import re

import pytest

from scopes.importers.import_sample import import_sample
from tests.cli.running import PRODUCT, imported, scopes
from tests.support.store import make_store

KEYS = {
    "scopes", "kind", "tokens_used", "max_tokens", "method", "messages", "files_embedded", "files_skipped", "summary",
    "metadata", "filtered_count", "average_relevance", "sessions_included", "sessions_excluded", "turns_included",
    "turns_excluded", "left_out", "formatted_history", "warnings", "context_id", "notes",
}  # fmt: skip


@pytest.fixture
def store(tmp_path):
    """A store with the sample conversation."""
    import_sample(make_store(tmp_path / "store.git"))
    return str(tmp_path / "store.git")


@pytest.fixture
def conv(store, tmp_path):
    """Run a verb on the store, with its cache and directory in the test's own."""

    def run(*words):
        return scopes(
            "--store", store, "conv", *words, table=PRODUCT, cwd=str(tmp_path), env={"XDG_CACHE_HOME": str(tmp_path)}
        )

    return run


def test_the_document_has_exactly_the_fields_that_scripts_rely_on(conv):
    seen = json.loads(conv("context", "conv-001", "--json").stdout)
    assert set(seen) == KEYS
    assert (seen["kind"], seen["max_tokens"], seen["average_relevance"]) == ("context", 8000, None)
    assert seen["tokens_used"] <= seen["max_tokens"]


def test_standard_output_is_only_the_context(conv):
    done = conv("context", "conv-001", "--max-tokens", "600")
    assert done.stdout.startswith("# Context of conv-001/main\n")
    assert "files left out" in done.stderr


def test_the_format_messages_is_chat_messages(conv):
    seen = json.loads(conv("context", "conv-001", "--format", "messages").stdout)
    assert {frozenset(message) for message in seen} == {frozenset({"role", "content"})}
    assert seen[0]["role"] == "user"


def test_the_format_json_is_the_document(conv):
    assert json.loads(conv("context", "conv-001", "--format", "json").stdout)["kind"] == "context"


def test_explain_prints_rows_for_a_task(conv):
    rows = [
        line.split("\t") for line in conv("context", "conv-001", "--task", "Safari", "--explain").stdout.splitlines()
    ]
    assert {"turn", "file"} <= {row[0] for row in rows}
    assert {row[4] for row in rows} == {"kept", "dropped"}


def test_statistics_print_how_the_budget_is_used(conv):
    assert "of 8,000" in conv("context", "conv-001", "--stats").stdout


def test_the_budget_of_a_model_is_the_content_of_its_window(conv):
    assert json.loads(conv("context", "conv-001", "--model", "gpt-4", "--json").stdout)["max_tokens"] == 4916


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("conv-001", "--max-tokens", "-1"), 2), (("conv-404",), 4), (("conv-001", "--model", "llama"), 2), ((), 4),
        (("conv-001", "--mode", "magic"), 2), (("conv-001", "--format", "xml"), 2), (("conv-001", "--task", "?"), 2),
        (("conv-001", "--model", "claude", "-c", "scopes.tokens=exact"), 1),
    ],
)  # fmt: skip
def test_impossible_options_are_refused(conv, words, code):
    done = conv("context", *words)
    assert (done.returncode, done.stdout) == (code, "")


def test_a_budget_of_zero_is_refused(conv):
    done = conv("context", "conv-001", "--max-tokens", "0")
    assert (done.returncode, done.stdout) == (2, "")
    assert "a context of 0 tokens is empty" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("--max-tokens", "600"),
        ("--max-tokens", "600", "--stats"),
        ("--max-tokens", "600", "--task", "Safari"),
        ("--task", "Safari", "-n", "1"),
    ],
)
def test_what_log_calls_a_message_is_never_called_a_turn(conv, words):
    """The header, the notes and --stats counted messages and called them turns; in JSON the keys are as they were."""
    done = conv("context", "conv-001", *words)
    assert re.search(r"messages?\b", done.stdout, re.IGNORECASE)
    assert not re.search(r"\bturns?\b", done.stdout + done.stderr, re.IGNORECASE)


def test_the_numbers_of_a_context_are_those_of_its_document(conv):
    words = ("context", "conv-001", "--max-tokens", "600")
    document = json.loads(conv(*words, "--json").stdout)
    total = document["turns_included"] + document["turns_excluded"]
    assert f"Showing {document['turns_included']} of {total} messages." in conv(*words).stdout
    stats = f"Messages: {document['turns_included']}, {document['turns_excluded']} left out\n"
    assert stats in conv(*words, "--stats").stdout


@pytest.mark.parametrize("task", [(), ("--task", "Safari")])
def test_a_budget_in_which_nothing_fits_is_refused_with_the_smallest_one(conv, task):
    done = conv("context", "conv-001", "--max-tokens", "20", *task)
    assert (done.returncode, done.stdout) == (9, "")
    assert "nothing of the conversation fits into 20 tokens" in done.stderr
    smallest = int(re.search(r"--max-tokens (\d+)", done.stderr)[1])
    assert conv("context", "conv-001", "--max-tokens", str(smallest - 1), *task).returncode == 9
    fitting = conv("context", "conv-001", "--max-tokens", str(smallest), *task)
    assert fitting.returncode == 0
    assert "### " in fitting.stdout
    assert conv("context", "conv-001", "--max-tokens", "20", "--stats", *task).returncode == 0


def test_the_example_in_the_budget_help_is_right(conv):
    """S1-13."""
    seen = json.loads(conv("tokens", "--budget", "200k", "--json").stdout)
    assert seen["parts"] == {"content": 120_000, "response": 40_000, "overhead": 40_000}
    assert seen["content"] == {"files": 60_000, "history": 36_000, "metadata": 24_000}


def test_a_budget_can_be_given_by_a_model(conv):
    assert conv("tokens", "--budget", "--model", "claude-opus-4-5").stdout.splitlines()[0] == "window\t200000"
    assert conv("tokens", "--budget").returncode == 2
    assert conv("tokens", "--budget=-1").returncode == 2


def test_a_preview_prints_the_block_that_is_sent(conv):
    sent, seen = (
        conv("context", "conv-001", "--for-prompt", *more) for more in ((), ("--explain", "--memory", "none"))
    )
    assert len({re.sub(r"history [0-9]+ ", "", each.stdout) for each in (sent, seen)}) == 1
    assert sent.stdout.startswith("<conversation_history>\n")
    assert re.fullmatch(r"note: (\d+) of \1 messages, 0 of them truncated: \d+ tokens\n", seen.stderr)
    assert sent.stderr == ""


def test_a_preview_in_a_pipe_has_no_character_that_cannot_be_seen(conv):
    """R2: it shows the bytes that are sent, and they are safe to show."""
    hidden = "a\u202eb\u200bc\U000e0041d\u3164e\ufe0f"
    assert conv("append", "conv-001", hidden).returncode == 0
    for words in (
        ("context", "conv-001", "--for-prompt", "--explain"),
        ("context", "conv-001"),
        ("context", "conv-001", "--format", "messages"),
    ):
        assert "a\ufffdb\ufffdc\ufffdd\ufffde\ufffd" in conv(*words).stdout


def test_a_cached_context_loads_no_tokenizer(store, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    words = ("conv", "context", "conv-001", "--store", store)
    assert "conv-001" in scopes(*words, table=PRODUCT).stdout
    assert imported(*words) & {"tiktoken", "regex", "rich", "pydantic", "sqlite3"} == set()


def test_without_merges_and_decisions_a_context_loads_nothing_about_them(store):
    names = imported("conv", "context", "conv-001", "--store", store)
    assert "scopes.context.collect" in names
    assert (
        names
        & {
            "scopes.merge.in_progress",
            "scopes.conversation.decisions",
            "scopes.store.transactions",
        }
        == set()
    )


def test_for_a_task_the_budget_is_4000(conv):
    """S4-36."""
    seen = json.loads(conv("context", "conv-001", "--task", "Safari", "--json").stdout)
    assert seen["max_tokens"] == 4000
    assert seen["tokens_used"] <= 4000
    assert {"messages", "summary", "metadata", "tokens_used"} <= set(seen)
