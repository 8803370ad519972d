"""Parse and run one command with typer: add the global options, call the function, translate usage errors."""

from __future__ import annotations

import functools
import re
import shlex
import typing
from collections.abc import Callable, Iterator
from typing import Any

import typer
import typer.core
from typer.exceptions import TyperException

from scopes.cli.command_line import ALL_FIELDS, CommandLine, before_separator
from scopes.cli.invocation import Invocation
from scopes.cli.suggestion import command_of_option, did_you_mean, nearest
from scopes.cli.table import GLOBAL_OPTIONS, HELP, VERSION, Command, GlobalOption
from scopes.errors import Invalid
from scopes.loading import load

# Keeps the keys of the global options apart from the parameters of the command, such as `settings`.
_PREFIX = "global_"
_SETTINGS = "--global-settings"  # for `-c KEY=VALUE` before a command with a -c of its own, such as `switch -c`
_PLACES = ("CONV", "WHERE", "ANYTHING", "MESSAGE")  # in the placeholder of an argument that names a place
_EXTRA_ARGUMENTS = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", re.DOTALL)
_PLAIN_TERMS = (
    *((term, "a whole number") for term in ("a valid int range", "a valid integer", "a valid int")),
    *((term, "a number") for term in ("a valid float range", "a valid float")),
)


def run(line: CommandLine, invocation: Invocation) -> int:
    """Parse the words of one command, call its function, and return the exit code (None is 0).

    Raises:
        Invalid: the words are not valid for this command.
    """
    command = line.command
    assert command is not None  # noqa: S101  `dispatch` calls this only with a command
    spelling = command.spelling
    try:
        parser, context = make_context(load(command.target), line, spelling, invocation)
        with context:
            invocation.begin(command, spelling, pop_shared(context))
            if invocation.fields or invocation.template is not None:
                from scopes.cli.schemas import check_fields

                check_fields(command.path, invocation)
            return parser.invoke(context) or 0
    except typer.Exit as ended:
        return ended.exit_code
    except TyperException as error:
        hint = f"see: scopes help {' '.join(command.path)}"
        separator = _separator_hint(error, spelling, line.rest)
        raise _usage_error(error, "\n".join((hint, *separator)), line) from error


def make_context(
    function: Callable[..., int | None], line: CommandLine, spelling: str, invocation: Invocation
) -> tuple[typer.core.TyperCommand, Any]:
    """Return the parser of a command function, and typer's context with the values of the words.

    Raises:
        TyperException: the words are not valid.
    """
    assert line.command is not None  # noqa: S101  as in `run`
    parser = _build_full_parser(function, line.command.path[-1])
    leading = line.leading
    if any(_SETTINGS in parameter.opts for parameter in parser.params):
        leading = [_SETTINGS if word == "-c" else word for word in leading]
        leading = [f"{_SETTINGS}={word[2:]}" if word.startswith("-c") else word for word in leading]
    return parser, parser.make_context(spelling, _write_out(parser, [*leading, *line.rest]), obj=invocation)


def pop_shared(context: Any) -> dict[str, object]:
    """Take the values of the global options out of a context, by their keys; None if a command has its own instead."""
    return {option.key: context.params.pop(_PREFIX + option.key, None) for option in GLOBAL_OPTIONS}


def _write_out(parser: typer.core.TyperCommand, words: list[str]) -> list[str]:
    """Return the words with what people leave out or write otherwise, up to `--`.

    `--json` is `--json=*`; an option with a placeholder such as `[=SECONDS]` has an empty value without one; `-3` is
    `-n 3`, as in git; `-b BRANCH` of a command without this option belongs to the place before it: `CONV/BRANCH`.
    """
    named = [parameter for parameter in parser.params if isinstance(parameter, typer.core.TyperOption)]
    options = {name for option in named for name in option.opts}
    optional = {name: "" for option in named if (option.metavar or "").startswith("[=") for name in option.opts}
    optional["--json"] = ALL_FIELDS
    with_value = {name for option in named if not (option.is_flag or option.count) for name in option.opts}
    with_value -= optional.keys()
    takes_place = any(name in (each.metavar or "") for each in parser.params for name in _PLACES if each not in named)
    written: list[str] = []
    place = branch = None
    own = before_separator(words)
    rest = iter(own)
    for word in rest:
        name, equals, value = word.partition("=")
        if takes_place and name in {"-b", "--branch"} and "-b" not in options:
            branch = value if equals else next(rest, "")
        elif word in optional:
            written.append(f"{word}={optional[word]}")
        elif "-n" in options and word[:1] == "-" and word[1:].isdecimal() and word.isascii():
            written += ["-n", word[1:]]
        elif word in with_value:
            written += [word, *(following for following in [next(rest, None)] if following is not None)]
        else:
            place = len(written) if place is None and word[:1] != "-" else place
            written.append(word)
    if branch is not None and place is not None:
        written[place] += f"/{branch}"
    elif branch is not None:
        written.append(f"@/{branch}")
    return written + words[len(own) :]


@functools.cache
def _build_full_parser(function: Callable[..., int | None], name: str) -> typer.core.TyperCommand:
    """Build the parser of a command function with the global options, once in a process."""
    parser = _build_parser(function, name)
    own = {name for parameter in parser.params for name in parameter.opts}
    for option in GLOBAL_OPTIONS:
        names = [name for name in option.names if name not in own]
        if option.key == "settings" and not names:
            names = [_SETTINGS]
        if option not in (HELP, VERSION) and names:
            parser.params.append(_parameter(option, names))
    return parser


def build_parser(command: Command) -> typer.core.TyperCommand:
    """Build the parser of a command from its function's signature, without the global options."""
    return _build_parser(load(command.target), command.path[-1])


def _build_parser(function: Callable[..., int | None], name: str) -> typer.core.TyperCommand:
    @functools.wraps(function)
    def call(invocation: typer.Context, **values: object) -> int | None:
        return function(invocation.obj, **values)

    # Evaluated here, once: typer would do it four times.
    call.__annotations__ = typing.get_type_hints(function, include_extras=True) | {"invocation": typer.Context}
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(name, add_help_option=False)(call)
    parser = typer.main.get_command(app)
    if not isinstance(parser, typer.core.TyperCommand):
        raise TypeError(f"{function.__name__} is not a command function")
    return parser


def _parameter(option: GlobalOption, names: list[str]) -> typer.core.TyperOption:
    return typer.core.TyperOption(
        param_decls=[_PREFIX + option.key, *names],
        is_flag=option.value is None and not option.repeated,
        count=option.value is None and option.repeated,
        multiple=option.value is not None and option.repeated,
    )


def _separator_hint(error: TyperException, spelling: str, words: list[str]) -> Iterator[str]:
    """Yield a hint about `--` if an argument looks like combined short options: `-failed`."""
    option = getattr(error, "option_name", None)  # an unknown option, or one with an invalid value
    options = (option,) if isinstance(option, str) else getattr(getattr(error, "param", None), "opts", ())
    letters = {name[1] for name in options if len(name) == 2}
    for number, word in enumerate(words):
        if word[:1] == "-" != word[1:2] and len(word) > 2 and letters & {*word[1:]}:
            before = "".join(f"{shlex.quote(each)} " for each in words[:number])
            yield f"if {word} is not an option, put it after --: {spelling} {before}-- {shlex.quote(word)}"
            return


def _usage_error(error: TyperException, hint: str, line: CommandLine) -> Invalid:
    """Convert an error of typer to our form: no capital, no full stop, and a hint, the nearest option if any."""
    option = getattr(error, "option_name", "")
    meant = command_of_option(line.path, option) if option in line.rest else []
    near = meant or nearest(option, getattr(error, "possibilities", None) or ())
    message = str(error) if hasattr(error, "possibilities") else error.format_message()
    extra = _EXTRA_ARGUMENTS.match(message)
    if extra is not None:
        message = f"too many arguments: {extra[1] or repr('')}"
    for term, plain in _PLAIN_TERMS:
        message = message.replace(term, plain)
    return Invalid(message[:1].lower() + message[1:].rstrip("."), hint=did_you_mean(near, hint))
