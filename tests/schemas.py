"""Generate scopes/cli/schemas.json: a JSON Schema of every document, and the rows of every command, from the samples.

    python -m tests.schemas          # write the file
    python -m tests.schemas --check  # exit 1 if the file is out of date

The Results in tests/render/results.py are rendered as they are, and once more for each of their fields with None, a
value instead of None, an empty collection or the other truth value in it. So a key is required in a schema only if the code always writes it.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from scopes.cli.table import TABLE
from scopes.conversation.log import LogEntry
from scopes.conversation.show import MessageView
from scopes.model.message import TYPED_KINDS, payload_key
from scopes.render.fields import find_joined_keys
from scopes.render.table import render_text
from scopes.render.view import View
from tests.render.rendering import document
from tests.render.results import SAMPLES
from tests.render.with_options import WithOptions, unwrap

FILE = Path(__file__).parent.parent / "scopes" / "cli" / "schemas.json"
MESSAGE = "log-message"  # a message that `log` or `cat` prints under the kind of the message
# The documents that each command prints; `branch`, `merge` and others print one of several.
DOCUMENTS = {
    "new": "conversation",
    "import": "import source-recorded",
    "export": "export site traces-noted",
    "append": "message",
    "amend": "message",
    "retract": "message",
    "list": "conversation-list deleted-list",
    "show": "conversation diagram conversation-commits stats file-list log-message remote-status memory-entry operation",
    "log": MESSAGE,
    "cat": MESSAGE,
    "search": "search-hit search remote-conversations",
    "decisions": "decision-list decision-candidates decision-accepted decision-dismissed decision-withdrawn",
    "diff": "diff run-comparison range-diff commit-account",
    "bisect": "bisect",
    "changes": "change",
    "why": "why blame",
    "usage": "usage usage-status",
    "summarize": "summary summary-list",
    "secrets list": "secret-list secret-rules secret-explained",
    "secrets allow": "secret-allowed",
    "purge": "purge-declined purge-done purge-offers purge-planned",
    "redact": "conversation-redacted",
    "agents register": "agent",
    "agents list": "agent-list",
    "agents show": "agent agent-card",
    "agents remove": "agent",
    "setup": "hooks-status mcp-status skills-status hooks-changed host skill-changed",
    "acp": "acp-log acp-stats",
    "mcp": "mcp-server",
    "resume": "resumption checked-out",
    "send": "routing",
    "inbox": "inbox delivery",
    "proposals create": "proposal-created",
    "proposals list": "proposal-list",
    "proposals show": "proposal",
    "proposals test": "proposal-test",
    "proposals accept": "proposal-reviewed",
    "proposals reject": "proposal-reviewed",
    "proposals apply": "proposal-reviewed",
    "proposals rollback": "proposal-reviewed",
    "collaborate open": "collaboration-started",
    "collaborate list": "collaboration-list",
    "collaborate show": "collaboration",
    "collaborate argue": "collaboration-changed",
    "collaborate close": "collaboration-changed",
    "facts propose": "proposed-fact",
    "facts list": "fact-list proposed-fact-list",
    "facts show": "fact proposed-fact",
    "facts accept": "fact",
    "facts reject": "fact-decision",
    "facts decide": "fact-decision",
    "facts run": "fact-run eligible-agents",
    "facts log": "fact-log",
    "memory update": "memory-update",
    "memory add": "memory-entry",
    "memory list": "memory-list memory-search memory-stats",
    "memory context": "memory-context",
    "memory actions": "memory-actions",
    "memory done": "memory-action",
    "memory prune": "memory-prune",
    "context": "context history export",
    "branch": "branch-list branch rename delete-branch abandon",
    "switch": "switch branch resumption",
    "rename": "rename",
    "tag": "tag-list tag",
    "merge": "merge merge-abort",
    "rebase": "rebase rebase-abort",
    "cherry-pick": "cherry-pick cherry-pick-abort",
    "conflicts list": "conflict-list",
    "mr open": "merge-request",
    "mr list": "merge-request-list",
    "mr show": "merge-request",
    "mr close": "merge-request",
    "conflicts show": "conflict",
    "conflicts resolve": "resolution",
    "conflicts escalate": "escalation",
    "conflicts argue": "collaboration-changed",
    "rewind": "rewind",
    "delete": "delete",
    "undo": "undo",
    "redo": "redo",
    "operations": "operation-list operation",
    "remote add": "remote",
    "remote list": "remote-list",
    "remote set-url": "remote",
    "remote remove": "remote",
    "push": "push deleted-on-remote bundle",
    "fetch": "fetch bundle-content remote-conversations",
    "pull": "pull",
    "clone": "clone",
    "init": "init",
    "verify": "verification signature-check certificate repair",
    "check": "check rule-list rule-explained rule-tests run-comparison",
    "gc": "gc",
    "doctor": "doctor",
    "config": "config-list config",
    "tokens": "tokens budget token-data",
    "help": "help",
}
# Fields of a document that a command does not print: `log` and `cat` share one.
ABSENT = {"log": ["conversation", "branch"], "cat": ["branches"]}
WITHOUT_DOCUMENT = {"completion", "version"}
# Objects whose keys are data, such as names of authors, and values of any form.
_MAPS = {
    *(
        "authors",
        "kinds",
        "models",
        "tools",
        "tool_errors",
        "tool_refusals",
        "tokens_by_model",
        "operations",
        "agents",
        "account_bytes",
    ),
    *("counts", "parts", "content", "left_out"),
}
_ANY = {"value", "before", "after", "extra", "details", "metadata", "left", "right", "added", "old_value", "new_value"}
_PAYLOADS = {"proposal", "analysis", "decision", "priority", "method", "collaboration_request", "usage"}
_NOTES = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"text": {"type": "string"}, "hint": {"type": "string"}},
        "required": ["text"],
    },
}
_PARAMETERS = {"type": "array", "items": {"type": "object", "required": ["names", "help"]}}
_WRITTEN = {
    "error": {
        "type": "object",
        "properties": {
            "error": {
                "type": "object",
                "properties": {
                    "kind": {"type": "string"},
                    "message": {"type": "string"},
                    "hint": {"type": "string"},
                    "retryable": {"type": "boolean"},
                },
                "required": ["kind", "message", "retryable"],
            }
        },
        "required": ["error"],
    },
    "diagram": {
        "type": "object",
        "properties": {
            "scopes": {"const": 1},
            "kind": {"const": "diagram"},
            "format": {"type": "string"},
            "text": {"type": "string"},
            "notes": _NOTES,
        },
        "required": ["scopes", "kind", "format", "text"],
    },
    "help": {
        "type": "object",
        "properties": {
            "scopes": {"const": 1},
            "kind": {"const": "help"},
            **{key: {"type": "string"} for key in ("command", "summary", "usage", "text")},
            "examples": {"type": "array", "items": {"type": "string"}},
            "arguments": _PARAMETERS,
            "options": _PARAMETERS,
        },
        "required": ["scopes", "kind", "command", "summary", "usage", "text", "examples", "arguments", "options"],
    },
}


_TEXT_TYPES = {"str", "Oid", "MessageId", "BranchName", "ConversationId", "OperationId"}


def walk_samples() -> Iterator[Any]:
    """Yield every sample and its variants."""
    for samples in SAMPLES.values():
        for sample in samples.values():
            result, options = unwrap(sample)
            yield sample
            for variant in walk_variants(result):
                yield WithOptions(variant, options)


def walk_variants(value: Any) -> Iterator[Any]:
    """Yield copies of a value, each with one field at any depth set to None, emptied or negated."""
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        for position, item in enumerate(value[:3]):
            for variant in walk_variants(item):
                yield (*value[:position], variant, *value[position + 1 :])
        return
    for name, annotation in _annotations(value).items():
        item = getattr(value, name)
        changed = list(walk_variants(item))
        if item is not None and "None" in annotation:
            changed.append(None)
        if isinstance(item, bool):
            changed.append(not item)
        elif item is None or item == ():
            changed += _fill(annotation)
        elif isinstance(item, (tuple, dict)) and item and not hasattr(item, "_fields"):
            changed.append(type(item)())
            changed += [item[:1]] if isinstance(item, tuple) and len(item) > 1 else []
        for each in changed:
            with contextlib.suppress(Exception):  # a Result may refuse the combination
                yield value._replace(**{name: each}) if hasattr(value, "_replace") else replace(value, **{name: each})


def _fill(annotation: str) -> list[Any]:
    """Return a value for a field that is None or empty, if its type is simple."""
    words = set(re.findall(r"\w+", annotation))
    if "Mapping" in words or "dict" in words:
        return []
    value: Any = "text" if words & _TEXT_TYPES else True if "bool" in words else 1 if "int" in words else None
    return [] if value is None else [(value,) if "tuple" in words or "Sequence" in words else value]


def _annotations(value: Any) -> dict[str, str]:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: str(field.type) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: str(type(value).__annotations__.get(name, "")) for name in value._fields}
    return {}


def document_name(sample: Any, shown: dict[str, Any]) -> str:
    """Return the name of the schema of a document."""
    return MESSAGE if isinstance(unwrap(sample)[0], (LogEntry, MessageView)) else str(shown["kind"])


class Shape:
    """What the values at one place of a document have in common."""

    def __init__(self) -> None:
        self.types: set[str] = set()
        self.constants: set[str] = set()
        self.objects = 0
        self.properties: dict[str, Shape] = {}
        self.present: dict[str, int] = {}
        self.items: Shape | None = None

    def add(self, value: Any) -> None:
        """Add one value."""
        self.types.add(_TYPES[type(value)])
        if isinstance(value, str):
            self.constants.add(value)
        elif isinstance(value, list):
            self.items = self.items or Shape()
            for item in value:
                self.items.add(item)
        elif isinstance(value, dict):
            self.objects += 1
            for key, item in value.items():
                self.properties.setdefault(key, Shape()).add(item)
                self.present[key] = self.present.get(key, 0) + 1

    def schema(self, name: str = "") -> dict[str, Any]:
        """Return the JSON Schema of all values that were added.

        `value` is never required: a resolution has one only if it is neither side.
        """
        if name in _ANY or (name in _PAYLOADS and "object" in self.types):
            return {}
        types = self.types - ({"integer"} if "number" in self.types else set())
        schema: dict[str, Any] = {}
        if types - {"null"}:
            schema["type"] = sorted(types) if len(types) > 1 else min(types)
        if self.items is not None and self.items.types:
            schema["items"] = self.items.schema("" if name != "parts" else "part")
        if "object" in types and name == "part":
            schema |= {"properties": {"type": {"type": "string"}}, "required": ["type"]}
        elif "object" in types and name in _MAPS:
            merged = Shape()
            for shape in self.properties.values():
                merged.merge(shape)
            schema["additionalProperties"] = merged.schema()
        elif "object" in types:
            schema["properties"] = {key: shape.schema(key) for key, shape in self.properties.items()}
            schema["required"] = [
                key for key, count in self.present.items() if count == self.objects and key != "value"
            ]
        return schema

    def merge(self, other: Shape) -> None:
        """Add all values of another shape."""
        self.types |= other.types
        self.objects += other.objects
        if other.items is not None:
            self.items = self.items or Shape()
            self.items.merge(other.items)
        for key, shape in other.properties.items():
            self.properties.setdefault(key, Shape()).merge(shape)
            self.present[key] = self.present.get(key, 0) + other.present[key]


_TYPES = {
    str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object", type(None): "null"
}  # fmt: skip


def make_schemas() -> dict[str, Any]:
    """Return the content of schemas.json."""
    shapes: dict[str, Shape] = {}
    rows_in: dict[str, str] = {}
    for sample in walk_samples():
        with contextlib.suppress(Exception):  # a variant that the renderer cannot get
            shown = document(sample)
            result = unwrap(sample)[0]
            rows_in[str(shown["kind"])] = "" if result.is_one_row else result.rows_in
            shapes.setdefault(document_name(sample, shown), Shape()).add(shown)
    documents = {
        name: _document_schema(name, shape, rows_in.get(name, "")) for name, shape in shapes.items()
    } | _WRITTEN
    columns = find_columns()
    commands = {}
    for command in TABLE.commands.values():
        path = " ".join(command.path)
        if path not in WITHOUT_DOCUMENT:
            names = DOCUMENTS[path].split()
            shown, hidden = columns[names[0]] if path in ROW_COMMANDS else ([], [])
            hidden += columns[TABLE_OF[path]][0] if path in TABLE_OF else []
            commands[path] = {"documents": names, "columns": shown, "hidden": hidden}
            if path in ABSENT:
                commands[path]["absent"] = ABSENT[path]
    return {"commands": commands, "documents": dict(sorted(documents.items()))}


# The commands whose text in a pipe is a table with one row for each thing.
ROW_COMMANDS = {
    path for path, names in DOCUMENTS.items() if names.split()[0].endswith("-list") or names.split()[0] in {MESSAGE, "blame", "search-hit", "change", "usage"}
} | {"memory actions", "verify", "doctor", "why", "setup", "acp"}  # fmt: skip
ROW_COMMANDS -= {"cat"}
TABLE_OF = {"show": "conversation-commits", "memory list": "memory-search"}  # the document of an option that makes rows


def find_columns() -> dict[str, tuple[list[str], list[str]]]:
    """Return the columns of the text form of each document, and those that only templates see."""
    found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for samples in SAMPLES.values():
        for sample in samples.values():
            result, options = unwrap(sample)
            if getattr(options, "graph", False) or getattr(options, "oneline", False):
                continue
            shown, hidden = found.setdefault(document_name(sample, document(sample)), ({}, {}))

            class ColumnView(View):
                def rows(self, columns, rows, *, title=None, shown=shown, hidden=hidden):  # type: ignore[no-untyped-def]
                    for column in columns:
                        (hidden if column.hidden else shown)[column.field] = None

            render_text(result, ColumnView(lambda _: None, options=options))
    return {name: (list(shown), list(hidden)) for name, (shown, hidden) in found.items()}


def _document_schema(name: str, shape: Shape, rows_in: str) -> dict[str, Any]:
    schema = shape.schema()
    kinds = sorted(shape.properties["kind"].constants)
    schema["properties"]["scopes"] = {"const": 1}
    schema["properties"]["kind"] = {"type": "string"} if name == MESSAGE else {"const": kinds[0]}
    schema["properties"]["notes"] = _NOTES
    if name == MESSAGE:
        schema["properties"] |= {payload_key(kind): {} for kind in sorted(TYPED_KINDS)}
    rows = "messages_found" if name == "search" else rows_in
    if rows in schema["properties"]:
        schema["x-rows"] = rows
    row = schema["properties"][rows]["items"] if "x-rows" in schema else schema
    joined = [key for key in find_joined_keys({"kind": name}) if key in row.get("properties", ())]
    if joined:
        schema["x-joined"] = joined
    return schema


def dump_schemas(schemas: dict[str, Any]) -> str:
    """Return the file's text: one line for each command and each document."""
    parts = []
    for part, entries in schemas.items():
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items())
        parts.append(f"{json.dumps(part)}: {{\n{lines}\n}}")
    return "{" + ",\n".join(parts) + "}\n"


def main(arguments: list[str]) -> int:
    """Write the file, or with `--check` return 1 if it is out of date."""
    text = dump_schemas(make_schemas())
    if FILE.exists() and FILE.read_text(encoding="utf-8") == text:
        return 0
    if "--check" in arguments:
        print("run: python -m tests.schemas")
        return 1
    FILE.write_text(text, encoding="utf-8")
    print(FILE)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
