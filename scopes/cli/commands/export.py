"""`scopes conv export`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from scopes.cli.arguments import ConversationOrBranch
from scopes.cli.invocation import Invocation
from scopes.errors import Invalid
from scopes.exporters.atomic_save import save
from scopes.exporters.export import export as write_out

_JSON_FORMS = frozenset({"json", "jsonl", "openai"})
_STANDARD_OUTPUT = "-"


def export(
    context: typer.Context,
    where: ConversationOrBranch,
    form: Annotated[
        Literal["markdown", "json", "jsonl", "openai", "original"] | None,
        typer.Option("--format", metavar="FORM", help="The form to write; markdown if not given, with --json json"),
    ] = None,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="Write to this file or directory; - is standard output"),
    ] = _STANDARD_OUTPUT,
    every: Annotated[bool, typer.Option("--all", help="Every branch, not only the one that is meant")] = False,
    source: Annotated[
        str | None, typer.Option("--source", metavar="NAME", help="Which original file, where there are several")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there")] = False,
) -> int:
    """Write a conversation out: Markdown, JSON or original.

    markdown is a transcript to read: reasoning and tool calls are folded, nothing is cut. json is one document with
    everything that is stored, jsonl its messages one a line, as append --jsonl takes them. openai is one branch as chat
    completion messages, as it is to be read now: amended texts are new, retracted messages and reasoning left out. A
    branch that was imported from such messages keeps their names, developers, images and arguments; elsewhere what
    agents were told is system, images not from users are named only, and tools that take text are custom ones.
    original is what was imported, to the byte, in files named so that they can be imported again. A file is complete
    or absent, and never overwritten without --force.

    Examples:
      scopes conv export conv-001 > transcript.md
      scopes conv export conv-001 --all --format json --output conv-001.json
      scopes conv export conv-001/main --format openai | jq length
      scopes conv export conv-002 --format original --output backup/
    """
    call: Invocation = context.obj
    printed = output == _STANDARD_OUTPUT
    chosen = form or ("json" if call.json and printed else "markdown")
    if call.json and printed and chosen not in _JSON_FORMS:
        raise Invalid(f"{chosen} is not JSON", hint="leave out --json, or write to a file with --output")
    exported = write_out(call.repository(), where, format_name=chosen, all_branches=every, source=source)
    return call.show(exported if printed else save(exported, output, force=force))
