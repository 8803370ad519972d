"""`--fields`, templates, `-z` and `--porcelain`: rows for scripts, on every command."""

from __future__ import annotations

import io
import json
import re

import pytest

from scopes.cli.command_docs import read_docs
from scopes.cli.command_line import with_optional_values
from scopes.cli.schemas import read_rows, read_schemas
from scopes.cli.table import TABLE
from scopes.render.output import Output, OutputSettings
from scopes.render.stream import hide_terminal
from scopes.render.template import template_fields
from tests.render.conftest import at_one_moment
from tests.render.rendering import piped
from tests.render.results import SAMPLES
from tests.render.sample import Screen
from tests.render.with_options import unwrap

__all__ = ["at_one_moment"]
ROW_COMMANDS = sorted(path for path, command in read_schemas()["commands"].items() if command["columns"])


def test_json_rows_have_the_fields_and_documents_keep_their_envelope(conversation):
    assert conversation.run("list", "--json", "--fields", "id,messages") == {
        "scopes": 1,
        "kind": "conversation-list",
        "conversations": [{"id": conversation.id, "messages": 1}],
    }


def test_a_document_without_rows_is_reduced_itself(conversation):
    shown = conversation.run("append", conversation.id, "hi", "--json", "--fields", "branch")
    assert shown == {"scopes": 1, "kind": "message", "branch": "main"}


def test_text_rows_have_the_fields_with_tabs_between_them(conversation):
    conversation.append("main", "two\nlines")
    rows = conversation.run("log", conversation.id, "--fields", "author,text,model,message_kind")
    assert rows.splitlines() == ["carol\ttwo lines\t\tplain", "carol\tHow shall we do it?\t\tplain"]


def test_counts_by_name_look_the_same_in_a_row_and_as_a_field(conversation):
    """The operations of `files` were `edit:1` in a row, and `{"edit": 1}` with --fields; JSON has the object."""
    files = [{"path": "/w/a.py", "op": op} for op in ("read", "edit", "edit")]
    lines = [json.dumps({"author": "carol", "text": "x", "files": [each]}) for each in files]
    conversation.run("append", conversation.id, "--jsonl", "-", "--json", given="\n".join(lines))
    row = conversation.run("files", conversation.id).split("\t")
    assert sorted(row[1].split(",")) == ["edit:2", "read:1"]
    assert conversation.run("files", conversation.id, "--fields", "operations") == f"{row[1]}\n"
    assert conversation.run("files", conversation.id, "--format", "{operations}") == row[1] + "\n"
    document = conversation.run("files", conversation.id, "--json", "--fields", "operations")
    assert document["files"] == [{"operations": {"edit": 2, "read": 1}}]


def test_a_dotted_field_is_a_field_in_a_field(conversation):
    conversation.append_typed("main", "decision", {"topic": "db", "decision": "SQLite"}, "alice")
    assert conversation.run("decisions", conversation.id, "--fields", "topic,message.author") == "db\talice\n"
    assert conversation.run("log", conversation.id, "--json", "--fields", "decision", "-1")["decision"]["topic"] == "db"


def test_the_last_line_of_a_search_stays_whole(conversation):
    *_, hit, coverage = conversation.run("search", "shall", "--json", "--fields", "message.id")
    assert hit == {"scopes": 1, "kind": "search-hit", "message.id": conversation.first}
    assert (coverage["kind"], coverage["shown"]) == ("search", 1)
    assert conversation.run("search", "shall", "--fields", "message.id") == f"{conversation.first}\n"


def test_fields_alone_lists_the_fields_and_does_nothing(conversation):
    assert conversation.run("list", "--fields").splitlines()[:3] == ["id", "uuid", "title"]
    before = conversation.texts()
    assert "oid\n" in conversation.run("append", conversation.id, "hi", "--fields")
    assert conversation.texts() == before


def test_an_unknown_field_is_refused_before_anything_happens(conversation):
    before = conversation.texts()
    error = conversation.run_refused("append", conversation.id, "hi", "--fields", "id,brunch", code=2)
    assert error["message"] == "there is no field 'brunch'"
    assert error["hint"].startswith("did you mean branch? fields: kind, id, oid,")
    assert conversation.run_refused("append", conversation.id, "hi", "--format", "{ids}", code=2)["hint"].startswith(
        "did you mean {id}? fields: "
    )
    assert conversation.texts() == before


def test_fields_and_a_template_exclude_each_other(conversation):
    assert conversation.run_refused("list", "--fields", "id", "--format", "{id}", code=2)["message"] == (
        "--fields cannot be combined with --format"
    )


def test_the_subject_of_a_message_is_a_field_of_its_row_and_of_the_json(conversation):
    log = ("log", conversation.id, "-1")
    assert conversation.run(*log, "--fields", "author,subject") == "carol\tHow shall we do it?\n"
    assert conversation.run(*log, "--fields", "subject", "--json")["subject"] == "How shall we do it?"
    assert conversation.run(*log, "--format", "{subject} {text}") == "How shall we do it? How shall we do it?\n"
    assert conversation.run(*log, "--format", "{subject} {message_kind}") == "How shall we do it? plain\n"
    assert conversation.run("cat", conversation.first, "--fields", "subject") == "How shall we do it?\n"


@pytest.mark.parametrize("field", ["conversation", "branch"])
def test_a_log_has_no_field_that_it_does_not_print(field, conversation):
    error = conversation.run_refused("log", conversation.id, "--fields", field, code=2)
    assert (error["message"], "amended, subject" in error["hint"]) == (f"there is no field {field!r}", True)
    conversation.run_refused("log", conversation.id, "--format", f"{{{field}}}", code=2)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("search", "shall"), "conversation,branch,id,author,time,state"),
        (("search", "shall", "--context", "1"), "conversation,id"),
        (("decisions", "@"), "topic,author,id"),
        (("tag", "@"), "tag,id,subject"),
    ],
)
def test_fields_and_templates_accept_the_same_names(words, names, conversation):
    conversation.append_typed("main", "decision", {"topic": "db", "decision": "SQLite"}, "alice")
    conversation.run("tag", conversation.id, "v1")
    words = [conversation.id if word == "@" else word for word in words]
    template = "\\t".join(f"{{{name}}}" for name in names.split(","))
    shown = conversation.run(*words, "--fields", names)
    assert set(shown.splitlines()) <= set(conversation.run(*words, "--format", template).splitlines())
    assert shown


def test_search_hits_have_the_names_of_the_columns_in_json(conversation):
    *_, hit, _ = conversation.run("search", "shall", "--json", "--fields", "id,author")
    assert (hit["id"], hit["author"]) == (conversation.first, "carol")


def test_a_template_without_a_field_is_refused_with_an_example(conversation):
    error = conversation.run_refused("log", conversation.id, "--format", "%h %s", code=2)
    assert error["message"] == "the template '%h %s' names no field"
    for word, hint in (("junit", "for a report: --report junit"), ("xml", "for example: --format '{id} {kind}'")):
        assert conversation.run_refused("check", "--format", word, code=2)["hint"] == hint
    assert error["hint"] == "for example: --format '{id} {subject}'"


def test_a_command_without_rows_has_no_fields(conversation):
    assert (
        conversation.run_refused("version", "--fields", "id", code=2)["message"]
        == "scopes version prints no rows with fields"
    )


@pytest.mark.parametrize(
    ("words", "expanded"),
    [
        (["list", "--fields"], ["list", "--fields="]),
        (["log", "--fields", "--json"], ["log", "--fields=", "--json=*"]),
        (["log", "--fields", "id"], ["log", "--fields", "id"]),
        (["log", "--porcelain", "conv-001"], ["log", "--porcelain=v1", "conv-001"]),
        (["log", "--", "--fields"], ["log", "--", "--fields"]),
    ],
)
def test_options_may_be_given_without_their_value(words, expanded):
    assert with_optional_values(words) == expanded


def test_a_template_knows_the_text_of_a_message(conversation):
    conversation.append("main", "two\nlines")
    assert conversation.run("log", conversation.id, "-1", "--format", r"{author}\t{text}") == "carol\ttwo lines\n"
    assert conversation.run("log", conversation.id, "-1", "-z", "--format", "{text}") == "two\nlines\0"


def test_a_template_of_columns_is_filled_with_the_columns(conversation):
    assert conversation.run("log", conversation.id, "-1", "--format", "{id} {subject}") == (
        f"{conversation.first} How shall we do it?\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        ("branch", "@"), ("files", "@"), ("decisions", "@"), ("tag", "@"), ("operations", "list"), ("config", "list"),
        ("changes", "@"), ("doctor",),
    ],
)  # fmt: skip
def test_templates_and_nul_work_on_commands_with_rows(words, conversation):
    conversation.append_typed("main", "decision", {"topic": "db", "decision": "SQLite"}, "alice")
    conversation.run("tag", conversation.id, "v1")
    conversation.run("append", conversation.id, "x", "--data", '{"files": [{"op": "edit", "path": "a.py"}]}')
    command = words if words[0] in {"config", "doctor"} else tuple(word for word in words if word != "@")
    column = read_rows(command).columns[0]
    rows = conversation.run(*words).splitlines()
    ended = conversation.run(*words, "-z")
    assert rows
    assert [re.sub(r"\d+ MiB", "", row) for row in ended.split("\0")] == [
        re.sub(r"\d+ MiB", "", r) for r in (*rows, "")
    ]
    assert conversation.run(*words, "--format", f"<{{{column}}}>").splitlines() == [
        f"<{row.partition(chr(9))[0]}>" for row in rows
    ]


def porcelain(result, options):
    """Return what --porcelain writes to a terminal with colors."""
    screen, errors = Screen(), io.StringIO()
    settings = OutputSettings(color="never", hints=False, options=options)
    Output(settings, {"TERM": "xterm"}, hide_terminal(screen), errors).show(result)
    return screen.getvalue()


@pytest.mark.parametrize("noun", SAMPLES)
def test_porcelain_on_a_terminal_is_the_piped_form(noun, at_one_moment):
    """The golden files `*.piped.txt` hold that form."""
    for sample in SAMPLES[noun].values():
        assert "\x1b" not in porcelain(*unwrap(sample))
        assert porcelain(*unwrap(sample)) == piped(sample)


def test_porcelain_is_an_option_of_every_command(conversation):
    assert conversation.run("log", conversation.id, "--porcelain=v1") == conversation.run("log", conversation.id)
    error = conversation.run_refused("log", "--porcelain=v2", code=2)
    assert (error["message"], error["hint"]) == ("'v2' is not a version of --porcelain", "versions: v1")


@pytest.mark.parametrize("path", ROW_COMMANDS)
def test_help_and_the_golden_list_name_the_columns(path, conversation):
    columns = ", ".join(read_schemas()["commands"][path]["columns"])
    words = path.removeprefix("conversations ").split()
    text = " ".join(conversation.run("help", *words).split())
    assert f"columns in a pipe and with --porcelain: {columns}" in text
    assert json.loads(conversation.run_main("help", *words, "--json").stdout)["columns"] == columns.split(", ")


@pytest.mark.parametrize("path", TABLE.commands, ids=" ".join)
def test_the_template_in_the_help_of_a_command_names_its_own_fields(path):
    """The example `{id} {title}` was the same for every command."""
    docs = read_docs(path)
    assert docs is not None
    rows = read_rows(path)
    if not rows.fields:
        assert not docs.template
    elif docs.template:
        names = set(template_fields(docs.template))
        assert names <= set(rows.columns) or any(names <= set(fields) for fields in rows.documents)


@pytest.mark.parametrize(
    ("words", "example"),
    [
        (("list",), "{id} {title}"),
        (("log", "@"), "{id} {subject}"),
        (("search", "How"), "{id} {snippet}"),
        (("memory", "list"), "{id} {summary}"),
        (("files", "@"), "{path} {operations}"),
        (("stats", "@"), "{conversation} {tokens}"),
    ],
)
def test_the_template_in_the_help_of_a_command_works(conversation, words, example):
    conversation.run("append", "@", "How then?", "--data", '{"files": [{"op": "edit", "path": "a.py"}]}')
    conversation.run("memory", "add", "x", "--json")
    command = [word for word in words if word.islower()]
    help_text = " ".join(conversation.run("help", *command).split())
    assert f"for example: --format '{example}'" in help_text
    assert conversation.run(*words, "--format", example)
