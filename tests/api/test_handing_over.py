"""A conversation as a session of another agent, in a program: what `scopes resume --in` writes."""

from __future__ import annotations

import os

import pytest

import scopes
from scopes.importers.formats.codex import Codex
from tests.importers.reading import drafts, events_of
from tests.support.planted import KINDS


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The current directory of a program, and a home without any session."""
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.setenv("HOME", str(tmp_path))
    return str(tmp_path / "shop")


@pytest.mark.parametrize("words", [(), ("--max-tokens", "900"), ("--full", "--reasoning")], ids=" ".join)
def test_the_result_is_that_of_the_command_line(conversation, same, project, words):
    options = {(): {}, ("--max-tokens", "900"): {"max_tokens": 900}}.get(words, {"full": True, "reasoning": True})
    options["directory"] = project
    where = ("resume", conversation.id, "--in", "codex", "--directory", project, "--dry-run", *words)
    done = same(where, lambda talk: talk.resume("codex", dry_run=True, **options))
    assert isinstance(done, scopes.CheckedOut)
    assert not os.path.exists(done.file)


def test_a_session_is_written_that_the_agent_reads(talk, store, project):
    done = talk.resume("codex", branch="main", directory=project)
    assert (done.directory, done.new_branch, done.state) == (project, "codex/1", "written")
    with open(done.file, "rb") as file:
        found = drafts(events_of(Codex(), file.read(), done.file))
    texts = [part.text for draft in found for part in draft.parts]
    assert [message.text for message in talk.log("main", oldest_first=True)] == texts[-len(list(talk.log("main"))) :]
    assert talk.resume("codex", branch="main", directory=project).state == "unchanged"
    store.undo()
    assert not os.path.exists(done.file)


def test_an_agent_that_is_no_target_and_a_secret_are_refused(talk, project):
    with pytest.raises(scopes.Invalid, match="nobody"):
        talk.resume("nobody")
    talk.append(f"the key is {KINDS[0][1]}", branch="main")
    with pytest.raises(scopes.Refused, match="secret"):
        talk.resume("codex", branch="main")
    done = talk.resume("codex", branch="main", secrets="redact")
    assert "1 possible secret was replaced" in [note.text for note in done.notes]
