"""H-71: a view never writes a control character of a text."""

from __future__ import annotations

import io

import pytest
from hypothesis import given

from scopes.errors import NotFound
from scopes.render.output import OutputSettings
from scopes.render.terminal import TerminalView
from scopes.render.view import Column, Span, View
from scopes.result import Note
from tests.render import sample
from tests.render.hostile import ANY_COLORS, OUR_COLORS, forbidden, hostile_texts

WAYS = {
    "line": lambda view, text: view.line(text, Span(text, "id"), indent=2),
    "rows": lambda view, text: view.rows([Column("A"), Column("B", "time")], [(text, (Span(text, "bad"), text))]),
    "titled rows": lambda view, text: view.rows([Column("A", flexible=True)], [(text,)], title=text),
    "body": lambda view, text: view.body(text, indent=2, style="dim"),
    "exact": lambda view, text: view.exact(text),
    "markdown": lambda view, text: view.markdown(text, indent=2),
}
VIEWS = {
    "plain": lambda write, color: View(write, color=color),
    "narrow": lambda write, color: TerminalView(write, width=40, color=color),
    "wide": lambda write, color: TerminalView(write, width=200, color=color),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("color", [False, True])
def test_no_view_writes_a_control_character(way, view, color):
    @given(hostile_texts)
    def check(text):
        pieces: list[str] = []
        WAYS[way](VIEWS[view](pieces.append, color), text)
        text_written = "".join(pieces)
        if color:
            text_written = (ANY_COLORS if way == "markdown" else OUR_COLORS).sub("", text_written)
        assert forbidden(text_written.replace("\t", "") if view == "plain" or way == "exact" else text_written) == []

    check()


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("terminal", [False, True])
def test_neither_stream_gets_a_control_character(as_json, terminal):
    @given(hostile_texts)
    def check(text):
        made = sample.output(OutputSettings(json=as_json), terminal=terminal, environ={"COLUMNS": "80"})
        made.show(sample.Pet(name=text, notes=(Note(text, hint=text),)))
        made.fail(NotFound(text, hint=text))
        made.say(text, hint=text)
        for written in sample.written(made):
            assert forbidden(written.replace("\t", "")) == []

    check()


@pytest.mark.parametrize("options", [{}, {"nul": True}])
def test_on_a_terminal_even_exact_text_is_safe(options):
    """Raw output is written only if standard output is not a terminal."""
    payload = "\x1b]52;c;cm0gLXJm\x07"
    made = sample.output(terminal=True, **options)
    made.show(sample.Stored(text=payload))
    assert forbidden(sample.written(made)[0]) == []
    piped = sample.output(**options)
    piped.show(sample.Stored(text=payload))
    assert sample.written(piped)[0] == payload + "\n"


def test_the_check_itself_sees_a_control():
    written = io.StringIO()
    written.write("\x1b[31mraw \u202e")
    assert forbidden(written.getvalue()) == ["\x1b", "\u202e"]
