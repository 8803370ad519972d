"""Write results to standard output as text or JSON, and errors, notes and progress to standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, NamedTuple, TextIO

from scopes.errors import Refused, ScopesError
from scopes.render.stream import OutputStream, RunnerStream
from scopes.render.table import render_text
from scopes.render.view import DEFAULT_OPTIONS, Style, View, ViewOptions, Write, paint
from scopes.result import Note, RawDocument, Result, Stream
from scopes.sanitize import clean, clean_line, escape_runner_commands, is_read_by_runner

if TYPE_CHECKING:
    from rich.progress import Progress

    from scopes.render.stream import Pager


class OutputSettings(NamedTuple):
    """The global output options of a command; `color` is auto, always or never, `nul` ends rows with NUL.

    The template and `fields` name fields of the JSON.
    """

    json: bool = False
    color: str = "auto"
    pager: bool = True
    nul: bool = False
    template: str | None = None
    fields: tuple[str, ...] = ()
    quiet: bool = False
    verbose: bool = False
    hints: bool = True
    options: ViewOptions = DEFAULT_OPTIONS


class Output:
    """Writes results, errors and notes to the standard streams."""

    def __init__(
        self,
        settings: OutputSettings,
        environ: Mapping[str, str],
        stdout: TextIO,
        stderr: TextIO,
        core_pager: str | None = None,
    ) -> None:
        self.settings = settings
        self._is_read_by_runner = is_read_by_runner(environ)
        self.stdout = (
            RunnerStream(stdout, environ, settings.color, as_json=settings.json)
            if self._is_read_by_runner and not settings.nul
            else OutputStream(stdout, environ, settings.color)
        )
        self.stderr = OutputStream(stderr, environ, settings.color)
        self._environ = environ
        self._core_pager = core_pager

    def show(self, result: Result) -> None:
        """Write a result, through the pager if it does not fit the screen, and then its notes.

        The bytes of a Document are written unchanged, also with `--json`.

        Raises:
            Inaccessible: standard output cannot be written; BrokenPipeError is passed on.
        """
        if isinstance(result, RawDocument):
            self._write_document(result)
        elif not self.settings.json and not self._write_wire_rows(result):
            with self._open_pager() as write:
                self._render(result, self._view(write))
            self.stdout.flush()
        elif not self.settings.json:
            self.stdout.flush()
        elif isinstance(result, Stream):
            self.stream(result.items)
        else:
            self._write_line(result)
        self._write_notes(result)

    def stream(self, items: Iterable[Result]) -> None:
        """Write results one by one as they arrive, as lines of JSON or as text, never through the pager.

        Raises:
            Inaccessible: standard output cannot be written; BrokenPipeError is passed on.
        """
        view = None if self.settings.json else self._view(self.stdout.write)
        for item in items:
            if view is None:
                self._write_line(item)
            elif not self._write_wire_rows(item):
                self._render(item, view)
            if view is not None:
                self.stdout.flush()
            self._write_notes(item)

    def fail(self, error: ScopesError) -> None:
        """Write an error and its hint to standard error; with `--json` as one JSON object.

        Raises:
            OSError: standard error cannot be written.
        """
        if self.settings.json:
            from scopes.render.document import error_line

            line = error_line
            text = line(error.kind, error.message, error.hint, retryable=error.retryable)
        else:
            text = self._labeled("error", "bad", error.message)
            text += self._hints(error.hint) if self.settings.hints else ""
            if error.kind == "interrupted" and self.stderr.screen:
                text = f"\n{text}"  # the terminal has written ^C, or there is a question without its answer
        self.stderr.stream.write(self._without_commands(text))
        self.stderr.stream.flush()

    def page(self, text: str) -> None:
        """Write a text of ours, through the pager if it does not fit the screen.

        Raises:
            Inaccessible: standard output cannot be written; BrokenPipeError is passed on.
        """
        with self._open_pager() as write:
            write(text)
        self.stdout.flush()

    def say(self, text: str, hint: str | None = None) -> None:
        """Write a message for a person to standard error, unless `--quiet` is given."""
        self._write_message("".join(f"{self._wrapped(line)}\n" for line in clean(text).split("\n")), hint)

    def note(self, note: Note) -> None:
        """Write a note to standard error, unless `--quiet` is given."""
        self._write_message(self._labeled("note", "warn", note.text), note.hint)

    def hint(self, text: str) -> None:
        """Write a next step after the results, for people only: on a terminal, unless hints are disabled."""
        if self.stdout.terminal and not self.settings.json:
            from scopes.render.phrases import write_hint

            write_hint(self._view(self.stdout.write), text)
            self.stdout.flush()

    def _write_wire_rows(self, result: Result) -> bool:
        """Write rows of fields of the JSON by the template; return False if the text form is asked for."""
        settings = self.settings
        if settings.template is None:
            return False
        end = "\0" if settings.nul else "\n"
        from scopes.render.fields import format_rows

        for line in format_rows(result, settings.options, settings.template, end):
            self.stdout.write(line)
        return True

    def _render(self, result: Result, view: View) -> None:
        render_text(result, view)

    def _write_document(self, document: RawDocument) -> None:
        """Write a document byte for byte; on a terminal only if it is text, with control characters made visible."""
        self.stdout.flush()
        if self.stdout.screen:
            with self._open_pager() as write:
                for piece in document.pieces:
                    write(clean(_as_text(piece)))
        else:
            for piece in document.pieces:
                self.stdout.write_bytes(piece)
        self.stdout.flush()

    def _write_line(self, result: Result) -> None:
        walk: Callable[[Result, ViewOptions, Sequence[str]], Iterable[str]]
        from scopes.render.document import walk_result_line

        walk = walk_result_line
        for piece in walk(result, self.settings.options, self.settings.fields):
            self.stdout.write(piece)
        self.stdout.flush()

    def _open_pager(self) -> AbstractContextManager[Write]:
        if self.settings.pager and self.stdout.capable:
            from scopes.render.stream import open_pager as open_pager_

            open_pager = open_pager_
            pager: Pager | None = open_pager(self._environ, self._core_pager, self.stdout, self._write_note)
            if pager is not None:
                return pager
        return nullcontext(self.stdout.write)

    def _view(self, write: Write) -> View:
        settings, terminal, color = self.settings, self.stdout.terminal, self.stdout.color
        end = "\0" if settings.nul else "\n"
        hints = settings.hints and not settings.quiet
        view: View
        if settings.nul or not terminal:
            view = View(
                write,
                color=color and not settings.nul,
                end=end,
                hints=hints,
                unchanged=not self.stdout.screen,
                write_note=self._write_note,
                options=settings.options,
            )
        else:
            width, height = self.stdout.size()
            from scopes.render.terminal import TerminalView

            view = TerminalView(
                write, width=width, height=height, color=color, hints=hints, options=settings.options,
                unicode=self.stdout.encoding.startswith("utf"),
            )  # fmt: skip
        return view

    def _write_notes(self, result: Result) -> None:
        for note in result.notes:
            self.note(note)

    def _write_note(self, text: str) -> None:
        self._write_message(self._labeled("note", "warn", text), None)

    def _write_message(self, text: str, hint: str | None) -> None:
        """Write to standard error; failures are ignored, because the command itself has succeeded."""
        if self.settings.quiet:
            return
        try:
            self.stderr.stream.write(self._without_commands(text + (self._hints(hint) if self.settings.hints else "")))
            self.stderr.stream.flush()
        except OSError:
            return

    def _without_commands(self, text: str) -> str:
        """Return a text for standard error, in which the runner of a CI system looks for commands too."""
        return escape_runner_commands(text, as_json=self.settings.json) if self._is_read_by_runner else text

    def _hints(self, hint: str | None) -> str:
        """Return the lines of a hint, which are not broken: a terminal gives them back whole to who copies them."""
        label = self._painted("hint:", "dim")
        return "".join(f"{label} {clean_line(line)}\n" for line in clean(hint or "").splitlines())

    def _labeled(self, label: str, style: Style, text: str) -> str:
        wrapped = self._wrapped(f"{label}: {clean_line(text)}")
        return f"{self._painted(f'{label}:', style)}{wrapped.removeprefix(f'{label}:')}\n"

    def _painted(self, text: str, style: Style) -> str:
        return paint(text, style) if self.stderr.color else text

    def _wrapped(self, line: str) -> str:
        """Break a line at blanks if a terminal shows it and it is too long for that."""
        width = self.stderr.size()[0] if self.stderr.screen else 0
        if not width or len(line) <= width:
            return line
        from textwrap import fill

        return fill(line, width, break_long_words=False, break_on_hyphens=False)


def _as_text(piece: bytes) -> str:
    try:
        return piece.decode()
    except UnicodeDecodeError as error:
        raise Refused("the document is not text", hint="write them to a file with --output, or into a pipe") from error


_DELAY_SECONDS = 1.0
_INTERVAL_SECONDS = 0.1


@contextmanager
def progress(
    output: Output,
    label: str,
    total: int | None = None,
    *,
    in_bytes: bool = False,
    delay: float = _DELAY_SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Meter]:
    """Yield a function that takes the number of newly finished items, or bytes, of `total`; it draws the bar.

    delay: how many seconds pass before it is drawn first
    """
    meter = Meter(output, label, total, clock, in_bytes=in_bytes, delay=delay)
    try:
        yield meter
    finally:
        meter.close()


def shows_progress(output: Output) -> bool:
    """Return True if progress is shown: on a terminal, without --quiet and --json."""
    return output.stderr.capable and not (output.settings.quiet or output.settings.json)


class Meter:
    """Counts finished items, and draws a bar if its output is a terminal."""

    def __init__(
        self,
        output: Output,
        label: str,
        total: int | None,
        clock: Callable[[], float],
        *,
        in_bytes: bool,
        delay: float = _DELAY_SECONDS,
    ) -> None:
        self._shown = shows_progress(output)
        self._count_rest: Callable[[], int] | None = None
        self._in_bytes = in_bytes
        self._stream = output.stderr
        self._label = clean_line(label)
        self._total = total
        self._clock = clock
        self._done = 0
        self._next = clock() + delay
        self._bar: Progress | None = None

    def expect(self, count: Callable[[], int]) -> None:
        """Set the total once the bar is drawn first; `count` includes the items that are being reported then."""
        self._count_rest = count

    def __call__(self, count: int) -> None:
        """Add finished items."""
        if not self._shown:
            return
        self._done += count
        now = self._clock()
        if now < self._next:
            return
        if self._bar is None:
            if self._count_rest is not None:
                self._total = self._done - count + self._count_rest()
            self._bar = _make_bar(self._stream, self._total, in_bytes=self._in_bytes)
            self._bar.add_task(self._label, total=self._total)
            self._bar.start()
        done = self._done if self._total is None else min(self._done, self._total)
        self._bar.update(self._bar.task_ids[0], completed=done, refresh=True)
        self._next = now + _INTERVAL_SECONDS

    def close(self) -> None:
        """Erase the bar."""
        if self._bar is not None:
            self._bar.stop()


def _make_bar(stream: OutputStream, total: int | None, *, in_bytes: bool) -> Progress:
    """Return a bar that is drawn on request only: it starts no thread and redirects no stream.

    Without a total there is only a count, because a bar would look full.
    """
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    count = DownloadColumn(binary_units=True) if in_bytes else MofNCompleteColumn()
    columns = [TextColumn("{task.completed:,}")] if total is None else [BarColumn(), count, TimeRemainingColumn()]
    # An empty environment: color and width have been decided from the real one already.
    console = Console(
        file=stream.stream, force_terminal=True, color_system="standard" if stream.color else None,
        width=stream.size()[0], _environ={},
    )  # fmt: skip
    return Progress(
        TextColumn("{task.description}", markup=False), *columns, console=console, auto_refresh=False, transient=True,
        redirect_stdout=False, redirect_stderr=False,
    )  # fmt: skip
