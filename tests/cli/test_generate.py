"""The files generated from the command table, and that the committed files are up to date."""

from __future__ import annotations

import os

import pytest

from scopes.cli import generate as generation
from scopes.cli.generate import generate, main
from scopes.cli.option_rows import read_keys, read_rows
from scopes.cli.table import TABLE as PRODUCT
from scopes.model.conflicts import STATUSES
from tests.cli.conftest import SETTINGS
from tests.cli.running import ROOT
from tests.cli.sample import TABLE


def test_the_committed_files_are_up_to_date(capsys):
    """Write them anew with: python -m scopes.cli.generate."""
    assert (main(["--check"]), capsys.readouterr().out) == (0, "")


def test_completions_pages_and_options_are_generated():
    files = generate(TABLE, SETTINGS)
    assert {"completions/scopes.bash", "completions/_scopes", "completions/scopes.fish"} < set(files)
    assert {"man/man1/scopes.1", "man/man1/scopes-state.1", "man/man1/scopes-version.1"} < set(files)
    assert "scopes/cli/options.tsv" in files


def test_generating_is_deterministic():
    assert generate(TABLE, SETTINGS) == generate(TABLE, SETTINGS)


def test_no_generated_file_has_a_path_of_this_machine():
    text = "".join(generate(TABLE, SETTINGS).values())
    assert ROOT not in text
    assert os.path.expanduser("~") + "/" not in text


def test_completion_reads_the_generated_rows(sample_options):
    rows = read_rows(TABLE.commands["conversations", "state"])
    assert [(row.name, row.value, row.choices) for row in rows] == [
        ("1", "CONV", []),
        ("2...", "TEXT", []),
        ("--branch", "BRANCH", []),
        ("-b", "BRANCH", []),
        ("--kind", "KIND", ["plain", "decision"]),
        ("--limit", "N", []),
        ("-z", "", []),
        ("--nul", "", []),
    ]
    assert read_keys() == list(SETTINGS.items())


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Let the generator work on the sample table, in a checkout of its own."""
    package = tmp_path / "scopes" / "cli"
    package.mkdir(parents=True)
    monkeypatch.setattr(generation, "TABLE", TABLE)
    monkeypatch.setattr(generation, "__file__", str(package / "generate.py"))
    return tmp_path


def test_check_names_what_differs_and_writes_nothing(checkout, capsys):
    assert main(["--check"]) == 1
    assert "man/man1/scopes-state.1\n" in capsys.readouterr().out
    assert not (checkout / "man").exists()


def test_generated_files_pass_the_check(checkout, capsys):
    assert main([]) == 0
    assert main(["--check"]) == 0
    (checkout / "completions" / "_scopes").write_text("edited")
    capsys.readouterr()
    assert (main(["--check"]), capsys.readouterr().out) == (1, "completions/_scopes\n")


def test_writing_again_changes_nothing(checkout, capsys):
    main([])
    capsys.readouterr()
    assert (main([]), capsys.readouterr().out) == (0, "")


def test_the_page_of_a_command_that_is_gone_is_removed(checkout, capsys):
    main([])
    (checkout / "man" / "man1" / "scopes-gone.1").write_text("old")
    capsys.readouterr()
    assert (main(["--check"]), capsys.readouterr().out) == (1, "man/man1/scopes-gone.1\n")
    main([])
    assert not (checkout / "man" / "man1" / "scopes-gone.1").exists()


@pytest.mark.parametrize(
    ("command", "choices"), [("conflicts list", list(STATUSES)), ("append", []), ("summarize", [])]
)
def test_only_the_status_of_conflicts_has_the_statuses_of_conflicts(command, choices):
    """`append --status` is free text, and `summarize --status` a flag."""
    rows = read_rows(PRODUCT.commands["conversations", *command.split()])
    assert [row.choices for row in rows if row.name == "--status"] == [choices]
