"""Arguments and options of the commands that share conversations, each with one name and one help text."""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

import typer

from scopes.cli.arguments import Since

ToSend: TypeAlias = Annotated[list[str] | None, typer.Argument(metavar="CONV", help="The conversations to send")]
ToGet: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="CONV", help="The conversations, or ids of their root commits (default: all)"),
]
ToRemote: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--remote", metavar="REMOTE", help="Push to it (default: scopes.defaultRemote, origin, or the first one)"
    ),
]
FromRemote: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--remote", metavar="REMOTE", help="Fetch from it (default: scopes.defaultRemote, origin, or the first one)"
    ),
]
Everything: TypeAlias = Annotated[bool, typer.Option("--all", help="All conversations of the store")]
OfProject: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--project",
        metavar="PROJECT",
        help="Only this project: directory, name or address; all",
    ),
]
WithSources: TypeAlias = Annotated[
    bool, typer.Option("--with-sources", help="Also the original files that conversations were imported from")
]
OfYear: TypeAlias = Annotated[str | None, typer.Option("--year", metavar="YYYY", help="Those that began in this year")]
RemoteName: TypeAlias = Annotated[str, typer.Argument(metavar="REMOTE", help="The name of the remote")]
BundleFile: TypeAlias = Annotated[str, typer.Argument(metavar="FILE", help="The bundle")]
RemoteAddress: TypeAlias = Annotated[
    str, typer.Argument(metavar="ADDRESS", help="https://..., ssh://..., HOST:PATH or a directory")
]
AsBranches: TypeAlias = Annotated[
    bool,
    typer.Option("--as-branches", help="Store conversations as branches there, for a host that accepts no other refs"),
]


EverythingThere: TypeAlias = Annotated[bool, typer.Option("--all", help="All conversations of the remote")]


class WantedFrom(NamedTuple):
    """The conversations that fetch and pull get, and the remote that they get them from."""

    conversations: ToGet = None
    remote: FromRemote = None
    everything: EverythingThere = False
    project: OfProject = None
    since: Since = None
    year: OfYear = None
