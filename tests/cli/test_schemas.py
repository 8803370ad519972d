"""JSON Schemas, fields and columns: what scripts may rely on, held against the samples and real output."""

from __future__ import annotations

import json

import pytest

from scopes.cli.schemas import read_schemas
from scopes.cli.table import TABLE
from tests import schemas
from tests.render.rendering import document
from tests.render.results import SAMPLES

jsonschema = pytest.importorskip("jsonschema")
STORED = read_schemas()
every_command = pytest.mark.parametrize("path", sorted(STORED["commands"]))


def check(name, shown):
    """Validate a document against its schema."""
    jsonschema.Draft202012Validator(STORED["documents"][name]).validate(shown)


def test_the_schemas_are_those_of_the_samples():
    assert schemas.FILE.read_text(encoding="utf-8") == schemas.dump_schemas(schemas.make_schemas()), (
        "run: python -m tests.schemas"
    )


@pytest.mark.parametrize("name", sorted(STORED["documents"]))
def test_a_schema_is_a_valid_one(name):
    jsonschema.Draft202012Validator.check_schema(STORED["documents"][name])


@pytest.mark.parametrize("noun", SAMPLES)
def test_the_document_of_every_sample_is_valid(noun):
    for result in SAMPLES[noun].values():
        shown = document(result)
        check(schemas.document_name(result, shown), shown)


def test_every_command_has_its_documents():
    paths = {" ".join(command.path) for command in TABLE.commands.values()}
    assert set(STORED["commands"]) == paths - schemas.WITHOUT_DOCUMENT
    assert {name for command in STORED["commands"].values() for name in command["documents"]} <= set(
        STORED["documents"]
    )


def test_an_error_is_a_valid_document(conversation):
    check("error", {"error": conversation.run_refused("log", "nowhere", code=4)})


@pytest.mark.parametrize("steps", [["branch", "other"], ["delete", "--yes"]])
def test_a_redo_of_what_made_or_removed_refs_is_valid(conversation, steps):
    """A report of a user: a ref that the undo had removed has no `new`, which the schema required."""
    conversation.append("main", "hello")
    conversation.run(steps[0], conversation.id, *steps[1:])
    for verb in ("undo", "redo"):
        check(verb, conversation.run(verb, "--json"))


def test_help_lists_and_prints_the_schemas(conversation):
    listed = [line.split("\t")[0] for line in conversation.run("help", "schemas").splitlines()]
    assert listed == sorted(STORED["documents"])
    printed = json.loads(conversation.run("help", "schemas", "file-list"))
    assert printed["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert printed["properties"]["kind"] == {"const": "file-list"}


def test_an_unknown_schema_is_refused_with_the_nearest_one(conversation):
    assert conversation.run_refused("help", "schemas", "file-lst", code=4)["hint"] == "did you mean file-list?"


def test_the_kind_of_a_message_has_a_key_of_its_own(conversation):
    """The old key `kind` stays in messages, for scripts that read it."""
    conversation.append_typed("main", "decision", {"topic": "db", "decision": "SQLite"}, "alice")
    entry = conversation.run("log", conversation.id, "-n", "1", "--json")
    assert (entry["kind"], entry["message_kind"]) == ("decision", "decision")
    check(schemas.MESSAGE, entry)
    found = conversation.run("decisions", conversation.id, "--json")["decisions"][0]["message"]
    assert found["message_kind"] == "decision"
