"""`--json=FIELDS`, templates and forms: what a command prints for scripts."""

from __future__ import annotations

import json

import pytest

from scopes.cli.schemas import read_rows, read_schemas

ROW_COMMANDS = sorted(path for path, command in read_schemas()["commands"].items() if command["columns"])


def test_json_rows_have_the_fields_and_documents_keep_their_envelope(conversation):
    assert conversation.run_main("list", "--json=id,messages").stdout == (
        '{"scopes":1,"kind":"conversation-list","conversations":[{"id":"conv-001","messages":1}]}\n'
    )


def test_a_document_without_rows_is_reduced_itself(conversation):
    shown = json.loads(conversation.run_main("append", conversation.id, "hi", "--json=branch").stdout)
    assert shown == {"scopes": 1, "kind": "message", "branch": "main"}


def test_the_words_after_json_are_arguments(conversation):
    assert json.loads(conversation.run_main("show", "--json", conversation.id).stdout)["id"] == conversation.id


def test_a_dotted_field_is_a_field_in_a_field(conversation):
    conversation.append_typed("main", "decision", {"topic": "db", "decision": "SQLite"}, "alice")
    assert conversation.run("decisions", conversation.id, "--format", "{topic} {message.author}") == "db alice\n"


def test_the_last_line_of_a_search_stays_whole(conversation):
    hit, coverage = map(json.loads, conversation.run_main("search", "shall", "--json=message.id").stdout.splitlines())
    assert hit == {"scopes": 1, "kind": "search-hit", "message.id": conversation.first}
    assert (coverage["kind"], coverage["shown"]) == ("search", 1)


def test_json_with_no_field_lists_the_fields_and_does_nothing(conversation):
    assert conversation.run("list", "--json=").splitlines()[:3] == ["id", "uuid", "title"]
    before = conversation.texts()
    assert "oid\n" in conversation.run("append", conversation.id, "hi", "--json=")
    assert conversation.texts() == before


def test_an_unknown_field_is_refused_before_anything_happens(conversation):
    """L12: `list --format '{conversation}'` printed empty lines."""
    before = conversation.texts()
    for option, meant in (("--json=id,brunch", "branch"), ("--format={brunch}", "{branch}")):
        done = conversation.run_main("append", conversation.id, "hi", option)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"did you mean {meant}? fields: kind, id, oid," in " ".join(done.stderr.split())
    assert conversation.texts() == before
    assert conversation.run_main("list", "--format", "{author}").returncode == 2


def test_a_template_names_no_column_that_the_json_has_not(conversation):
    assert conversation.run("log", "-1", "--format", "{subject} {author}") == "How shall we do it? carol\n"
    assert conversation.run_main("log", "--format", "{signer}").returncode == 2


def test_a_form_that_a_command_has_not_is_refused_with_an_example(conversation):
    error = conversation.run_refused("log", conversation.id, "--format", "%h %s", code=2)
    assert error["message"] == "the template '%h %s' names no field"
    assert error["hint"] == "for example: --format '{kind}'"


def test_nul_ends_rows_and_keeps_line_breaks(conversation):
    conversation.append("main", "two\nlines")
    assert conversation.run("log", "-1", "-z", "--format", "{text}") == "two\nlines\0"
    assert conversation.run("log", "-1", "--format", r"{author}\t{text}") == "carol\ttwo lines\n"


@pytest.mark.parametrize("option", ["--fields", "--porcelain", "--debug", "--no-hints", "--at-operation"])
def test_earlier_options_are_gone(conversation, option):
    assert conversation.run_main("list", option).returncode == 2


@pytest.mark.parametrize("path", ROW_COMMANDS)
def test_the_manual_of_a_command_names_its_columns_and_fields(path, conversation):
    rows = read_rows(tuple(path.split()))
    text = " ".join(conversation.run("help", "-a", *path.split()).split())
    assert f"columns in a pipe: {', '.join(rows.columns)}" in text
    assert f"fields of --json and --format: {', '.join(rows.fields)}" in text
