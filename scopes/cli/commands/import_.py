"""`scopes conv import`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import Since
from scopes.cli.import_runner import collect_sources, import_all
from scopes.cli.invocation import Invocation
from scopes.clock import now_nanoseconds
from scopes.conversation.import_sample import import_sample
from scopes.errors import Invalid
from scopes.history.dates import parse_moment
from scopes.importers.run import ImportOptions
from scopes.render.view_options import ViewOptions


def import_(
    context: typer.Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="A transcript, a folder, or -; none: all there are"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would come in, and write nothing")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Nothing, when a record or a file cannot be read")] = False,
    since: Since = None,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="A title, instead of its own")] = None,
    again: Annotated[bool, typer.Option("--again", help="Also what was deleted here")] = False,
    report: Annotated[bool, typer.Option("--report", help="Account for every byte of every source")] = False,
    sample: Annotated[bool, typer.Option("--sample", help="A made-up conversation of three agents")] = False,
) -> int:
    """Bring in transcripts that other tools have written.

    Without a path, the histories that Claude Code and Codex keep in their standard places (CLAUDE_CONFIG_DIR and
    CODEX_HOME count). The format is told from the content. Nothing is lost: a record that cannot be read is kept and
    counted. What is here already is not brought in twice, and a source that has grown goes on where it ended. Sources
    are never written to. With --since only the sessions whose last message is as new, by the time that it bears.

    Examples:
      scopes conv import
      scopes conv import ~/.claude/projects/-home-carol-shop
      curl -s "$URL" | scopes conv import -
      scopes conv import run.jsonl --strict --title "Nightly run"
      scopes conv import --dry-run --since '7 days ago'
      scopes conv import ~/.codex/sessions --report
      scopes conv import --sample
    """
    call: Invocation = context.obj
    if sample and (paths or dry_run or strict or since or title or again or report):
        raise Invalid("--sample stands alone: it brings in nothing else", hint="import the paths with a second command")
    if sample:
        return call.show(import_sample(call.repository(create=True)))
    start = None if since is None else parse_moment(since, now_nanoseconds())
    collected = collect_sources(call, paths or [])
    wishes = ImportOptions(dry_run=dry_run, strict=strict, again=again, title=title, since=start)
    return call.show(import_all(call, collected, wishes), options=ViewOptions(report=report))
