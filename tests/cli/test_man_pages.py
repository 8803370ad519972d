"""The generated files: manual pages are valid roff with the texts of the help; the committed files are up to date."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from scopes.cli.command_help import ENVIRONMENT, EXIT_CODES, FILES
from scopes.cli.generate import generate, main, pages
from scopes.cli.table import TABLE, Command, Table
from scopes.store.config import SETTINGS
from tests.cli.running import ROOT


def tricky() -> None:
    r"""Survive \what's `roff` would -eat.

    .TH is no macro here, and 'neither is this.
    A\backslash, a "quote", a dash -- and an é.

      .nf 'kept  as    it is'

    Examples:
      scopes tricky -- '.x' "a\b"
    """


TRICKY = Table((Command(("tricky",), "Tricks", "Survive", "tests.cli.test_man_pages:tricky"),))
PAGES = pages(TABLE, SETTINGS.items()) | {"scopes-tricks": pages(TRICKY, ())["scopes-tricks"]}


def shown(page, tmp_path):
    """Return what man shows for a page, and what it complains about."""
    if shutil.which("man") is None:
        pytest.skip("man is not installed")
    (tmp_path / "page.1").write_text(page, encoding="utf-8")
    environment = {
        "PATH": "/usr/bin:/bin", "MANWIDTH": "80", "LC_ALL": "C.UTF-8", "MANROFFOPT": "-c", "HOME": str(tmp_path),
    }  # fmt: skip
    keywords = {"env": environment, "capture_output": True, "encoding": "utf-8"}
    line = ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", str(tmp_path / "page.1")]
    done = subprocess.run(line, check=False, **keywords)
    return subprocess.run(["col", "-bx"], input=done.stdout, check=True, **keywords).stdout, done.stderr


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_have_no_roff_warnings(name, tmp_path):
    text, complaints = shown(PAGES[name], tmp_path)
    assert complaints == ""
    assert text.startswith(name.upper() + "(1)")


def test_characters_special_to_roff_are_escaped(tmp_path):
    text, _ = shown(PAGES["scopes-tricks"], tmp_path)
    assert "  .nf 'kept  as    it is'" in text
    for line in (
        "Survive \\what's `roff` would -eat.",
        ".TH is no macro here, and 'neither is this.",
        'A\\backslash, a "quote", a dash -- and an é.',
        "scopes tricky -- '.x' \"a\\b\"",
    ):
        assert line in " ".join(text.split())


def test_the_page_of_the_program_explains_exit_codes_environment_files_and_settings():
    page = PAGES["scopes"].replace("\\-", "-").replace("\\&", "")
    terms = [term for rows in (EXIT_CODES, ENVIRONMENT, FILES, SETTINGS.items()) for term, _ in rows]
    assert [term for term in terms if f"\\fB{term}\\fR" not in page] == []


def test_each_command_is_on_the_page_of_its_section_and_named_in_that_of_the_program():
    text = "".join(PAGES.values()).replace("\\-", "-")
    for command in (command for commands in TABLE.sections.values() for command in commands):
        assert text.count(f".SH {command.spelling.upper()}\n") == 1
        assert f"\\fB{command.spelling}\\fR" in PAGES["scopes"].replace("\\-", "-")


def test_the_manual_of_a_command_is_on_its_page():
    assert ".SS Programs of agents" in PAGES["scopes-agree"]


def test_the_committed_files_are_up_to_date(capsys):
    """Write them anew with: python -m scopes.cli.generate."""
    assert (main(["--check"], ROOT), capsys.readouterr().out) == (0, "")


def test_generating_writes_what_differs_and_removes_what_is_gone(tmp_path, capsys):
    (tmp_path / "man" / "man1").mkdir(parents=True)
    (tmp_path / "man" / "man1" / "scopes-old.1").write_text("old")
    assert main(["--check"], str(tmp_path)) == 1
    assert main([], str(tmp_path)) == 0
    written = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert written == set(generate(TABLE))
    assert main(["--check"], str(tmp_path)) == 0
    assert "man/man1/scopes-old.1\n" in capsys.readouterr().out


def test_no_generated_file_has_a_path_of_this_machine():
    assert ROOT not in "".join(generate(TABLE).values())
