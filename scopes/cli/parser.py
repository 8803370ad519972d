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

from scopes.cli.command_line import CommandLine, expand_counts, with_optional_values
from scopes.cli.global_options import GLOBAL_OPTIONS, HELP, GlobalOption
from scopes.cli.invocation import Invocation
from scopes.cli.suggestion import did_you_mean, nearest
from scopes.cli.table import Command
from scopes.errors import Invalid
from scopes.loading import load

# Keeps the keys of the global options apart from the parameters of the command, such as `settings`.
_PREFIX = "global_"
_SETTINGS = "--global-settings"  # for `-c KEY=VALUE` before a command with a -c of its own, such as `switch -c`
_EXTRA_ARGUMENTS = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", re.DOTALL)
_PLAIN_TERMS = (
    *((term, "a whole number") for term in ("a valid int range", "a valid integer", "a valid int")),
    *((term, "a number") for term in ("a valid float range", "a valid float")),
)
_FORCE = "--force is that: it removes no message that no branch here ever had; scopes push CONV --force"
_GIT_OPTIONS = {
    ("push", "--force-with-lease"): _FORCE,
    ("push", "--force-if-includes"): _FORCE,
    ("branch", "-d"): "delete a branch: scopes branch -d CONV BRANCH",
    ("branch", "-D"): "delete a branch: scopes branch -d CONV BRANCH",
    ("branch", "-m"): "rename a branch: scopes rename ...",
    ("branch", "-a"): "branches are listed without an option: scopes branch CONV; with abandoned ones: --all",
    ("list", "--sort"): "a list is newest first; other orders in a pipe: scopes list | sort",
    ("log", "--file"): "messages that touched a file: scopes log CONV -- PATH",
    ("switch", "-b"): "create a branch: scopes branch CONV NAME",
    ("switch", "-c"): "create a branch: scopes branch CONV NAME",
    ("push", "-f"): "it has no short form: scopes push CONV --force",
    ("push", "-u"): "the remote of commands that name none: scopes config set scopes.defaultRemote NAME",
    ("push", "--tags"): "tags are sent with their conversations: scopes push CONV",
    (
        "fetch",
        "--dry-run",
    ): "undo takes a fetch back; only get the list of conversations: scopes fetch --list",
    ("fetch", "-p"): "branches that are deleted there are not known here any more after a fetch: scopes fetch",
    ("fetch", "--prune"): "branches that are deleted there are not known here any more after a fetch: scopes fetch",
    ("rewind", "--hard"): "a branch is always moved with its messages: scopes rewind CONV",
}  # options of git: the command that does it here


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
            return parser.invoke(context) or 0
    except typer.Exit as ended:
        return ended.exit_code
    except TyperException as error:
        hint = f"see: scopes help {' '.join(command.path)}"
        name = command.path[-1]
        option = "-c" if name == "switch" and "-c" in line.rest else getattr(error, "option_name", "")
        known = _GIT_OPTIONS.get((name, option))
        if _EXTRA_ARGUMENTS.match(error.format_message()):
            flags = {name for option in GLOBAL_OPTIONS if option.value is None for name in option.names}
            known = _form_hint(name, [word for word in line.rest if word not in flags])
        separator = _separator_hint(error, spelling, line.rest)
        raise _usage_error(error, "\n".join((known or hint, *separator)), guess=known is None) from error


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
        forms = {"-c": _SETTINGS, **{word: f"{_SETTINGS}={word[2:]}" for word in leading if word[2:]}}
        leading = [forms[word] if word.startswith("-c") else word for word in leading]
    words = [*leading, *with_optional_values([*_expand_counts(parser, line.rest)])]
    return parser, parser.make_context(spelling, words, obj=invocation)


def pop_shared(context: Any) -> dict[str, object]:
    """Take the values of the global options out of a context, by their keys."""
    names = [name for name in context.params if name.startswith(_PREFIX)]
    return {name.removeprefix(_PREFIX): context.params.pop(name) for name in names}


def _form_hint(command: str, words: list[str]) -> str | None:
    """Return the right form of a command that got too many arguments, filled in if they are two branches."""
    if command == "rewind":
        return "name the message that becomes the last one with --to"
    if command == "merge":
        conversation, source, target = words if _are_arguments(words, 3) else ("CONV", "SOURCE", "BRANCH")
        return f"scopes merge {shlex.quote(conversation)} {shlex.quote(source)} --target {shlex.quote(target)}"
    if command == "rebase" and _are_arguments(words, 2):
        return f"scopes rebase {shlex.quote(words[0])} --onto {shlex.quote(words[1])}"
    if command == "rebase":
        conversation, branch, onto = words if _are_arguments(words, 3) else ("CONV", "BRANCH", "MESSAGE")
        return f"scopes rebase {shlex.quote(conversation)} --branch {shlex.quote(branch)} --onto {shlex.quote(onto)}"
    return None


def _are_arguments(words: list[str], count: int) -> bool:
    return len(words) == count and not any(word.startswith("-") for word in words)


def _expand_counts(parser: typer.core.TyperCommand, words: list[str]) -> Iterator[str]:
    named = [parameter for parameter in parser.params if isinstance(parameter, typer.core.TyperOption)]
    options = {name for option in named for name in option.opts}
    with_value = {name for option in named if not option.is_flag for name in option.opts}
    return expand_counts(words, options, with_value)


@functools.cache
def _build_full_parser(function: Callable[..., int | None], name: str) -> typer.core.TyperCommand:
    """Build the parser of a command function with the global options, once in a process."""
    parser = _build_parser(function, name)
    own = {name for parameter in parser.params for name in parameter.opts}
    for option in GLOBAL_OPTIONS:
        names = [name for name in option.names if name not in own]
        if option.key == "settings" and not names:
            names = [_SETTINGS]
        if option is not HELP and names:
            parser.params.append(_parameter(option, names))
    return parser


def build_parser(command: Command) -> typer.core.TyperCommand:
    """Build the parser of a command from its function's signature, without the global options."""
    return _build_parser(load(command.target), command.path[-1])


def _build_parser(function: Callable[..., int | None], name: str) -> typer.core.TyperCommand:
    # Otherwise typer evaluates the text of every annotation four times.
    function.__annotations__ = typing.get_type_hints(function, include_extras=True)
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(name, add_help_option=False)(function)
    parser = typer.main.get_command(app)
    if not isinstance(parser, typer.core.TyperCommand):
        raise TypeError(f"{function.__name__} is not a command function")
    return parser


def _parameter(option: GlobalOption, names: list[str]) -> typer.core.TyperOption:
    return typer.core.TyperOption(
        param_decls=[_PREFIX + option.key, *names],
        is_flag=option.value is None,
        multiple=option.repeated,
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


def _usage_error(error: TyperException, hint: str, *, guess: bool) -> Invalid:
    """Convert an error of typer to our form: no capital, no full stop, and a hint; with `guess` the nearest option."""
    near = nearest(getattr(error, "option_name", ""), getattr(error, "possibilities", None) or ()) if guess else []
    message = str(error) if hasattr(error, "possibilities") else error.format_message()
    extra = _EXTRA_ARGUMENTS.match(message)
    if extra is not None:
        message = f"too many arguments: {extra[1] or repr('')}"
    for term, plain in _PLAIN_TERMS:
        message = message.replace(term, plain)
    return Invalid(message[:1].lower() + message[1:].rstrip("."), hint=did_you_mean(near, hint))
