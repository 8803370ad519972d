"""No secret leaves in a path: of the directory of a conversation, or of a file; a note has a placeholder instead."""

from __future__ import annotations

import pytest

from scopes.conversation.new_rename_delete import new
from scopes.errors import SecretsFound
from tests.context.building import built
from tests.support.history import say
from tests.support.planted import KINDS

TOKEN = KINDS[1][1]


@pytest.mark.parametrize("mode", ["refuse", "redact"])
@pytest.mark.parametrize("exists", [True, False])
def test_a_note_shows_no_secret_in_the_directory_of_a_conversation(repository, exact, tmp_path, mode, exists):
    elsewhere = tmp_path / TOKEN
    new(repository, directory=str(elsewhere))
    say(repository, "conv-001", "x", files=[{"path": "../a.py", "op": "edit"}])
    if exists:
        elsewhere.mkdir()
    notes = str(built(repository, exact, tmp_path, secrets=mode).notes)
    assert "is not the current directory: it is" in notes
    assert ("[redacted:github-token:" in notes, TOKEN in notes) == (True, False)


def test_the_path_of_a_file_that_is_left_out_is_refused_or_replaced(repository, exact, tmp_path):
    new(repository)
    say(repository, "conv-001", "x", files=[{"path": f"{TOKEN}/a.py", "op": "edit"}])
    with pytest.raises(SecretsFound):
        built(repository, exact, tmp_path, secrets="refuse")
    result = built(repository, exact, tmp_path, secrets="redact")
    assert TOKEN not in f"{result.files_skipped} {result.warnings} {result.notes}"
    assert TOKEN in str(built(repository, exact, tmp_path, secrets="allow").files_skipped)
