"""`scopes conv usage`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, cast

import typer

from scopes.cli.arguments import OfProjects, Since, Until, choose_projects
from scopes.cli.invocation import Invocation
from scopes.clock import now_nanoseconds, parse_window
from scopes.errors import Invalid
from scopes.store.projects import may_user_have_set
from scopes.usage.prices import PriceTable, configured_prices, read_prices

if TYPE_CHECKING:
    from scopes.usage.usage import By


def usage(
    context: typer.Context,
    where: Annotated[
        list[str] | None,
        typer.Argument(metavar="[CONV]", help="Only these conversations (default: all)"),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="WHAT",
            help="A row for each day (default), week, month, model, agent, project, conversation; also day,model",
        ),
    ] = None,
    since: Since = None,
    until: Until = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="MODEL", help="Only models with this in their name")
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="AGENT", help="Only agents with this in their name")
    ] = None,
    project: OfProjects = None,
    utc: Annotated[bool, typer.Option("--utc", help="Days in UTC, not in the time zone of this machine")] = False,
    prices: Annotated[
        str | None,
        typer.Option("--prices", metavar="FILE", help="A table of prices of your own (also: scopes.prices)"),
    ] = None,
    statusline: Annotated[
        bool, typer.Option("--statusline", help="One line: today, 7 and 30 days, for a prompt or a status bar")
    ] = False,
) -> int:
    """Show tokens and cost by day, model or project.

    Counts what the providers reported, as imported transcripts recorded it. Each answer of a model counts once, however
    many branches, forks, sub-agents and copies have it; one that several conversations have counts for the first of
    them. Those on abandoned branches were paid for, and count; those that were rewound or deleted do not. The agent is
    the program: what its sub-agents have used counts for it.

    The cost is the number of tokens times the list price: tokens that were read from a cache or written to one and
    those of reasoning have their own prices, and long contexts where a provider has others for them. What a
    subscription costs is not known here. A model that is not in the table of prices has no cost; a + marks sums that
    lack it. In JSON the cost is a whole number of millionths of the currency, cost_micros. Each row is rounded, and
    rows added up may differ from the total by some millionths: take the sum from total.

    The table of prices can be replaced: see PRICES in the manual page. --statusline is for the prompt of a shell or the
    status line of an agent: see STATUS LINE there.

    Examples:
      scopes usage
      scopes usage --by model --since '1 week ago'
      scopes usage --by month,project --json
      scopes usage conv-001 --by model
      scopes usage --by conversation --project . --agent codex
      scopes usage --prices ~/prices.json
      scopes usage --statusline
    """
    invocation: Invocation = context.obj
    others = (where, by, since, until, model, agent, project)
    if statusline:
        if any(others):
            raise Invalid("--statusline can be combined with --utc and --prices only", hint="leave the others out")
        return _show_status(invocation, _read_prices(invocation, prices), utc=utc)
    start, end = parse_window(since, until, now_nanoseconds(), utc=utc)
    from scopes.usage.usage import UsageRequest

    request = UsageRequest(
        by=tuple(cast("By", word.strip()) for word in (by or "day").split(",")),  # it is checked there
        since=start,
        until=end,
        conversations=tuple(where) if where else None,
        projects=choose_projects(invocation, project or ()),
        model=model,
        agent=agent,
        utc=utc,
    )
    table = _read_prices(invocation, prices)
    repository = invocation.repository()
    from scopes.render.progress import progress

    with progress(invocation.output(), "reading conversations") as on_progress:
        from scopes.usage.usage import usage

        result = usage(repository, request, table, on_progress=on_progress)
    from scopes.render.view_options import ViewOptions

    return invocation.show(result, options=ViewOptions(details=invocation.verbose))


def _show_status(invocation: Invocation, prices: PriceTable, *, utc: bool) -> int:
    """Print the line of a status bar."""
    from scopes.usage.statusline import usage_status

    status = usage_status
    where = invocation.store_path, invocation.index_directory, invocation.find_repository
    return invocation.show(status(*where, prices, now_nanoseconds(), utc=utc))


def _read_prices(invocation: Invocation, path: str | None) -> PriceTable:
    """Read the table of prices that the user named, here or in the configuration, or the shipped one."""
    environ = invocation.environ  # a status line does not load libgit2 to find that nothing is set
    if path is None and (invocation.settings or "SCOPES_PRICES" in environ or may_user_have_set(environ, b"prices")):
        return configured_prices(invocation.config(optional=True))
    return read_prices(None if path is None else os.path.expanduser(path))
