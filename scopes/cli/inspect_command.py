"""Build the documentation of a command from its function: signature, help texts and docstring.

This imports typer and the command's module; `command_docs` reads the stored result without them.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from enum import Enum

import typer
import typer.core

from scopes.cli.command_docs import CommandDocs, ParameterDocs
from scopes.cli.global_options import GLOBAL_OPTIONS
from scopes.cli.parser import build_parser
from scopes.cli.schemas import example_template, read_rows
from scopes.cli.table import Command

_EXAMPLES = "Examples:"


def inspect_command(command: Command) -> CommandDocs:
    """Return the documentation of a command."""
    parser = build_parser(command)
    arguments = tuple(_argument(p) for p in parser.params if isinstance(p, typer.core.TyperArgument) and not p.hidden)
    options = tuple(_option(p) for p in parser.params if isinstance(p, typer.core.TyperOption) and not p.hidden)
    summary, _, body = inspect.cleandoc(parser.help or "").partition("\n")
    text, _, examples = body.partition(f"\n{_EXAMPLES}\n")
    spelling = command.spelling
    usage = " ".join((spelling, *_usage(arguments, options)))
    rows = read_rows(command.path)
    return CommandDocs(
        spelling, summary, usage, text.strip("\n"), inspect.cleandoc("\n" + examples), arguments, options,
        rows.columns, rows.fields, example_template(rows),
    )  # fmt: skip


def inspect_types(command: Command) -> dict[str, str]:
    """Return the parameter of each option and argument, by name or position: its name in the function and its type.

    `direct` explains the types; `!` marks what is required.
    """
    types: dict[str, str] = {}
    position = 0
    for parameter in build_parser(command).params:
        if isinstance(parameter, typer.core.TyperArgument):
            position += 1
            types[str(position)] = _type_of(parameter)
        elif isinstance(parameter, typer.core.TyperOption):
            types.update(dict.fromkeys(parameter.opts, _type_of(parameter)))
    return types


def _type_of(parameter: typer.core.TyperArgument | typer.core.TyperOption) -> str:
    kind = _kind_of(parameter)
    return f"{parameter.name} {kind}{'!' * parameter.required}"


def _kind_of(parameter: typer.core.TyperArgument | typer.core.TyperOption) -> str:
    """Return the type of the value of a parameter; empty if it is not one of those that `direct` reads."""
    kind = type(parameter.type).__name__
    if getattr(parameter, "secondary_opts", ()) or parameter.callback is not None or parameter.envvar is not None:
        return ""
    if getattr(parameter, "is_flag", False):
        return "flag" if kind == "BoolParamType" and parameter.default is False else ""
    if getattr(parameter, "multiple", False) or parameter.nargs == -1:
        return "texts" if kind == "StringParamType" else ""
    if parameter.nargs != 1:
        return ""
    if kind == "IntRange" and getattr(parameter.type, "max", None) is None:
        return f"whole>={getattr(parameter.type, 'min', 0)}"
    return {"StringParamType": "text", "IntParamType": "whole", "TyperChoice": "choice"}.get(kind, "")


def inspect_global_options() -> tuple[ParameterDocs, ...]:
    """Return the documentation of the global options."""
    return tuple(
        ParameterDocs(option.names, option.value, option.help, choices=option.choices, repeated=option.repeated)
        for option in GLOBAL_OPTIONS
    )


def _usage(arguments: Sequence[ParameterDocs], options: Sequence[ParameterDocs]) -> list[str]:
    words = [f"{option.names[0]} {option.value}" for option in options if option.required]
    if len(words) < len(options):
        words.insert(0, "[OPTIONS]")
    for part in arguments:
        word = f"{str(part.value).removesuffix('...')}..." if part.repeated else f"{part.value}"
        words.append(word if part.required else f"[{word}]")
    return words


def _argument(parameter: typer.core.TyperArgument) -> ParameterDocs:
    return ParameterDocs(
        names=(),
        value=_value_name(parameter),
        help=parameter.help or "",
        choices=_choices(parameter),
        default=_default(parameter),
        required=parameter.required,
        repeated=parameter.nargs == -1,
    )


def _option(parameter: typer.core.TyperOption) -> ParameterDocs:
    return ParameterDocs(
        names=(*parameter.opts, *parameter.secondary_opts),
        value=None if parameter.is_flag or parameter.count else _value_name(parameter),
        help=parameter.help or "",
        choices=_choices(parameter),
        default=_default(parameter),
        required=parameter.required,
        repeated=parameter.multiple,
    )


def _value_name(parameter: typer.core.TyperArgument | typer.core.TyperOption) -> str:
    name = parameter.metavar or (parameter.name or "value").upper().replace("_", "-").strip("-")
    return name[1:-1] if name.startswith("[") else name


def _choices(parameter: typer.core.TyperArgument | typer.core.TyperOption) -> tuple[str, ...]:
    return tuple(_as_text(choice) for choice in getattr(parameter.type, "choices", ()))


def _default(parameter: typer.core.TyperArgument | typer.core.TyperOption) -> str | None:
    default = parameter.default
    if not parameter.show_default or callable(default) or isinstance(default, bool):
        return None
    return _as_text(default) if default not in (None, "", (), []) else None


def _as_text(value: object) -> str:
    return str(value.value) if isinstance(value, Enum) else str(value)
