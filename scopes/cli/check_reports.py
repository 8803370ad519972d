"""The reports that `check` writes: those of `--report FORMAT[=PATH]`, and by themselves those of GitHub Actions."""

from __future__ import annotations

import io
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import NamedTuple

from scopes import __version__
from scopes.check.check import Checked
from scopes.cli.invocation import Invocation
from scopes.errors import Inaccessible, Invalid, ScopesError
from scopes.exporters.atomic_save import write_file
from scopes.render.document import result_line
from scopes.render.table import render_text
from scopes.render.view import View
from scopes.sanitize import escape_runner_commands, is_read_by_runner
from scopes.secret_scan.clearance import Cleared, without_store

FORMATS = ("text", "json", "sarif", "junit", "github", "gitlab", "markdown")
_AS_JSON = ("json", "sarif", "gitlab")
_WORKFLOW = re.compile(r"([^/@]+/[^/@]+)/(\.github/workflows/[\w.-]+)@.+")
_CONFIGURATION = re.compile(r"[\w.-]+(?:/[\w.-]+)*\.ya?ml")  # and not an address, or a file of another project
_MAX_SUMMARY = 1_000_000  # bytes; GitHub refuses a step summary of 1 MiB


class Report(NamedTuple):
    """A report that was asked for; without a path, and with the path `-`, it goes to standard output."""

    format: str
    path: str | None


def parse_reports(texts: Sequence[str]) -> list[Report]:
    """Parse the values of `--report`.

    Raises:
        Invalid: a format is unknown, a path is empty, or two reports go to standard output or to one file.
    """
    reports = []
    for text in texts:
        name, equals, path = text.partition("=")
        if name not in FORMATS:
            raise Invalid(f"there is no report {name!a}", hint=f"formats: {', '.join(FORMATS)}")
        if equals and not path:
            raise Invalid(f"--report {text!a} has no path", hint=f"for example: --report {name}=report.{name}")
        reports.append(Report(name, path if equals and path != "-" else None))
    targets = [report.path for report in reports]
    if len(set(targets)) < len(targets):
        raise Invalid("two reports have the same target", hint="give each a path: --report sarif=s.sarif")
    return reports


def refuse_overwriting(reports: Sequence[Report], paths: Iterable[str | None], directory: str) -> None:
    """Raise Invalid if a report would take the place of one of these files; relative ones are below `directory`."""
    kept = {os.path.realpath(os.path.join(directory, path)) for path in paths if path is not None and path != "-"}
    for report in reports:
        if report.path is not None and os.path.realpath(os.path.join(directory, report.path)) in kept:
            raise Invalid(
                f"--report {report.format}={report.path} would overwrite a file that this check reads",
                hint=f"give it a path of its own: --report {report.format}=report.{report.format}",
            )


def show_checked(invocation: Invocation, checked: Checked, reports: Sequence[Report]) -> int:
    """Write all reports and return the exit code: that of the check, or 8 if a report could not be written.

    Standard output has the report without a path, else the usual one. In GitHub Actions the text is between lines
    that stop commands, since an agent may have written `::set-output` into it, and annotations follow; the summary of
    the step is always written.

    Raises:
        Invalid: a report would overwrite a transcript that was judged.
        Inaccessible: a report could not be written.
    """
    judged = (source.path for run in checked.runs for source in run.sources)
    refuse_overwriting(reports, judged, invocation.cwd)
    checked = replace(checked, job_file=_find_job_file(invocation.environ))
    errors = list(_write_files(checked, reports))
    in_actions = invocation.environ.get("GITHUB_ACTIONS") == "true"
    printed = next((report.format for report in reports if report.path is None), None)
    if printed not in {None, "text"}:
        _print_report(invocation, checked, printed or "")
    elif in_actions:
        _show_in_actions(invocation, checked)
    else:
        invocation.show(checked)
    if in_actions:
        errors += _append_summary(invocation.environ, checked)
    if errors:
        what = "a report was not written" if len(errors) == 1 else f"{len(errors)} reports were not written"
        raise Inaccessible(f"{what}: {'; '.join(error.message for error in errors)}", hint=errors[0].hint)
    return checked.exit_code


@contextmanager
def reported_failures(invocation: Invocation) -> Iterator[None]:
    """In GitHub Actions, show as an annotation and in the summary of the step why a check could not do its work."""
    try:
        yield
    except ScopesError as error:
        if invocation.environ.get("GITHUB_ACTIONS") == "true":
            if not invocation.wants_data:
                from scopes.render.reports import annotate_failure

                invocation.stdout.write(annotate_failure(error.message))
            from scopes.render.reports import write_failure

            list(_append(invocation.environ, write_failure(error.message, error.hint)))
        raise


def _find_job_file(environ: Mapping[str, str]) -> str | None:
    """Return the file of the repository that defines the CI job; None if the environment does not name it."""
    workflow = _WORKFLOW.fullmatch(environ.get("GITHUB_WORKFLOW_REF", ""))
    if workflow is not None:  # that of another repository, for a reusable workflow, is not here
        return workflow[2] if workflow[1] == environ.get("GITHUB_REPOSITORY", workflow[1]) else None
    path = environ.get("CI_CONFIG_PATH", "")
    return path if _CONFIGURATION.fullmatch(path) else None


def _write_files(checked: Checked, reports: Sequence[Report]) -> Iterator[ScopesError]:
    """Write the reports that have a path; yield the error of each that cannot be written."""
    for report in reports:
        if report.path is not None:
            try:
                write_file(report.path, [_cleared(_render_for_logs(report.format, checked))], force=True)
            except ScopesError as error:
                yield Inaccessible(f"--report {report.format}={report.path}: {error.message}", hint=error.hint)


def _cleared(text: str) -> Cleared:
    """Return a report as it may leave; findings were redacted when they were made, and this looks once more."""
    return without_store().clear(text.encode("utf-8", "replace"), "the report")


def _print_report(invocation: Invocation, checked: Checked, name: str) -> None:
    render = _render_for_logs if is_read_by_runner(invocation.environ) else _render
    invocation.stdout.write(_cleared(render(name, checked)).data.decode())
    for note in checked.notes:
        invocation.output().note(note)


def _show_in_actions(invocation: Invocation, checked: Checked) -> None:
    """Show the text without commands to the runner, and annotations below it; data for a program has neither."""
    if invocation.wants_data:
        text = _capture(invocation, checked)
        invocation.stdout.write(escape_runner_commands(text, as_json=invocation.json))
        return
    token = secrets.token_hex(16)
    from scopes.render.reports import stop_commands

    before, after = stop_commands("\n", token).split("\n\n")
    invocation.stdout.write(f"{before}\n")
    invocation.show(checked)
    invocation.stdout.flush()
    from scopes.render.reports import write_github

    invocation.stdout.write(f"{after}{_cleared(write_github(checked)).data.decode()}")


def _capture(invocation: Invocation, checked: Checked) -> str:
    """Return what `show` would print into a file."""
    stdout, invocation.stdout = invocation.stdout, io.StringIO()
    try:
        invocation.show(checked)
        return invocation.stdout.getvalue()
    finally:
        invocation.stdout = stdout


def _render(name: str, checked: Checked) -> str:
    if name == "text":
        text = io.StringIO()
        render_text(checked, View(text.write))
        return text.getvalue()
    if name == "json":
        return result_line(checked)
    write: Callable[..., str] = getattr(import_module("scopes.render.reports"), f"write_{name}")
    return write(checked, __version__) if name == "sarif" else write(checked)


def _render_for_logs(name: str, checked: Checked) -> str:
    """Return a report in which no runner finds a command: jobs print the files of reports into their logs."""
    text = _render(name, checked)
    return text if name == "github" else escape_runner_commands(text, as_json=name in _AS_JSON)


def _append_summary(environ: Mapping[str, str], checked: Checked) -> Iterator[ScopesError]:
    """Append the report to the summary of the step; yield the error if that fails."""
    from scopes.render.reports import write_markdown

    yield from _append(environ, write_markdown(checked, _MAX_SUMMARY))


def _append(environ: Mapping[str, str], text: str) -> Iterator[ScopesError]:
    path = environ.get("GITHUB_STEP_SUMMARY")
    if path:
        try:
            with open(path, "ab") as file:
                file.write(_cleared(text).data)
        except OSError as error:
            yield Inaccessible(f"cannot write the step summary {path}: {error.strerror}")
