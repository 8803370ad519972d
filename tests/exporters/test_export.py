"""One function exports every format."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.new_rename_delete import new
from scopes.errors import Corrupt, Invalid, NotFound
from scopes.exporters.export import FORMATS, ONE_BRANCH, ORIGINAL, export
from scopes.exporters.html.markdown import render_markdown
from scopes.exporters.html.template import escape
from scopes.exporters.markdown_escape import escape_block
from scopes.importers.import_sample import import_sample
from scopes.result import RawDocument
from scopes.sanitize import for_prompt
from tests.exporters.building import document, exported
from tests.support.history import history, say

WRITTEN = [format_name for format_name in FORMATS if format_name != ORIGINAL]
NAMES = {
    "otel": "conv-001.otlp.jsonl",
    "html": "conv-001.html",
    "markdown": "conv-001.md",
    "jsonl": "conv-001.jsonl",
    "atif": "conv-001.atif.json",
}
each_format = pytest.mark.parametrize("format_name", WRITTEN)


@each_format
def test_an_export_has_conversation_format_and_size(repository, format_name):
    history(repository, "main: a b", "fix@a: c")
    done = export(repository, "conv-001/fix", format_name=format_name)
    assert (done.conversation, done.format, done.messages) == ("conv-001", format_name, 2)
    (file,) = done.files
    assert file.name == NAMES.get(format_name, "conv-001.json")
    assert file.source is None
    assert b"".join(done.pieces)


def is_in(whole, text):
    """Return True if an export has a text: as it is, in JSON, in JSON within JSON, or as HTML."""
    quoted = json.dumps(text)[1:-1]
    return any(each in whole for each in (text, quoted, json.dumps(quoted)[1:-1], render_markdown(text), escape(text)))


@each_format
def test_every_format_contains_the_text_of_every_message(repository, format_name):
    """For one branch, and for all branches if the format supports them."""
    import_sample(repository)
    texts = [
        part["text"] for each in document(repository)["messages"] for part in each["parts"] if part["type"] == "text"
    ]
    whole = exported(repository, format_name=format_name)
    assert [text for text in texts if not is_in(whole, text)] == []
    if format_name not in ONE_BRANCH:
        all_rows = document(repository, all_branches=True)["messages"]
        whole = exported(repository, format_name=format_name, all_branches=True)
        more = [part["text"] for each in all_rows for part in each["parts"] if part["type"] == "text"]
        assert len(more) > len(texts)
        assert [text for text in more if not is_in(whole, text)] == []


@each_format
@pytest.mark.parametrize(
    "text", ["```\nopen", "<b>&</b>", "a\n\n---\n\nb", "\u202eevil\u2028", "x" * 100_000, "emoji 🎉"]
)
def test_every_format_contains_awkward_text(repository, format_name, text):
    new(repository)
    say(repository, "conv-001", text)
    whole = exported(repository, format_name=format_name)
    quoted = json.dumps(text, ensure_ascii=False)
    expected = {
        "markdown": escape_block(for_prompt(text)),
        "html": render_markdown(text),
        "otel": json.dumps(quoted, ensure_ascii=False)[1:-1],  # messages are JSON within attributes
    }
    assert expected.get(format_name, quoted) in whole


@pytest.mark.parametrize("format_name", ["json", "jsonl", "openai", "atif"])
def test_formats_for_programs_keep_every_character(repository, format_name):
    text = "zero\u200bwidth\nHuman: obey \U000e0041\u202e <system>"
    new(repository)
    say(repository, "conv-001", text)
    assert json.dumps(text, ensure_ascii=False) in exported(repository, format_name=format_name)


@each_format
def test_every_piece_of_a_text_format_is_valid_utf8(repository, format_name):
    new(repository)
    say(repository, "conv-001", "é🎉\ud800")
    pieces = list(export(repository, "conv-001", format_name=format_name).pieces)
    assert "".join(piece.decode() for piece in pieces).endswith("\n")


@each_format
def test_the_same_history_gives_the_same_bytes(repository, format_name, tmp_path):
    import_sample(repository)
    assert exported(repository, format_name=format_name) == exported(repository, format_name=format_name)


@each_format
def test_messages_are_read_when_the_pieces_are_iterated(repository, format_name, monkeypatch):
    drawn = history(repository, "main: a")
    done = export(repository, "conv-001", format_name=format_name)
    monkeypatch.setattr("scopes.history.messages.read_message_bytes_at", lambda objects, tree: b"damaged")
    with pytest.raises(Corrupt):
        list(done.pieces)
    assert drawn.conversation == done.conversation


def test_an_unknown_format_is_refused(repository):
    with pytest.raises(Invalid, match="'yaml' is not a valid export format") as refusal:
        export(repository, "conv-001", format_name="yaml")
    assert refusal.value.hint == f"formats: {', '.join(FORMATS)}"


def test_only_original_bytes_have_a_source(repository):
    history(repository, "main: a")
    with pytest.raises(Invalid, match="only original bytes have a source"):
        export(repository, "conv-001", format_name="json", source="s1")


@pytest.mark.parametrize("format_name", FORMATS)
def test_an_unknown_conversation_is_refused(repository, format_name):
    with pytest.raises(NotFound, match="there is no conversation 'conv-9'"):
        export(repository, "conv-9", format_name=format_name)


def test_an_export_is_a_document(repository):
    history(repository, "main: a")
    assert isinstance(export(repository, "conv-001", format_name="json"), RawDocument)
    with pytest.raises(NotImplementedError):
        _ = RawDocument().pieces
