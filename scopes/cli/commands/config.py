"""`scopes config`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.config import get_setting as read
from scopes.conversation.config import list_settings as collect
from scopes.conversation.config import set_setting as write
from scopes.render.view_options import ViewOptions

LEVEL = Annotated[str | None, typer.Option("--level", metavar="LEVEL", help="store (where there is one) or user")]
KEY = Annotated[str, typer.Argument(metavar="KEY", help="The setting, for example scopes.author")]


def get_setting(context: typer.Context, key: KEY) -> int:
    """Print the value of a setting.

    Examples:
      scopes config get scopes.author
    """
    call: Invocation = context.obj
    return call.show(read(call.config(), key))


def set_setting(
    context: typer.Context,
    key: KEY,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="The value")],
    level: LEVEL = None,
) -> int:
    """Give a setting a value.

    Settings are git configuration: `git config` reads and writes the same files. A setting that names a command is read
    from your own level only.

    Examples:
      scopes config set scopes.author carol --level user
      scopes config set scopes.durability fast
    """
    call: Invocation = context.obj
    repository = call.find_repository()
    where = level or ("store" if repository is not None else "user")
    return call.show(write(repository, call.home, key, value, level=where))


def unset_setting(context: typer.Context, key: KEY, level: LEVEL = None) -> int:
    """Remove a setting.

    Examples:
      scopes config unset scopes.durability
    """
    call: Invocation = context.obj
    repository = call.find_repository()
    where = level or ("store" if repository is not None else "user")
    return call.show(write(repository, call.home, key, None, level=where))


def list_settings(
    context: typer.Context,
    show_origin: Annotated[bool, typer.Option("--show-origin", help="Say which level each comes from")] = False,
) -> int:
    """List every setting, with its origin if asked.

    Examples:
      scopes config list --show-origin
    """
    call: Invocation = context.obj
    return call.show(collect(call.config()), options=ViewOptions(show_origin=show_origin))
