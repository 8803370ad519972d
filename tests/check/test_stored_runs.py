"""`check` on stored conversations: which are chosen, and one as the baseline of another."""

from __future__ import annotations

import pytest

from scopes.cli.main import main
from scopes.cli.table import TABLE
from tests.check.sessions import run_check, write_session

PUSH = ("Bash", {"command": "git push --force"}, 0)
DELETION = ("Bash", {"command": "rm -rf /opt/app"}, 0)


@pytest.fixture
def imported(tmp_path, monkeypatch, capsys):
    """Import two sessions into a store: conv-001 pushes, conv-002 pushes and deletes."""
    monkeypatch.setenv("SCOPES_STORE", str(tmp_path / "store.git"))
    for name, steps in {"one": (PUSH, "Done."), "two": (PUSH, DELETION, "Done.")}.items():
        path = write_session(tmp_path / f"{name}.jsonl", *steps, session=name)
        assert main(["import", str(path)], TABLE) == 0
    capsys.readouterr()
    return tmp_path


def test_a_stored_conversation_is_the_baseline_of_another(imported, capsys):
    code, output = run_check(capsys, "conv-002", "--baseline", "conv-001")
    assert (code, "shell/recursive-delete" in output) == (1, True)
    code, output = run_check(capsys, "conv-001", "--baseline", "conv-002")
    assert code == 0
    code, output = run_check(capsys, imported / "one.jsonl", "--baseline", "conv-001")
    assert code == 0


def test_a_baseline_that_is_neither_a_file_nor_a_conversation_is_refused(imported, capsys):
    code, output = run_check(capsys, "conv-001", "--baseline", "conv-009")
    assert (code, "conv-009" in output) == (4, True)


@pytest.mark.parametrize("option", [("--since", "2099-01-01"), ("--project", ".")])
def test_named_conversations_are_not_narrowed(imported, capsys, option):
    assert run_check(capsys, *option)[0] == 1  # there is no such run
    code, output = run_check(capsys, "conv-001", *option)
    assert (code, "these are named" in output) == (2, True)
