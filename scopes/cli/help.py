"""Help texts: of the program and of groups from the command table, of commands from their stored documentation."""

from __future__ import annotations

import os

from scopes.cli.command_line import split_words
from scopes.cli.environment_docs import ENVIRONMENT, EXIT_CODES, FILES, REFS
from scopes.cli.global_options import GLOBAL_OPTIONS
from scopes.cli.suggestion import unknown_word
from scopes.cli.table import TABLE
from scopes.cli.text_wrap import columns, fill
from scopes.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from scopes.cli.command_docs import CommandDocs, ParameterDocs
    from scopes.cli.command_line import CommandLine
    from scopes.cli.global_options import GlobalOption
    from scopes.cli.invocation import Invocation
    from scopes.cli.table import Command, Table

_MAX_COLUMNS = 100


def answer_without_command(table: Table, line: CommandLine, invocation: Invocation) -> int:
    """Print the overview of the program or of a group."""
    if line.missing_value is not None:
        raise Invalid(f"option {line.missing_value!r} requires an argument", hint="see: scopes help")
    _print(invocation, format_overview(table, line.path, terminal_width(invocation.environ)))
    return 0


def explain(table: Table, words: list[str], invocation: Invocation, *, include_all: bool = False) -> int:
    """Print the help of a command or group; commands of the default group can be named without the group.

    `schemas` explains the JSON Schemas. Without words, print the overview; with `include_all` all commands, exit codes,
    environment variables and files, or the further sections of the manual pages of a command or a group.
    """
    if words[:1] == ["schemas"]:
        from scopes.cli.schemas import explain_schemas

        return int(explain_schemas(words[1:], invocation))
    line = split_words(table, words)
    if line.unknown is not None:
        raise unknown_word(table, line)
    width = terminal_width(invocation.environ)
    if line.command is not None:
        docs = _read_docs(table, line.command)
        if invocation.json:
            from scopes.cli.command_docs import docs_line

            invocation.stdout.write(docs_line(docs))
            return 0
        text = format_command(docs, width, reads_past=line.command.reads_past)
        text += format_manual(line.command.path, width) if include_all else ""
    elif line.path or include_all:
        text = format_group(table, line.path, width)
        text += _format_manuals(table, line.path, width) if include_all else ""
    else:
        text = format_overview(table, (), width)
    _refuse_json(invocation)
    _print(invocation, text)
    return 0


def _format_manuals(table: Table, path: tuple[str, ...], width: int) -> str:
    """Return what `--all` adds to the help of a group: the manuals of its commands; of the program, its reference."""
    if not path:
        return format_reference(width)
    commands = [command for command in table.commands.values() if command.path[: len(path)] == path]
    text = "".join(format_manual(each.path, width, f"{' '.join(each.path)}: ") for each in commands)
    return f"{text}\nExit codes, global options, environment variables and files: scopes help --all\n"


def format_manual(path: tuple[str, ...], width: int, prefix: str = "") -> str:
    """Return the further sections of the manual page of a command; an empty text if it has none."""
    lines: list[str] = []
    from scopes.cli.man_pages import read_manual, split_manual

    for title, text in split_manual(read_manual(path)):
        lines += ["", f"{prefix}{title.lower()}:", *fill(text, width)]
    return "".join(f"{line}\n" for line in lines)


def _refuse_json(invocation: Invocation) -> None:
    """Raise Invalid if `--json` is given: only the help of one command has a JSON form."""
    if invocation.json:
        raise Invalid("--json needs one command to explain", hint="for example: scopes help merge --json")


def _print(invocation: Invocation, text: str) -> None:
    """Print a help text, on a terminal through the pager if it does not fit."""
    if invocation.stdout.isatty():
        invocation.output().page(text)
    else:
        invocation.stdout.write(text)


def _read_docs(table: Table, command: Command) -> CommandDocs:
    """Return the documentation of a command: stored for the product's table, built from its function for others."""
    stored: CommandDocs | None = None
    if table is TABLE:
        from scopes.cli.command_docs import read_docs

        stored = read_docs(command.path)
    from scopes.cli.inspect_command import inspect_command

    return stored or inspect_command(command)


def terminal_width(environ: Mapping[str, str]) -> int:
    """Return the width of help texts: COLUMNS, else the terminal's, else 80; at least 40, at most 100."""
    given = environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return max(40, min(int(given), _MAX_COLUMNS))
    try:
        return max(40, min(os.get_terminal_size(1).columns, _MAX_COLUMNS))
    except OSError:
        return 80


def format_overview(table: Table, path: tuple[str, ...], width: int) -> str:
    """Return the commands that people start with, on one screen; for small groups all of them."""
    if not table.overview or path:
        return format_group(table, path, width)
    lines = ["usage: scopes [OPTIONS] COMMAND [ARGUMENTS]", "", "git for agent conversations.", ""]
    for title, names in table.overview.items():
        commands = [(each, split_words(table, each.split()).command) for each in names]
        rows = [(each, c.summary) for each, c in commands if c is not None]
        lines += [f"{title}:", *columns(rows, width)] if rows else []
    return "\n".join((*lines, "", "All commands: scopes help --all. One command: scopes help COMMAND")) + "\n"


def format_group(table: Table, path: tuple[str, ...], width: int) -> str:
    """Return the help of the program (empty path) or of a group, in sections as in git."""
    if path:
        name = table.groups[path].spelling
        head = [f"usage: {name} COMMAND [ARGUMENTS]", "", f"{table.groups[path].summary}."]
        commands = [command for command in table.commands.values() if command.path[: len(path)] == path]
    else:
        name = "scopes"
        head = ["usage: scopes [OPTIONS] COMMAND [ARGUMENTS]", "", "git for agent conversations."]
        commands = list(table.commands.values())
    sections = dict.fromkeys(command.section for command in commands)
    body: list[str] = []
    for section in sections:
        rows = [
            (command.spelling.removeprefix(f"{name} "), command.summary)
            for command in commands
            if command.section == section
        ]
        body += ["", f"{section}:", *columns(rows, width)]
    tail = ["", f"Help for one command: scopes help {' '.join(path)}".rstrip() + " COMMAND"]
    options = [] if path else ["", "global options:", *columns(_global_rows(), width)]
    return "\n".join((*head, *body, *options, *tail)) + "\n"


def format_reference(width: int) -> str:
    """Return the list of exit codes, environment variables and files."""
    lines: list[str] = []
    sections = (
        ("exit codes", EXIT_CODES), ("environment variables", ENVIRONMENT), ("files", FILES), ("refs of a store", REFS),
    )  # fmt: skip
    for title, rows in sections:
        lines += ["", f"{title}:", *columns(rows, width)]
    return "\n".join(lines) + "\n"


def _global_rows() -> list[tuple[str, str]]:
    return [(", ".join(option.names) + value_text(option), option.help) for option in GLOBAL_OPTIONS]


def value_text(option: GlobalOption) -> str:
    """Return the value of an option as the help shows it; one that may be left out needs `=`."""
    if option.value is None:
        return ""
    return f"[={option.value}]" if option.is_optional or option.key == "porcelain" else f" {option.value}"


def format_command(docs: CommandDocs, width: int, *, reads_past: bool = False) -> str:
    """Return the help of a command: usage, summary, examples, text, arguments, options, settings."""
    lines = [f"usage: {docs.usage}", "", docs.summary]
    if docs.examples:
        lines += ["", "examples:", *(f"  {line}".rstrip() for line in docs.examples.splitlines())]
    if docs.text:
        lines += ["", *fill(docs.text, width)]
    for title, parts in (("arguments", docs.arguments), ("options", docs.options)):
        if parts:
            lines += ["", f"{title}:", *columns(((part.label, parameter_text(part)) for part in parts), width)]
    if any(part.value == "KEY" for part in docs.arguments):
        from scopes.store.config import SETTINGS

        lines += ["", "settings:", *columns(SETTINGS.items(), width)]
    for title, text in rows_text(docs):
        lines += ["", *fill(f"{title}: {text}", width)]
    names = " ".join(option.names[-1] for option in GLOBAL_OPTIONS if reads_past or not option.reads_past)
    lines += ["", *fill(f"global options (see: scopes help --all): {names}", width)]
    return "\n".join(lines) + "\n"


def rows_text(docs: CommandDocs) -> list[tuple[str, str]]:
    """Return what a command's rows hold: columns of --porcelain, fields of --fields and --format, and a template."""
    own_format = any("--format" in option.names for option in docs.options)
    fields = "fields of --fields" if own_format else "fields of --fields and --format"
    parts = [("columns in a pipe and with --porcelain", docs.columns), (fields, docs.fields)]
    rows = [(title, ", ".join(names)) for title, names in parts if names]
    return [*rows, ("for example", f"--format '{docs.template}'")] if docs.template and not own_format else rows


def parameter_text(part: ParameterDocs) -> str:
    """Return the help text of an argument or option, with its choices and default."""
    extras = [f"one of: {', '.join(part.choices)}"] if part.choices else []
    extras += [f"default: {part.default}"] if part.default is not None else []
    extras += ["may be repeated"] if part.repeated and part.names else []
    extras += ["required"] if part.required and part.names else []
    return f"{part.help} ({'; '.join(extras)})".strip() if extras else part.help
