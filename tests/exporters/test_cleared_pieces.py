"""Original files and selections pass the gate: refused before the first byte, redacted line by line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.errors import Refused, SecretsFound
from scopes.exporters.export import _lines, clear_source, export, inspect_source
from scopes.history.messages import plain_message
from scopes.secret_scan.clearance import Gate, without_store
from scopes.store.repository import Repository
from tests.importers.streams import import_paths
from tests.support.code_sessions import ClaudeSession, Project
from tests.support.history import history, say
from tests.support.planted import KINDS

TOKEN = KINDS[1][1]


@pytest.fixture
def session(repository, tmp_path):
    """The file of an imported session with a secret in its second line."""
    made = ClaudeSession(Project(tmp_path / "shop")).prompt("hello").say(f'use "{TOKEN}" \\ now').prompt("bye")
    path = made.save(tmp_path)
    import_paths(repository, path)
    return path


def content(repository, **options):
    (file,) = export(repository, "conv-001", format_name="original", **options).files
    return b"".join(piece.data for piece in file.pieces)


def test_an_original_with_a_secret_is_refused_with_its_line(repository, session):
    with pytest.raises(SecretsFound, match=r"line 2 of .*, line 1: github-token"):
        export(repository, "conv-001", format_name="original")


def test_an_original_is_exact_if_secrets_may_pass(repository, session):
    assert content(repository, secrets="allow") == session.read_bytes()


def test_of_a_redacted_original_only_the_lines_with_secrets_differ(repository, session):
    before, after = session.read_bytes().splitlines(), content(repository, secrets="redact").splitlines()
    assert [number for number, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]] == [1]
    assert TOKEN.encode() not in after[1]
    text = json.loads(after[1])["message"]["content"][0]["text"]
    assert text.startswith('use "[redacted:github-token:')
    assert text.endswith('" \\ now')


def test_a_redacted_original_can_be_imported_again(repository, session, tmp_path):
    again = tmp_path / "again.jsonl"
    again.write_bytes(content(repository, secrets="redact"))
    imported = import_paths(repository, again)
    assert [each.unparsed for each in imported.sources] == [0]


def test_a_binary_file_is_not_redacted():
    chunks = [b"\0\1binary\0 " + TOKEN.encode() + b"\n"]
    with pytest.raises(Refused, match="is not text"):
        list(clear_source(chunks, "s1", without_store()))
    assert b"".join(each.data for each in clear_source([b"\0\1\n"], "s1", without_store())) == b"\0\1\n"


def test_a_secret_at_the_border_of_two_chunks_is_found():
    text = f'{{"text":"{TOKEN}"}}\n'.encode()
    door = Gate("refuse", lambda rule, value: rule + value)
    inspect_source([text[:20], text[20:30], text[30:]], "s1", door)
    with pytest.raises(SecretsFound, match="line 1 of s1"):
        door.refuse_leaks()


@given(st.lists(st.binary(max_size=6), max_size=8), st.sampled_from([b"\n", b"\r\n", b"\r", b"\0"]))
def test_lines_are_the_bytes_of_the_chunks(chunks, end):
    chunks = [chunk + end for chunk in chunks]
    lines = list(_lines(chunks))
    assert b"".join(lines) == b"".join(chunks)
    assert all(line.endswith(b"\n") for line in lines[:-1])
    assert all(b"\n" not in line[:-1] for line in lines)


@pytest.mark.parametrize("format_name", ["markdown", "json", "jsonl", "openai"])
def test_nothing_is_written_before_a_refusal(repository, format_name):
    history(repository, "main: a b c")
    say(repository, "conv-001/main", TOKEN)
    with pytest.raises(SecretsFound, match=r"message [a-z2-7]{8}, line 1: github-token"):
        export(repository, "conv-001", format_name=format_name)


def test_messages_are_read_as_they_are_again_after_an_export(repository: Repository):
    history(repository, "main: a")
    say(repository, "conv-001/main", TOKEN)
    exported = export(repository, "conv-001", format_name="json", secrets="redact")
    assert TOKEN.encode() not in b"".join(exported.pieces)
    assert repository.caller.clear_message is None
    assert exported.gate.redacted == 1


def test_a_message_that_is_no_secret_is_exported_in_every_mode(repository):
    history(repository, "main: a")
    say(repository, "conv-001/main", plain_message("carol", "x").author.name)
    written = {
        b"".join(export(repository, "conv-001", format_name="json", secrets=mode).pieces)
        for mode in ("refuse", "redact", "allow")
    }
    assert len(written) == 1
