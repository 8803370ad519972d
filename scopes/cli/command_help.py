"""Help of one command, made from its function: signature, help texts of options, docstring, manual and fields.

A file `manual/COMMAND.txt`, such as facts-run.txt, has what the help leaves out: a line `# TITLE` begins each section,
and the text is written as in a docstring.
"""

from __future__ import annotations

import inspect
import json
import os
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple

import typer.core

from scopes.cli.parser import build_parser
from scopes.cli.schemas import read_rows
from scopes.cli.table import Command, Table

MANUAL = os.path.join(os.path.dirname(__file__), "manual")
# Options that have one meaning wherever they are taken; help lists them after those of the command.
SHARED = (
    "--limit", "--all", "--since", "--until", "--project", "--agent", "--model", "--branch", "--message", "--data",
    "--to", "--queue", "--reason", "--confidence", "--output", "--force", "--max-tokens", "--continue", "--abort",
    "--skip",
)  # fmt: skip
_MAX_LABEL = 26
_SEE_ALSO = {
    "list": "search show usage", "show": "list log cat", "log": "show cat search", "cat": "log show",
    "search": "list log", "why": "log decisions", "diff": "log merge bisect", "usage": "list show",
    "changes": "log operations", "bisect": "diff log", "import": "setup list", "export": "context resume",
    "new": "append import", "append": "amend retract send", "amend": "retract cat", "retract": "amend undo",
    "decisions": "search why", "summarize": "context retract", "context": "export memory tokens",
    "resume": "context acp", "branch": "switch merge rename", "switch": "branch", "rename": "branch tag",
    "tag": "branch show", "merge": "branch conflicts undo", "rebase": "merge cherry-pick", "cherry-pick": "rebase",
    "rewind": "undo branch", "delete": "undo purge", "undo": "redo operations", "redo": "undo operations",
    "operations": "undo redo", "conflicts": "merge", "mr": "merge branch", "check": "log search",
    "push": "pull remote secrets", "fetch": "pull remote", "pull": "push fetch merge", "clone": "pull remote",
    "remote": "push fetch", "secrets": "redact purge", "redact": "secrets export", "purge": "secrets delete gc",
    "setup": "import mcp acp", "acp": "setup resume", "mcp": "setup", "agents": "send inbox", "send": "inbox agents",
    "inbox": "send agents", "memory": "context", "proposals": "facts", "facts": "proposals agents",
    "collaborate": "send conflicts", "init": "config import", "verify": "doctor gc", "gc": "verify purge",
    "doctor": "verify config", "config": "doctor", "tokens": "context usage", "completion": "help",
    "help": "config completion",
}  # fmt: skip
EXIT_CODES = (
    ("0", "Success."),
    (
        "1",
        "Refused, and nothing was changed; nothing was found; two things differ; a check or an agent failed.",
    ),
    ("2", "Usage error: the command line is invalid."),
    ("3", "Stopped on conflicts, which are stored until they are resolved."),
    ("4", "Not found: a conversation, branch, message, operation, file or setting."),
    ("5", "Ambiguous: a prefix matches more than one name."),
    ("6", "Busy: another process has locked the store, or runs the agents of a conversation; try again."),
    ("7", "Unreadable: corrupt, written by a newer version, or of an unknown format."),
    ("8", "Cannot read or write: disk, permissions or owner; or the store, which was there, is gone."),
    ("9", "A limit was reached; the result is partial."),
    ("70", "A bug in scopes; the path of a crash file with details is printed."),
    ("130", "Interrupted by Ctrl-C."),
    ("141", "The reader of the output closed it; nothing is printed."),
)

ENVIRONMENT = (
    ("SCOPES_STORE", "The store to use, unless --store is given."),
    ("SCOPES_KEY", "Sets scopes.KEY for this run: SCOPES_LOCK_TIMEOUT=5 is -c scopes.lockTimeout=5."),
    ("SCOPES_CONVERSATION, SCOPES_MESSAGE, SCOPES_REVISION", "What the command of scopes bisect has to judge."),
    (
        "GITHUB_ACTIONS",
        "If true, text output has no workflow commands, and check writes annotations and a summary.",
    ),
    (
        "GITHUB_BASE_REF, CI_MERGE_REQUEST_DIFF_BASE_SHA, CHANGE_TARGET",
        "The base of the change; check reads the policy from it.",
    ),
    ("CLAUDE_PROJECT_DIR, GEMINI_PROJECT_DIR", "The directory of the project, for check --hook."),
    ("SCOPES_PAGER, GIT_PAGER, PAGER", "The pager: the first one that is set; SCOPES_PAGER=cat disables it."),
    ("NO_COLOR, CLICOLOR_FORCE, FORCE_COLOR, CLICOLOR", "Whether to color the output, unless --color is given."),
    ("COLUMNS", "The width of the output."),
    ("TIKTOKEN_CACHE_DIR", "The directory of tiktoken's data, for exact token counts."),
    ("XDG_DATA_HOME, XDG_STATE_HOME, XDG_CACHE_HOME, XDG_CONFIG_HOME", "The directories of the files below."),
)

FILES = (
    (".git/scopes", "The store of a project, created by scopes init."),
    ("~/.local/share/scopes/store.git", "The store of the user, if no other is selected."),
    ("~/.local/state/scopes", "Crash files."),
    ("~/.cache/scopes", "Caches that may be deleted at any time: search index, token data, contexts."),
    ("~/.gitconfig, ~/.config/git/config", "User settings: the keys scopes.*."),
)

REFS = (
    ("refs/heads/CONVERSATION/BRANCH", "The branches. message.json in a commit is the message, state/ its claims."),
    ("refs/scopes/meta/CONVERSATION", "Title, tags and branch entries."),
    ("refs/scopes/sources/KEY", "The bytes of an imported transcript."),
    ("refs/scopes/memory", "Memory entries, one JSON file each."),
    ("refs/scopes/agents", "Registered agents and their inboxes."),
    ("refs/scopes/facts, refs/scopes/proposed-facts", "Facts with decisions and cycles; proposed facts."),
    ("refs/scopes/operations", "The operation log, for undo."),
    ("refs/scopes/trash/...", "What was deleted, until gc --expire."),
)


class Parameter(NamedTuple):
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
        """The names and the value, as in help: `-z, --nul`, `--branch BRANCH`, `--watch[=SECONDS]`, `CONV`."""
        return " ".join(filter(None, (", ".join(self.names), self.value))).replace(" [=", "[=")

    @property
    def text(self) -> str:
        """The help text, with the choices and the default if it does not name them."""
        extras = [f"one of: {', '.join(self.choices)}"] if self.choices and self.choices[0] not in self.help else []
        extras += [f"default: {self.default}"] if self.default is not None and "default" not in self.help else []
        extras += ["required"] if self.required and self.names else []
        return f"{self.help} ({'; '.join(extras)})".strip() if extras else self.help


class Docs(NamedTuple):
    """The documentation of one command; `text` is the docstring without its summary and examples."""

    command: Command
    summary: str
    usage: str
    text: str
    examples: str
    arguments: tuple[Parameter, ...]
    options: tuple[Parameter, ...]


def read_docs(command: Command) -> Docs:
    """Return the documentation of a command; of its options the shared ones come last."""
    parser = build_parser(command)
    visible = [each for each in parser.params if not getattr(each, "hidden", False)]
    arguments = tuple(_parameter(each) for each in visible if isinstance(each, typer.core.TyperArgument))
    options = [_parameter(each) for each in visible if isinstance(each, typer.core.TyperOption)]
    options.sort(key=lambda part: any(name in SHARED for name in part.names))
    summary, _, body = inspect.cleandoc(parser.help or "").partition("\n")
    text, _, examples = body.partition("\nExamples:\n")
    usage = " ".join((command.spelling, *_usage(arguments, options)))
    summary = summary if summary.endswith("...") else summary.removesuffix(".")
    return Docs(command, summary, usage, text.strip("\n"), inspect.cleandoc("\n" + examples), arguments,
                tuple(options))  # fmt: skip


def _usage(arguments: Sequence[Parameter], options: Sequence[Parameter]) -> Iterator[str]:
    yield from (f"{option.names[-1]} {option.value}" for option in options if option.required)
    for part in arguments:
        word = f"{part.value}"
        if "] " in word:  # it says by itself what may be left out
            yield word
        elif "-- " not in word:
            word = f"{word.removesuffix('...')}..." if part.repeated else word
            yield word if part.required else f"[{word}]"
    if any(not option.required for option in options):
        yield "[OPTIONS]"
    yield from (f"{part.value}" for part in arguments if "-- " in f"{part.value}")


def _parameter(parameter: typer.core.TyperArgument | typer.core.TyperOption) -> Parameter:
    names: list[str] = []
    value: str | None = parameter.metavar or (parameter.name or "value").upper().replace("_", "-")
    if isinstance(parameter, typer.core.TyperOption):
        names = sorted((*parameter.opts, *parameter.secondary_opts), key=len)
        value = parameter.metavar if parameter.is_flag or parameter.count else value
    elif value and value.startswith("[") and "] " not in value and "-- " not in value:
        value = value[1:].removesuffix("]")
    default = parameter.default
    is_shown = parameter.show_default and not callable(default) and not isinstance(default, bool)
    return Parameter(
        names=tuple(names),
        value=value,
        help=parameter.help or "",
        choices=tuple(map(_as_text, getattr(parameter.type, "choices", ()))),
        default=_as_text(default) if is_shown and default not in (None, "", (), []) else None,
        required=parameter.required,
        repeated=getattr(parameter, "multiple", False) or parameter.nargs == -1,
    )


def _as_text(value: object) -> str:
    return str(value.value) if isinstance(value, Enum) else str(value)


def docs_line(docs: Docs) -> str:
    """Return the documentation of a command as one line of JSON."""
    rows = read_rows(docs.command.path)
    document = {
        "scopes": 1,
        "kind": "help",
        "command": docs.command.spelling,
        "summary": docs.summary,
        "usage": docs.usage,
        "text": docs.text,
        "examples": docs.examples.splitlines(),
        "arguments": [_without_none(part) for part in docs.arguments],
        "options": [_without_none(part) for part in docs.options],
        "columns": list(rows.columns),
        "fields": list(rows.fields),
    }
    return json.dumps(document, ensure_ascii=False) + "\n"


def _without_none(part: Parameter) -> dict[str, Any]:
    return {name: value for name, value in part._asdict().items() if value is not None}


def command_page(table: Table, docs: Docs, width: int) -> str:
    """Return the help of a command: what it does, its form, examples and options; the manual has the rest."""
    lines = _head(docs, width, docs.text.partition("\n\n")[0])
    lines += ["", *fill(f"{_see_also(table, docs)}; its manual: scopes help -a {' '.join(docs.command.path)}", width)]
    return "\n".join(lines) + "\n"


def manual_page(table: Table, docs: Docs, width: int) -> str:
    """Return the help of a command, all of its text, the sections of its manual, its settings, fields and columns."""
    lines = _head(docs, width, docs.text)
    for title, rows in reference(docs.command):
        lines += ["", title, *columns(rows, width)]
    for title, text in split_manual(read_manual(docs.command.path)):
        lines += ["", title.capitalize(), *fill(text, width)]
    for title, text in rows_text(docs.command):
        lines += ["", *fill(f"{title}: {text}", width)]
    lines += ["", *fill(_see_also(table, docs), width)]
    return "\n".join(lines) + "\n"


def _head(docs: Docs, width: int, text: str) -> list[str]:
    lines = [docs.summary, "", f"usage: {docs.usage}"]
    if text:
        lines += ["", *fill(text, width)]
    if docs.examples:
        lines += ["", "examples:", *(f"  {line}".rstrip() for line in docs.examples.splitlines())]
    rows = [(part.label, part.text) for part in (*docs.arguments, *docs.options)]
    return [*lines, "", *columns(rows, width), "  global: scopes help --all"]


def _see_also(table: Table, docs: Docs) -> str:
    path = docs.command.path
    names = [" ".join(each.path) for each in table.members(path[:-1]) if len(path) > 1 and each.path != path][:3]
    names += [name for name in _SEE_ALSO.get(path[0], "").split() if (name,) in table.commands | table.groups]
    return f"see also: {', '.join(names or ['help'])}"


def reference(command: Command) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the further tables of the manual of a command: of `config` the settings, variables, files and refs."""
    if command.path[0] == "config":
        from scopes.store.config import SETTINGS

        yield "Settings", list(SETTINGS.items())
        yield "Environment variables", list(ENVIRONMENT)
        yield "Files", list(FILES)
        yield "Refs of a store", list(REFS)
        yield "Exit codes", list(EXIT_CODES)


def rows_text(command: Command) -> list[tuple[str, str]]:
    """Return what the rows of a command hold: columns in a pipe, and fields of --json and --format."""
    rows = read_rows(command.path)
    parts = [("columns in a pipe", rows.columns), ("fields of --json and --format", rows.fields)]
    return [(title, ", ".join(names)) for title, names in parts if names]


def read_manual(path: tuple[str, ...]) -> str:
    """Return the further sections of a command's manual; an empty text if it has none."""
    file = os.path.join(MANUAL, f"{'-'.join(path)}.txt")
    if not os.path.exists(file):
        return ""
    with open(file, encoding="utf-8") as stream:
        return stream.read()


def split_manual(manual: str) -> list[tuple[str, str]]:
    """Return the sections of a manual as (title, text)."""
    sections = (section.partition("\n") for section in f"\n{manual}".split("\n# ")[1:])
    return [(title, text.strip("\n")) for title, _, text in sections]


def blocks(text: str) -> Iterator[tuple[bool, list[str]]]:
    """Yield the paragraphs of a help text as (verbatim, lines); indented lines are verbatim, and are not wrapped."""
    for paragraph in text.strip("\n").split("\n\n"):
        rows = paragraph.strip("\n").split("\n")
        start = 0
        for place in range(1, len(rows) + 1):
            if place == len(rows) or rows[place].startswith(" ") != rows[start].startswith(" "):
                yield rows[start].startswith(" "), rows[start:place]
                start = place


def fill(text: str, width: int) -> list[str]:
    """Wrap the paragraphs of a text and separate them by empty lines."""
    lines: list[str] = []
    for verbatim, rows in blocks(text):
        if lines and not (verbatim and lines[-1].endswith(":")):
            lines.append("")
        lines += (
            rows if verbatim else textwrap.wrap(" ".join(rows), width, break_long_words=False, break_on_hyphens=False)
        )
    return [line.rstrip() for line in lines]


def columns(rows: Iterable[tuple[str, str]], width: int) -> list[str]:
    """Format (label, text) rows in two columns; a label that is too long gets its own line."""
    lines: list[str] = []
    rows = list(rows)
    start = 4 + max((len(label) for label, _ in rows if len(label) <= _MAX_LABEL), default=0)
    for label, text in rows:
        wrapped = textwrap.wrap(text, max(20, width - start), break_long_words=False) or [""]
        first = "" if len(label) > _MAX_LABEL else wrapped.pop(0)
        lines += [f"  {label}".ljust(start) + first, *(" " * start + line for line in wrapped)]
    return [line.rstrip() for line in lines]
