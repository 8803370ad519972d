"""`scopes export`."""

from __future__ import annotations

import os
from collections.abc import Callable, Container
from functools import partial
from shlex import quote
from typing import Annotated

from scopes.cli.invocation import Invocation
from scopes.cli.options import LATEST, STANDARD_OUTPUT, Force, Output, Text, Texts, argument, option
from scopes.cli.progress import counted
from scopes.cli.words import read_where
from scopes.errors import Invalid
from scopes.exporters.atomic_save import save_unless_purged
from scopes.exporters.export import Exported
from scopes.exporters.export import export as run_export
from scopes.ids import Oid
from scopes.secrets.gates import redacted_notes
from scopes.store.repository import Repository

_JSON_FORMS = frozenset({"json", "jsonl", "openai", "atif", "otel", "agent-trace", "git-ai"})
_OF_COMMITS = {"agent-trace": "Agent Trace", "git-ai": "git-ai"}


def export(
    invocation: Invocation,
    places: Annotated[Texts, argument("[WHERE]", "Conversations or branches (default: @)")] = None,
    output: Output = STANDARD_OUTPUT,
    include_all: Annotated[bool, option("-a, --all", "All branches")] = False,
    force: Force = False,
    site: Annotated[bool, option("--site", "All conversations as web pages, with an index")] = False,
    source: Annotated[Text, option("--source NAME", "Which original file, if there are several")] = None,
    notes: Annotated[bool, option("--notes", "With agent-trace, git-ai: write git notes")] = False,
) -> int:
    """Write a conversation as Markdown, HTML, JSON, ...

    --format is md (default), html, json, jsonl, openai, atif, otel, original (the imported files, byte for
    byte), agent-trace or git-ai. A file is written whole or not at all. Possible secrets are refused: see --secrets.

    Examples:
      scopes export > talk.md
      scopes export conv-001 --format html -o talk.html
      scopes export --site -o site
      scopes export --format original -o run.jsonl
    """
    to_stdout = output == STANDARD_OUTPUT
    given = {"md": "markdown", None: "json" if invocation.json and to_stdout else "markdown"}
    form = given.get(invocation.form) or invocation.form or ""
    if invocation.dry_run and not to_stdout:
        raise Invalid("--dry-run cannot be combined with --output", hint="print it: leave out --output")
    if site:
        if places or source is not None or include_all or notes or invocation.form not in {None, "html"}:
            raise Invalid("--site takes no conversation and no form", hint="leave them out: all branches are exported")
        return _export_site(invocation, output, force=force)
    names = places or [LATEST]
    if to_stdout:
        _check_stdout(invocation, form)
    elif len(names) > 1 and not (os.path.isdir(output) or output.endswith(os.sep)):
        raise Invalid("several conversations are several files", hint="name a directory: --output DIR/")
    if notes and form not in _OF_COMMITS:
        raise Invalid("only records of commits become notes", hint="add --format agent-trace, or --format git-ai")
    repository = invocation.repository()
    code = 0
    for where in (read_where(repository, name) for name in names):
        if form in _OF_COMMITS:
            _check_traces(where, form, source, notes=notes, wants_file=force or not to_stdout)
            code |= _export_traces(invocation, where, form, output, force=force, notes=notes)
            continue
        make = partial(
            run_export, repository, where, format_name=form, all_branches=include_all, source=source,
            secrets=invocation.secrets, find_versions=_find_program_versions,
        )  # fmt: skip
        code |= _save_or_print(invocation, make, output, force=force)
    return code


def _find_program_versions(repository: Repository, commits: Container[Oid]) -> dict[Oid, str]:
    from scopes.importers.program_versions import find_program_versions

    return find_program_versions(repository, commits)


def _check_stdout(invocation: Invocation, form: str) -> None:
    """Raise Invalid if a form cannot be printed."""
    if invocation.json and form not in _JSON_FORMS:
        raise Invalid(f"{form} is not JSON", hint="leave out --json, or write to a file with --output")


def _export_site(invocation: Invocation, output: str, *, force: bool) -> int:
    """Write a page for each conversation."""
    if output == STANDARD_OUTPUT:
        raise Invalid("a site is a directory", hint="name it: --output DIR")
    with counted(invocation, "writing pages") as on_progress:
        from scopes.exporters.html.site import export_site

        result = export_site(
            invocation.repository(), output, force=force, secrets=invocation.secrets, on_progress=on_progress
        )
    return invocation.show(result)


def _save_or_print(invocation: Invocation, make: Callable[[], Exported], output: str, *, force: bool) -> int:
    """Write an export to a file, or print it, and say how many secrets were replaced: that is known at its end.

    Raises:
        Busy: something was purged meanwhile, which may have been printed.
    """
    if output != STANDARD_OUTPUT:
        return invocation.show(save_unless_purged(invocation.repository(), make, output, force=force))
    code = invocation.show(exported := make())
    for note in () if exported.gate is None else redacted_notes(exported.gate.redacted):
        invocation.output().note(note)
    with exported.unless_purged():
        return code


def _check_traces(where: str, form: str, source: str | None, *, notes: bool, wants_file: bool) -> None:
    """Raise Invalid if an option or a branch is given that records of commits do not heed."""
    if source is not None:
        raise Invalid("only original bytes have a source to choose", hint="add --format original")
    conversation, slash, _ = where.partition("/")
    if slash:
        hint = f"all branches: scopes export {quote(conversation)} --format {quote(form)}"
        raise Invalid(f"records of {_OF_COMMITS[form]} are those of a whole conversation", hint=hint)
    if form == "git-ai" and not notes:
        raise Invalid("git-ai has its records in notes of the project only", hint="add --notes to write them there")
    if notes and wants_file:
        raise Invalid("--notes writes into the project, and no file", hint="leave out --notes, or --output and --force")


def _export_traces(invocation: Invocation, where: str, form: str, output: str, *, force: bool, notes: bool) -> int:
    """Export records of the commits of a conversation, as a file or as notes of the project."""
    from scopes.exporters.commit_notes import CommitRequest, export_traces, note_commits

    repository = invocation.repository()
    if notes and invocation.dry_run:
        raise Invalid("--dry-run cannot be combined with --notes", hint="print them: leave out --notes")
    with counted(invocation, "indexing edits") as on_progress:
        request = CommitRequest(where, invocation.cwd, invocation.index_directory, on_progress, invocation.secrets)
        if notes:
            return invocation.show(note_commits(repository, request, form))
        return _save_or_print(invocation, partial(export_traces, repository, request), output, force=force)
