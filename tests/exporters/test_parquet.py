"""A table with one row a message, which DuckDB queries."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.conversation.new_rename_delete import new
from scopes.errors import Refused, SecretsFound
from scopes.exporters import parquet
from scopes.exporters.atomic_save import save
from scopes.exporters.export import export
from scopes.history.names import list_branch_tips
from scopes.importers.import_sample import import_sample
from scopes.model.message import Author, FileTouch, Message, Part
from tests.exporters.building import call, message, put, result
from tests.exporters.test_atif import parts
from tests.support.examples import examples
from tests.support.history import history, say
from tests.support.planted import KINDS
from tests.support.store import make_store

duckdb = pytest.importorskip("duckdb", reason="DuckDB is in the extra `peers`")
pa = pytest.importorskip("pyarrow", reason="pyarrow is in the extra `parquet`")
MANUAL = Path(parquet.__file__).parents[1] / "cli" / "manual" / "export.txt"


@pytest.fixture
def query(repository, tmp_path):
    """Export a conversation, and answer questions about the table."""

    def ask(question, where="conv-001", **options):
        path = tmp_path / "t.parquet"
        save(export(repository, where, format_name="parquet", **options), str(path), force=True)
        return duckdb.sql(question.replace("TABLE", f"'{path}'")).fetchall()

    return ask


def test_each_message_is_a_row_with_its_parents(repository, query):
    drawn = history(repository, "main: a b", "fix@a: c")
    rows = query("SELECT position, branch, message, text, parents FROM TABLE", all_branches=True)
    assert rows == [
        (1, "main", drawn.ids["a"], "a", []),
        (2, "main", drawn.ids["b"], "b", [drawn.ids["a"]]),
        (3, "fix", drawn.ids["c"], "c", [drawn.ids["a"]]),
    ]


def test_a_conversation_without_messages_is_an_empty_table(repository, query):
    new(repository)
    assert query("SELECT count(*), count(tool_calls) FROM TABLE") == [(0, 0)]


def test_calls_results_files_and_tokens_have_columns(repository, query):
    new(repository)
    usage = {"usage": {"input_uncached": 5, "cache_read": 10, "output": 7}}
    answer = message("b", "x", Part("reasoning", {"text": "hm"}), call("1", input={"a": 1}), result("1", output={"n": 3}, exit_code=2, is_error=True), model="m", extra=usage, files=(FileTouch("a.py", "edit"),), payload={"topic": "db"})  # fmt: skip
    put(repository, "main", list_branch_tips(repository, "conv-001")["main"], replace(answer, kind="decision"))
    assert query("SELECT tool_calls[1].name, tool_calls[1].input_json, tool_results[1].output, tool_results[1].exit_code, files[1].path, reasoning, document_json FROM TABLE") == [
        ("Bash", '{"a":1}', '{"n":3}', 2, "a.py", "hm", '{"decision":{"topic":"db"}}')
    ]  # fmt: skip
    assert query("SELECT input_uncached_tokens, cache_read_tokens, cache_write_tokens, output_tokens FROM TABLE") == [
        (5, 10, None, 7)
    ]


def test_times_are_times(repository, query):
    new(repository)
    root = list_branch_tips(repository, "conv-001")["main"]
    bare = Message(id="c".ljust(26, "a"), author=Author("bot"), parts=(), time=None)
    put(repository, "main", root, message("b", "x"), bare)
    assert query("SELECT epoch(time), text FROM TABLE") == [(1772359200.0, "x"), (None, None)]


def test_the_queries_of_the_manual_run(repository, query):
    import_sample(repository)
    questions = [
        found.replace("'conv-001.parquet'", "TABLE") for found in re.findall(r'-c "([^"]*)"', MANUAL.read_text())
    ]
    by_day, failed = (query(each, all_branches=True) for each in questions)
    assert {row[1] for row in by_day} == {"large-1", "medium-3", "small-2"}
    assert failed == [("shell", 1)]


def test_groups_of_rows_are_written_one_after_the_other(repository, monkeypatch, query):
    monkeypatch.setattr(parquet, "_GROUP_ROWS", 2)
    history(repository, "main: a b c d e")
    (file,) = export(repository, "conv-001", format_name="parquet").files
    assert len(list(file.pieces)) == 4
    assert query("SELECT string_agg(text, '' ORDER BY position) FROM TABLE") == [("abcde",)]


def test_a_table_passes_the_gate_for_secrets(repository, query):
    token = KINDS[1][1]
    new(repository)
    say(repository, "conv-001", f"the key is {token}")
    with pytest.raises(SecretsFound):
        export(repository, "conv-001", format_name="parquet")
    ((text,),) = query("SELECT text FROM TABLE", secrets="redact")
    assert text.startswith("the key is [redacted:github-token:")
    assert query("SELECT text FROM TABLE", secrets="allow") == [(f"the key is {token}",)]


def test_a_row_that_is_refused_ends_the_export(repository, monkeypatch):
    """Even if nothing looked at the messages before."""
    new(repository)
    say(repository, "conv-001", f"the key is {KINDS[1][1]}")
    monkeypatch.setattr("scopes.exporters.export.inspect_selection", lambda *_: None)
    (file,) = export(repository, "conv-001", format_name="parquet").files
    with pytest.raises(SecretsFound):
        list(file.pieces)


def test_without_pyarrow_the_error_names_the_cure(repository, monkeypatch):
    history(repository, "main: a")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(Refused, match="not installed: pyarrow") as refusal:
        export(repository, "conv-001", format_name="parquet")
    assert refusal.value.hint == "pip install 'scopes-ai[parquet]'"


@given(
    found=st.lists(parts, max_size=5), usage=st.dictionaries(st.sampled_from(["output", "cache_read"]), st.integers())
)
@settings(max_examples=examples(100), deadline=None)
def test_any_parts_fit_into_the_columns(found, usage):
    written = Message(id="a" * 26, author=Author("x"), parts=tuple(found), time="never", extra={"usage": usage})
    row = {
        "tool_calls": [parquet._call(part) for part in written.parts if part.type == "tool_call"],
        "tool_results": [parquet._result(part) for part in written.parts if part.type == "tool_result"],
        "text": written.text,
        "output_tokens": usage.get("output"),
    }
    schema = parquet._schema(pa)
    assert pa.Table.from_pylist([parquet._valid(row)], schema).num_rows == 1


def test_the_same_history_gives_the_same_rows_in_another_store(repository, tmp_path, query):
    import_sample(repository)
    rows = query("SELECT message, text FROM TABLE")
    other = make_store(tmp_path / "other.git")
    import_sample(other)
    save(export(other, "conv-001", format_name="parquet"), str(tmp_path / "o.parquet"))
    assert duckdb.sql(f"SELECT message, text FROM '{tmp_path}/o.parquet'").fetchall() == rows
