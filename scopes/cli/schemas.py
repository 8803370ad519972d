"""The JSON Schemas of the documents that commands print, and the fields and columns of their rows.

schemas.json is written by `python -m tests.schemas`: it is read for `help schemas`, `--json=FIELDS` and templates only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from scopes.cli.suggestion import did_you_mean, nearest
from scopes.errors import Invalid, NotFound
from scopes.render.fields import known_field, template_fields

if TYPE_CHECKING:
    from scopes.cli.invocation import Invocation

SCHEMAS_FILE = os.path.join(os.path.dirname(__file__), "schemas.json")
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ENVELOPE = {"scopes", "notes"}


class Rows(NamedTuple):
    """What the rows of a command hold: the columns of its text form, and the fields of its JSON."""

    columns: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()


@cache
def read_schemas() -> dict[str, Any]:
    """Return the content of schemas.json: `documents` by name, and `commands` with the documents that each prints."""
    with open(SCHEMAS_FILE, encoding="utf-8") as file:
        schemas: dict[str, Any] = json.load(file)
    return schemas


def read_rows(path: tuple[str, ...]) -> Rows:
    """Return what the rows of a command hold; nothing if it prints no document."""
    schemas = read_schemas()
    command = schemas["commands"].get(" ".join(path))
    if command is None:
        return Rows()
    fields: dict[str, None] = {}
    for name in command["documents"]:
        document = schemas["documents"][name]
        rows = document.get("x-rows")
        row = document if rows is None else document["properties"][rows].get("items", {})
        fields |= dict.fromkeys(_walk_fields(row))
        for list_name in document.get("x-joined", ()):
            fields |= dict.fromkeys(_walk_fields(row["properties"][list_name]["items"]))
    absent = command.get("absent", ())
    return Rows(tuple(command["columns"]), tuple(each for each in fields if each not in absent))


def _walk_fields(schema: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the dotted paths of the properties of an object, those of nested objects after their parent."""
    for name, value in schema.get("properties", {}).items():
        if prefix or name not in _ENVELOPE:
            yield prefix + name
            yield from _walk_fields(value, f"{prefix}{name}.")


def print_fields(path: tuple[str, ...], invocation: Invocation) -> int:
    """Print the fields that `--json=FIELDS` and a template of a command know, one a line; 0 is the exit code."""
    invocation.stdout.write("".join(f"{name}\n" for name in _require_rows(path).fields))
    return 0


def check_fields(path: tuple[str, ...], invocation: Invocation) -> None:
    """Check the names in `--json=FIELDS` or in a template, before the command does anything.

    Raises:
        Invalid: a name is unknown, or the command prints no rows.
    """
    rows = _require_rows(path)
    for name in invocation.fields:
        known_field(name, rows.fields, braces=False)
    if invocation.template is not None:
        names = template_fields(invocation.template)
        if not names:
            hint = f"for example: --format '{{{rows.fields[0]}}}'"
            raise Invalid(f"the template {invocation.template!a} names no field", hint=hint)
        for name in names:
            known_field(name, rows.fields)


def _require_rows(path: tuple[str, ...]) -> Rows:
    rows = read_rows(path)
    if not rows.fields:
        raise Invalid(f"{' '.join(('scopes', *path))} prints no rows with fields", hint="see: scopes help schemas")
    return rows


def explain_schemas(names: list[str], invocation: Invocation) -> int:
    """Print the named schemas, or the names of all with the commands that print such a document; 0 is the exit code."""
    invocation.stdout.write("".join(map(schema_text, names)) if names else list_text())
    return 0


def schema_text(name: str) -> str:
    """Return the JSON Schema of a document as indented JSON.

    Raises:
        NotFound: there is none of this name.
    """
    documents: dict[str, Any] = read_schemas()["documents"]
    if name not in documents:
        near = nearest(name, documents)
        raise NotFound(f"there is no schema {name!a}", hint=did_you_mean(near, "list them: scopes help schemas"))
    return json.dumps({"$schema": DIALECT, "title": name, **documents[name]}, indent=2, ensure_ascii=False) + "\n"


def list_text() -> str:
    """Return the names of the schemas, each with the commands that print such a document."""
    schemas = read_schemas()
    commands: dict[str, list[str]] = {name: [] for name in schemas["documents"]}
    for path, command in schemas["commands"].items():
        for name in command["documents"]:
            commands[name].append(path)
    return "".join(f"{name}\t{', '.join(paths)}\n" for name, paths in commands.items())
