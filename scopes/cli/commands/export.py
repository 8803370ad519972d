"""`scopes conv export`."""

from __future__ import annotations

from collections.abc import Container
from functools import partial
from shlex import quote
from typing import Annotated, Literal, TypeAlias

import typer

from scopes.cli.arguments import (
    LATEST,
    STANDARD_OUTPUT,
    AllowSecrets,
    Force,
    Output,
    Redact,
    secrets_mode,
)
from scopes.cli.commit_options import index_progress
from scopes.cli.invocation import Invocation
from scopes.errors import Invalid
from scopes.exporters.atomic_save import save_unless_purged
from scopes.exporters.export import Exported
from scopes.exporters.export import export as run_export
from scopes.ids import Oid
from scopes.render.progress import progress
from scopes.secret_scan.clearance import Mode
from scopes.secrets.gates import redacted_notes
from scopes.store.repository import Repository

_JSON_FORMS = frozenset({"json", "jsonl", "openai", "atif", "otel", "a2a", "agent-trace", "git-ai"})
_OF_COMMITS = {"agent-trace": "Agent Trace", "git-ai": "git-ai"}
Form: TypeAlias = Literal[
    "markdown", "md", "html", "json", "jsonl", "openai", "atif", "otel", "a2a", "parquet", "original", "agent-trace",
    "git-ai",
]  # fmt: skip
EveryConversation: TypeAlias = Annotated[
    bool,
    typer.Option("--all-conversations", help="With html and --output DIR: a site of all conversations, with an index"),
]
OriginalFile: TypeAlias = Annotated[
    str | None, typer.Option("--source", metavar="NAME", help="The original file to write, if there are several")
]
Notes: TypeAlias = Annotated[
    bool,
    typer.Option("--notes", help="With agent-trace or git-ai: write notes into the project, in refs/notes/scopes"),
]
NotesRef: TypeAlias = Annotated[
    str | None,
    typer.Option("--notes-ref", metavar="REF", help="With --notes: another ref; a note there stays"),
]


def export(
    context: typer.Context,
    where: Annotated[
        str | None,
        typer.Argument(metavar="[CONV[/BRANCH]]", help="The conversation (default: the latest), or one branch of it"),
    ] = None,
    form: Annotated[
        Form | None,
        typer.Option("--format", metavar="FORM", help="Default: markdown (md); with --json: json"),
    ] = None,
    output: Output = STANDARD_OUTPUT,
    include_all: Annotated[bool, typer.Option("--all", help="All branches, not only one")] = False,
    every_conversation: EveryConversation = False,
    source: OriginalFile = None,
    force: Force = False,
    notes: Notes = False,
    notes_ref: NotesRef = None,
    redact: Redact = False,
    allow_secrets: AllowSecrets = False,
) -> int:
    """Export a conversation as Markdown, HTML or JSON.

    markdown is a transcript to read, html one page for a browser, or with --all-conversations a directory of pages.
    json and jsonl have everything that is stored, original the imported files, byte for byte. openai, atif, otel, a2a
    and parquet are for models and programs, agent-trace and git-ai for commits of the project around the current
    directory. See FORMATS in the manual page. A file is written completely or not at all, and overwritten only with
    --force.

    An export that has possible secrets is refused: the error names the messages and the rules, never a secret. With
    --redact a placeholder such as [redacted:github-token:3f2a] takes the place of each; it is the same for the same
    secret. With --allow-secrets they pass this time; scopes secrets allow is for good.

    Examples:
      scopes export > transcript.md
      scopes conv export conv-001 > transcript.md
      scopes conv export conv-001 --all --format json --output conv-001.json
      scopes conv export conv-001 --all --format html --output conv-001.html
      scopes conv export --all-conversations --format html --output site
      scopes conv export conv-001/main --format openai | jq length
      scopes conv export conv-001 --format atif --output trajectory.json
      scopes conv export conv-001 --all --format parquet --output conv-001.parquet
      scopes conv export conv-002 --format original --output backup/
      scopes export conv-001 --format agent-trace > traces.jsonl
      scopes export conv-001 --format git-ai --notes
      scopes export conv-001 --redact > transcript.md
    """
    invocation: Invocation = context.obj
    to_stdout, secrets = output == STANDARD_OUTPUT, secrets_mode(redact=redact, allow_secrets=allow_secrets)
    export_format = "markdown" if form == "md" else form or ("json" if invocation.json and to_stdout else "markdown")
    if every_conversation:
        refused = where is not None or source is not None or include_all or notes or notes_ref is not None
        return _export_site(invocation, export_format, output, force=force, refused=refused, secrets=secrets)
    where = where or LATEST
    if to_stdout:
        _check_stdout(invocation, export_format)
    if (notes or notes_ref is not None) and export_format not in _OF_COMMITS:
        raise Invalid("only records of commits become notes", hint="add --format agent-trace, or --format git-ai")
    if export_format in _OF_COMMITS:
        wants_file = force or output != STANDARD_OUTPUT
        _check_trace_options(where, export_format, source, wants_file=wants_file, notes=notes, ref=notes_ref)
        target = (output, force, notes, notes_ref)
        return _export_traces(invocation, where, export_format, target, secrets)
    repository = invocation.repository()
    make = partial(
        run_export, repository, where,
        format_name=export_format, all_branches=include_all, source=source, secrets=secrets,
        find_versions=_find_program_versions,
    )  # fmt: skip
    if output != STANDARD_OUTPUT:
        return invocation.show(save_unless_purged(repository, make, output, force=force))
    return _print(invocation, make())


def _find_program_versions(repository: Repository, commits: Container[Oid]) -> dict[Oid, str]:
    from scopes.importers.program_versions import find_program_versions

    return find_program_versions(repository, commits)


def _check_stdout(invocation: Invocation, export_format: str) -> None:
    """Raise Invalid if a format cannot be printed."""
    if invocation.json and export_format not in _JSON_FORMS:
        raise Invalid(f"{export_format} is not JSON", hint="leave out --json, or write to a file with --output")
    if export_format == "parquet":
        raise Invalid("a Parquet file is not text", hint="name a file: --output FILE")


def _export_site(
    invocation: Invocation, export_format: str, output: str, *, force: bool, refused: bool, secrets: Mode
) -> int:
    """Write a page for each conversation; `refused` says that an option was given that is for one conversation."""
    if export_format != "html":
        raise Invalid("all conversations are exported as a site only", hint="add --format html")
    if output == STANDARD_OUTPUT:
        raise Invalid("a site is a directory", hint="name it: --output DIR")
    if refused:
        raise Invalid(
            "--all-conversations takes no conversation", hint="leave out the others: all branches are exported"
        )
    with progress(invocation.output(), "writing pages") as meter:

        def on_progress(done: int, total: int) -> None:
            meter.expect(lambda: total)
            meter(1 if done else 0)

        from scopes.exporters.html.site import export_site

        result = export_site(invocation.repository(), output, force=force, secrets=secrets, on_progress=on_progress)
    return invocation.show(result)


def _print(invocation: Invocation, exported: Exported) -> int:
    """Print an export, and say how many secrets were replaced in it: that is known at its end.

    Raises:
        Busy: something was purged meanwhile, which may have been printed.
    """
    code = invocation.show(exported)
    for note in () if exported.gate is None else redacted_notes(exported.gate.redacted):
        invocation.output().note(note)
    with exported.unless_purged():
        return code


def _check_trace_options(
    where: str, form: str, source: str | None, *, wants_file: bool, notes: bool, ref: str | None
) -> None:
    """Raise Invalid if an option or a branch is given that records of commits do not heed."""
    if source is not None:
        raise Invalid("only original bytes have a source to choose", hint="add --format original")
    conversation, slash, _ = where.partition("/")
    if slash:
        hint = f"all branches: scopes export {quote(conversation)} --format {form}"
        raise Invalid(f"records of {_OF_COMMITS[form]} are those of a whole conversation", hint=hint)
    if form == "git-ai" and not notes:
        raise Invalid("git-ai has its records in notes of the project only", hint="add --notes to write them there")
    if ref is not None and not notes:
        raise Invalid("--notes-ref names where --notes writes", hint="add --notes")
    if notes and wants_file:
        raise Invalid("--notes writes into the project, and no file", hint="leave out --notes, or --output and --force")


def _export_traces(
    invocation: Invocation, where: str, form: str, target: tuple[str, bool, bool, str | None], secrets: Mode
) -> int:
    """Export records of commits; `target` is the output, whether it may be replaced, and whether and where notes go."""
    output, force, notes, ref = target
    with index_progress(invocation) as on_progress:
        from scopes.exporters.commit_lines import CommitRequest

        request = CommitRequest(where, invocation.cwd, invocation.index_directory, on_progress, secrets)
        if notes:
            from scopes.exporters.commit_notes import read_notes_ref

            notes_ref = read_notes_ref(ref)
            if form == "git-ai":
                from scopes.exporters.git_ai import note_git_ai as write_notes
            else:
                from scopes.exporters.agent_trace import note_traces as write_notes
            return invocation.show(write_notes(invocation.repository(), request, notes_ref))
        from scopes.exporters.agent_trace import export_traces

        make = partial(export_traces, invocation.repository(), request)
        if output != STANDARD_OUTPUT:
            return invocation.show(save_unless_purged(invocation.repository(), make, output, force=force))
        result = make()
    return _print(invocation, result)
