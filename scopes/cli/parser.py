"""Running one verb: its parser with the global options added, its function, and usage errors in our own words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import typer
import typer.core
from typer.exceptions import TyperException

from scopes.cli.command_line import CommandLine
from scopes.cli.global_options import GLOBAL_OPTIONS, HELP, GlobalOption
from scopes.cli.invocation import Invocation
from scopes.cli.suggestion import meant, nearest
from scopes.cli.table import Command, Table
from scopes.errors import Invalid
from scopes.loading import load

# A verb may have a parameter `color` or `store` of its own.
_PREFIX = "global_"
PLAINER = (("a valid int range", "a whole number"), ("a valid integer", "a whole number"))


def run(table: Table, line: CommandLine, invocation: Invocation) -> int:
    """Parse the words of one verb, call its function, and return the exit code that it gives (None is 0).

    Raises:
        Invalid: the words do not fit the verb.
    """
    command = line.command
    assert command is not None  # noqa: S101  dispatch comes here with a verb only
    parser = build_parser(command)
    parser.params += [_parameter(option) for option in GLOBAL_OPTIONS if option is not HELP]
    spelling = table.spelling(command.path)
    try:
        with parser.make_context(spelling, [*line.leading, *line.rest], obj=invocation) as context:
            given = {key: context.params.pop(key) for key in list(context.params) if key.startswith(_PREFIX)}
            invocation.configure(spelling, {key.removeprefix(_PREFIX): value for key, value in given.items()})
            return parser.invoke(context) or 0
    except typer.Exit as stop:
        return stop.exit_code
    except TyperException as error:
        hint = f"see: scopes help {' '.join(table.short_path(command.path))}"
        raise _usage_error(error, "\n".join((hint, *_separated(error, spelling, line.rest)))) from error


def build_parser(command: Command) -> typer.core.TyperCommand:
    """Make the one parser of a verb from its function's signature, without the global options."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    function: Callable[..., int | None] = load(command.target)
    app.command(command.path[-1], add_help_option=False)(function)
    parser = typer.main.get_command(app)
    if not isinstance(parser, typer.core.TyperCommand):
        raise TypeError(f"{command.target} made no command")
    return parser


def _parameter(option: GlobalOption) -> typer.core.TyperOption:
    return typer.core.TyperOption(
        param_decls=[_PREFIX + option.key, *option.names],
        is_flag=option.value is None,
        multiple=option.repeated,
    )


def _separated(error: TyperException, spelling: str, words: list[str]) -> Iterator[str]:
    """Say how to write a word that is no bundle of options, but begins like one: `-failed`."""
    option = getattr(error, "option_name", None)  # there is none, or its value is bad
    options = (option,) if isinstance(option, str) else getattr(getattr(error, "param", None), "opts", ())
    letters = {name[1] for name in options if len(name) == 2}
    for word in words:
        if word[:1] == "-" != word[1:2] and len(word) > 2 and letters & {*word[1:]}:
            yield f"if {word} is no option, write it behind --: {spelling} -- {word}"
            return


def _usage_error(error: TyperException, hint: str) -> Invalid:
    """Say a usage error in our form: no capital, no full stop, the cure as hint."""
    near = nearest(getattr(error, "option_name", ""), getattr(error, "possibilities", None) or ())
    message = str(error) if near else error.format_message()
    for theirs, ours in PLAINER:
        message = message.replace(theirs, ours)
    return Invalid(message[:1].lower() + message[1:].rstrip("."), hint=meant(near, hint))
