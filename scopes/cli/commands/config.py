"""`scopes config`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, TypeAlias

import typer

from scopes.agents.authors import note_unknown_agent
from scopes.cli.command_line import split_words
from scopes.cli.invocation import Invocation
from scopes.cli.table import TABLE
from scopes.conversation.store import get_setting, list_settings, set_setting
from scopes.render.view_options import ViewOptions
from scopes.result import Note
from scopes.store.config import ALIAS, is_read_from_store

Level: TypeAlias = Annotated[
    str | None, typer.Option("--level", metavar="LEVEL", help="store or user (default: store if one exists)")
]
Key: TypeAlias = Annotated[str, typer.Argument(metavar="KEY", help="The setting, for example scopes.author")]


def config_get(context: typer.Context, key: Key) -> int:
    """Print the value of a setting.

    `scopes config KEY` does the same.

    Examples:
      scopes config get scopes.author
      scopes config scopes.author
    """
    invocation: Invocation = context.obj
    return invocation.show(get_setting(invocation.config(), key))


def config_set(
    context: typer.Context,
    key: Key,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="The value")],
    level: Level = None,
    force: Annotated[bool, typer.Option("--force", help="Set a key that scopes does not know")] = False,
) -> int:
    """Change a setting.

    `scopes config KEY VALUE` does the same. Settings are git configuration: `git config` reads and writes the same
    files. A setting that names a command, such as the pager or an alias, is read and written at the user level only.

    Examples:
      scopes config set scopes.author carol --level user
      scopes config scopes.color never
      scopes config set scopes.durability fast
      scopes config set scopes.alias.last 'log @ -5 --oneline'
    """
    invocation: Invocation = context.obj
    repository = invocation.find_repository()
    where = level or ("store" if repository is not None and is_read_from_store(key) else "user")
    result = set_setting(repository, invocation.home, key, value, level=where, force=force)
    name = key.lower().removeprefix(ALIAS)
    if name != key.lower() and split_words(TABLE, [name]).unknown is None:
        note = Note(f"{name} is a command, so this alias is never used", "choose another name for the alias")
        result = replace(result, notes=(*result.notes, note))
    if repository is not None:
        result = replace(result, notes=(*result.notes, *note_unknown_agent(repository, key)))
    return invocation.show(result)


def config_unset(context: typer.Context, key: Key, level: Level = None) -> int:
    """Remove a setting.

    Examples:
      scopes config unset scopes.durability
    """
    invocation: Invocation = context.obj
    repository = invocation.find_repository()
    where = level or ("store" if repository is not None and is_read_from_store(key) else "user")
    return invocation.show(set_setting(repository, invocation.home, key, None, level=where))


def config_list(
    context: typer.Context,
    show_origin: Annotated[
        bool, typer.Option("--show-origin", help="Print the level that each value comes from")
    ] = False,
    defaults: Annotated[
        bool, typer.Option("--all", "--defaults", help="Add the defaults of the settings that have one")
    ] = False,
) -> int:
    """List all settings, with their origin if asked.

    If a key is listed more than once, its last value is the one in use.

    Examples:
      scopes config list --show-origin
      scopes config list --all --show-origin
    """
    invocation: Invocation = context.obj
    return invocation.show(
        list_settings(invocation.config(), defaults=defaults), options=ViewOptions(show_origin=show_origin)
    )
