"""The documentation of a command: usage, text, arguments, options; printed by help and in manual pages.

Help reads it from command_docs.json, which `generate` writes, so that it loads neither typer nor the command's module.
`inspect_command` builds it from the command's function.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

DOCS_FILE = os.path.join(os.path.dirname(__file__), "command_docs.json")


@dataclass(frozen=True, slots=True)
class ParameterDocs:
    """An argument (without names) or an option; `value` is the placeholder of its value, None for a switch."""

    names: tuple[str, ...]
    value: str | None
    help: str
    choices: tuple[str, ...] = ()
    default: str | None = None
    required: bool = False
    repeated: bool = False

    @property
    def label(self) -> str:
        """The names and the value, as in help: `-z, --nul`, `--branch BRANCH`, `CONV`."""
        return " ".join(filter(None, (", ".join(self.names), self.value)))


@dataclass(frozen=True, slots=True)
class CommandDocs:
    """The documentation of one command; `text` is the docstring without its summary and examples.

    `columns` are those of its rows in a pipe and with --porcelain, `fields` those of --fields and of templates, and
    `template` is an example of one, empty if no usual field says what a row is.
    """

    spelling: str
    summary: str
    usage: str
    text: str
    examples: str
    arguments: tuple[ParameterDocs, ...]
    options: tuple[ParameterDocs, ...]
    columns: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    template: str = ""


def dump_docs(commands: dict[tuple[str, ...], CommandDocs]) -> str:
    """Return the content of command_docs.json."""
    return json.dumps({" ".join(path): asdict(docs) for path, docs in commands.items()}, indent=1) + "\n"


def docs_line(docs: CommandDocs) -> str:
    """Return the documentation of a command as one line of JSON."""
    document = {
        "scopes": 1,
        "kind": "help",
        "command": docs.spelling,
        "summary": docs.summary,
        "usage": docs.usage,
        "text": docs.text,
        "examples": docs.examples.splitlines(),
        "arguments": [_without_none(part) for part in docs.arguments],
        "options": [_without_none(part) for part in docs.options],
        "columns": list(docs.columns),
        "fields": list(docs.fields),
    }
    return json.dumps(document, ensure_ascii=False) + "\n"


def _without_none(part: ParameterDocs) -> dict[str, Any]:
    return {name: value for name, value in asdict(part).items() if value is not None}


def read_docs(path: tuple[str, ...]) -> CommandDocs | None:
    """Read the documentation of one command from command_docs.json; None if it is not in it."""
    docs = _read_all_docs().get(" ".join(path))
    if docs is None:
        return None
    lists = {
        "arguments": tuple(_parameter(document) for document in docs["arguments"]),
        "options": tuple(_parameter(document) for document in docs["options"]),
        "columns": tuple(docs["columns"]),
        "fields": tuple(docs["fields"]),
    }
    return CommandDocs(**{**docs, **lists})


@cache
def _read_all_docs() -> dict[str, dict[str, Any]]:
    with open(DOCS_FILE, encoding="utf-8") as file:
        docs: dict[str, dict[str, Any]] = json.load(file)
    return docs


def _parameter(document: dict[str, Any]) -> ParameterDocs:
    return ParameterDocs(**{**document, "names": tuple(document["names"]), "choices": tuple(document["choices"])})
