from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys

import pytest

from scopes.cli.errors import Interrupted
from scopes.errors import Busy, Inaccessible, Invalid, NotFound
from scopes.render.output import Output, OutputSettings
from scopes.result import Note, Result
from tests.render.sample import Pet, Pets, Screen, output, written

TOM = Pet(name="Tom", notes=(Note("Tom is old", hint="feed him"),))
PETS = (Pet(name="Ada"), Pet(name="Bob"))


def shown(result, **options):
    made = output(**options)
    made.show(result)
    return written(made)


def test_a_pipe_gets_rows_and_standard_error_the_notes():
    assert shown(TOM) == ("Tom\t4\n", "note: Tom is old\nhint: feed him\n")


def test_errors_and_notes_break_at_words_on_a_terminal_only_and_hints_never():
    """A hint that a terminal breaks by itself is copied whole."""
    for terminal, end in ((True, "\n"), (False, " ")):
        made = output(terminal=terminal, environ={"COLUMNS": "40"})
        made.fail(Invalid("this is a long sentence about a thing", hint="this is a longer sentence, about the thing"))
        assert written(made)[1] == (
            f"error: this is a long sentence about a{end}thing\nhint: this is a longer sentence, about the thing\n"
        )


def test_a_terminal_gets_columns_with_a_header():
    assert shown(TOM, terminal=True)[0] == "Name  Legs\nTom      4\n"


def test_a_capable_terminal_gets_colors_and_a_pipe_none():
    assert "\x1b[33mTom" in shown(TOM, terminal=True, environ={"TERM": "xterm"})[0]
    assert "\x1b" not in shown(TOM, environ={"TERM": "xterm"})[0]
    assert shown(TOM, color="always")[0] == "\x1b[33mTom\x1b[0m\t4\n"


def test_json_is_one_document():
    text, notes = shown(TOM, json=True)
    assert text == '{"scopes":1,"kind":"pet","name":"Tom","notes":[{"text":"Tom is old","hint":"feed him"}]}\n'
    assert notes.startswith("note: ")


def test_a_stream_is_json_lines_for_machines_and_one_view_for_people():
    assert shown(Pets(items=PETS), json=True)[0].splitlines() == [
        '{"scopes":1,"kind":"pet","name":"Ada"}',
        '{"scopes":1,"kind":"pet","name":"Bob"}',
    ]
    assert shown(Pets(items=iter(PETS)))[0] == "Ada\nBob\n"


@pytest.mark.parametrize(
    ("as_json", "first"), [(False, "Ada\t4\n"), (True, '{"scopes":1,"kind":"pet","name":"Ada"}\n')]
)
def test_streamed_items_come_out_one_by_one(as_json, first):
    made = output(json=as_json)

    def items():
        yield PETS[0]
        assert written(made)[0] == first
        yield PETS[1]

    made.stream(items())
    assert written(made)[0].count("\n") == 2


def test_streamed_items_are_followed_by_their_notes():
    made = output(hints=False)
    made.stream([TOM])
    assert written(made)[1] == "note: Tom is old\n"


def test_rows_can_end_in_nul_or_follow_a_template_even_on_a_terminal():
    assert shown(TOM, nul=True, terminal=True)[0] == "Tom\t4\0"
    assert shown(TOM, template="{legs} {name}", terminal=True)[0] == "4 Tom\n"
    assert shown(TOM, template="{name}", nul=True, color="always")[0] == "Tom\0"


def test_quiet_leaves_out_everything_but_data_and_errors():
    made = output(quiet=True)
    made.show(TOM)
    made.say("hello")
    made.fail(NotFound("no cat"))
    assert written(made) == ("Tom\t4\n", "error: no cat\n")


def test_hints_can_be_switched_off_those_of_errors_too():
    """D13."""
    made = output(hints=False)
    made.say("deleted", hint="undo with: scopes undo")
    made.fail(NotFound("no cat", hint="buy one"))
    assert written(made)[1] == "deleted\nerror: no cat\n"


def test_messages_go_to_standard_error_with_their_hints():
    made = output()
    made.say("deleted fix/1", hint="undo with: scopes undo")
    assert written(made) == ("", "deleted fix/1\nhint: undo with: scopes undo\n")


def test_a_refusal_is_one_line_and_a_line_for_each_of_its_hint():
    made = output()
    made.fail(Invalid("two\nlines", hint="first\nsecond"))
    assert written(made)[1] == "error: two lines\nhint: first\nhint: second\n"


def test_a_refusal_is_colored_on_a_terminal():
    made = output(terminal=True, environ={"TERM": "xterm"})
    made.fail(Invalid("bad"))
    assert written(made)[1] == "\x1b[1;31merror:\x1b[0m bad\n"


def test_under_json_a_refusal_is_an_object():
    made = output(json=True)
    made.fail(Busy("locked", hint="try again"))
    assert json.loads(written(made)[1]) == {
        "error": {"kind": "busy", "message": "locked", "hint": "try again", "retryable": True}
    }


def test_a_result_without_a_text_rendering_is_a_type_error():
    class Unknown(Result):
        pass

    with pytest.raises(TypeError, match="Unknown has no text rendering"):
        output(json=False).show(Unknown())


class Broken(io.StringIO):
    """A stream that fails when it is flushed."""

    def __init__(self, number):
        super().__init__()
        self.number = number

    def flush(self):
        raise OSError(self.number, os.strerror(self.number))


def test_a_full_disk_surfaces_where_the_result_is_shown():
    made = Output(OutputSettings(), {}, Broken(errno.ENOSPC), io.StringIO())
    with pytest.raises(Inaccessible, match="no space left on device"):
        made.show(TOM)
    assert made.stderr.stream.getvalue() == ""


def test_a_closed_pipe_is_passed_on():
    made = Output(OutputSettings(json=True), {}, Broken(errno.EPIPE), io.StringIO())
    with pytest.raises(BrokenPipeError):
        made.show(TOM)


def test_a_closed_standard_error_does_not_fail_a_finished_command():
    made = Output(OutputSettings(), {}, io.StringIO(), Broken(errno.ENOSPC))
    made.show(TOM)
    made.say("done")
    with pytest.raises(OSError, match="No space"):
        made.fail(NotFound("x"))


def test_only_a_capable_terminal_is_paged():
    """A pager that does not work complains, so that its use is seen."""
    environ = {"TERM": "xterm", "LINES": "2", "SCOPES_PAGER": "/no/such/pager"}
    paged = "note: the pager '/no/such/pager' does not work; this is shown without it\n"
    pet = Pet(name="Ada")
    assert shown(pet, terminal=True, environ=environ)[1].endswith(paged.split(": ", 1)[1])
    assert shown(pet, terminal=True, environ=environ, pager=False)[1] == ""
    assert shown(pet, terminal=True, environ={**environ, "TERM": "dumb"})[1] == ""
    assert shown(pet, terminal=True, environ={**environ, "SCOPES_PAGER": "cat"})[1] == ""
    assert shown(pet, terminal=True, environ=environ, json=True)[1] == ""
    assert shown(pet, environ=environ)[1] == ""


def test_the_configured_pager_is_used():
    made = Output(OutputSettings(), {"TERM": "xterm", "LINES": "2"}, Screen(), Screen(), "/no/configured")
    made.show(Pet(name="Ada"))
    assert "/no/configured" in made.stderr.stream.getvalue()


def loaded_after(code):
    """The modules that a new process has loaded after some code, its standard output a pipe."""
    tail = "\nimport sys; print(*sorted(sys.modules), file=sys.stderr)"
    environment = {**os.environ, "PYTHONPATH": os.getcwd(), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", code + tail], env=environment, capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


SHOW = "import sys; from tests.render.sample import *; Output(OutputSettings(json={}), {{}}, sys.stdout, sys.stderr).show(Pet(name='x'))"


@pytest.mark.parametrize("as_json", [False, True])
def test_a_pipe_never_loads_what_only_a_terminal_needs(as_json):
    """Start-up budgets: asserted by the modules, not by time."""
    heavy = {
        "rich",
        "pydantic",
        "subprocess",
        "difflib",
        "markdown_it",
        "pygit2",
        "asyncio",
        "importlib.metadata",
        "shutil",
    }
    assert not heavy & loaded_after(SHOW.format(as_json))


@pytest.mark.parametrize(("terminal", "wanted"), [(True, "\nerror: interrupted\n"), (False, "error: interrupted\n")])
def test_on_a_terminal_an_interrupt_is_reported_on_a_line_of_its_own(terminal, wanted):
    """The terminal has written ^C, or a question has no answer."""
    made = output(terminal=terminal)
    made.fail(Interrupted("interrupted"))
    assert written(made)[1] == wanted
