"""The search fields is:, exit:, tokens: and project:, --count, and the note about unknown fields (D8)."""

from __future__ import annotations

import json

import pytest

from tests.cli.conversation import Conversation


def call(code, **fields):
    return json.dumps({"type": "tool_result", "call_id": "c", "output": f"exit {code}", "exit_code": code, **fields})


@pytest.fixture
def conversation(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = Conversation(tmp_path)
    for words in (
        ("plain parser text",),
        ("long " + "many words " * 300,),
        ("it failed", "--data", f'{{"parts": [{call(1)}]}}'),
        ("it worked", "--data", f'{{"parts": [{call(0)}]}}'),
        (
            "it said no",
            "--data",
            json.dumps({"parts": [{"type": "tool_result", "call_id": "c", "output": "x", "is_error": True}]}),
        ),
        ("status only", "--data", '{"status": "error"}'),
        ("a ratio foo:bar",),
    ):
        made.run_main("append", made.id, *words)
    return made


def found(conversation, *words):
    lines = map(json.loads, conversation.run_main("search", *words, "--newest", "--json").stdout.splitlines())
    return [line["message"]["subject"] for line in lines if "message" in line]


@pytest.mark.parametrize(
    ("query", "subjects"),
    [
        ("is:failed", ["status only", "it said no", "it failed"]),
        ("is:failed failed", ["it failed"]),
        ("it -is:failed", ["it worked"]),
        ("exit:1", ["it failed"]),
        ("exit:0", ["it worked"]),
        ("exit:*", ["it worked", "it failed"]),
        ("tokens:<=6 text", ["plain parser text"]),
        ("NOT tokens:>3 OR exit:1", ["status only", "it failed"]),
    ],
)
def test_outcomes_narrow_a_search(conversation, query, subjects):
    assert found(conversation, query) == subjects


def test_an_invalid_value_of_a_field_is_refused(conversation):
    assert conversation.run_main("search", "is:green").returncode == 2


def test_project_selects_the_conversations_of_a_directory(conversation, tmp_path):
    other = conversation.run("new", "--project", str(tmp_path / "shop"), "--json")["id"]
    conversation.run_main("append", other, "a cart")
    assert found(conversation, "project:shop") == ["a cart"]
    assert found(conversation, f"project:{tmp_path}/shop") == ["a cart"]
    assert found(conversation, "project:cafe") == []


@pytest.mark.parametrize(("query", "count"), [("is:failed", "3"), ("it", "3"), ("tokens:>200", "1"), ("zebra", "0")])
def test_count_prints_only_the_number(conversation, query, count):
    done = conversation.run_main("search", query, "--count", "-q")
    assert (done.stdout, done.returncode) == (f"{count}\n", 0 if count != "0" else 1)


def test_an_unknown_field_is_searched_as_text_with_a_note(conversation):
    done = conversation.run_main("search", "foo:bar")
    assert "a ratio" in done.stdout
    assert "note: no field 'foo': searched as text\nhint: fields: author, agent, " in done.stderr


@pytest.mark.parametrize("query", ["std::vector", "http://example.org", '"foo: bar"', "tool:Bash"])
def test_words_with_a_colon_that_look_like_no_field_have_no_note(conversation, query):
    assert "no field" not in conversation.run_main("search", query).stderr
