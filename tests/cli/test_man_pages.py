"""Manual pages have the texts of the help, and are valid roff."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from scopes.cli.environment_docs import ENVIRONMENT, EXIT_CODES, FILES
from scopes.cli.inspect_command import inspect_command
from scopes.cli.man_pages import command_page, page_name, root_page
from scopes.cli.table import TABLE as PRODUCT
from scopes.cli.table import Command
from tests.cli.conftest import SETTINGS
from tests.cli.sample import TABLE


def tricky() -> None:
    """Survive \\what's `roff` would -eat.

    .TH is no macro here, and 'neither is this.
    A\\backslash, a "quote", a dash -- and an é.

    \b
    .nf
      'kept  as    it is'

    Examples:
      scopes tricky -- '.x' "a\\b"
    """  # noqa: D301  the backspace is intended


TRICKY = Command(("tricky",), "", "Survive", "tests.cli.test_man_pages:tricky")


def pages():
    verbs = {page_name(path): inspect_command(command) for path, command in TABLE.commands.items()}
    made = {name: command_page(name, verb) for name, verb in verbs.items()}
    return made | {
        "scopes": root_page(PRODUCT, SETTINGS.items()),
        "scopes-tricky": command_page("scopes-tricky", inspect_command(TRICKY)),
    }


def shown(page, tmp_path):
    """Return what man shows for a page, and what it complains about."""
    if shutil.which("man") is None:
        pytest.skip("man is not installed")
    file = tmp_path / "page.1"
    file.write_text(page, encoding="utf-8")
    environment = {
        "PATH": "/usr/bin:/bin",
        "MANWIDTH": "80",
        "LC_ALL": "C.UTF-8",
        "MANROFFOPT": "-c",
        "HOME": str(tmp_path),
    }
    done = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", str(file)],
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return subprocess.run(
        ["col", "-bx"], input=done.stdout, env=environment, capture_output=True, encoding="utf-8", check=True
    ).stdout, done.stderr


@pytest.mark.parametrize(("name", "page"), pages().items(), ids=pages())
def test_the_pages_have_no_roff_warnings(name, page, tmp_path):
    text, complaints = shown(page, tmp_path)
    assert complaints == ""
    assert text.startswith(name.upper() + "(1)")


def test_characters_special_to_roff_are_escaped(tmp_path):
    text, _ = shown(pages()["scopes-tricky"], tmp_path)
    assert "  'kept  as    it is'" in text
    words = " ".join(text.split())
    for line in (
        "survive \\what's `roff` would -eat",
        ".TH is no macro here, and 'neither is this.",
        'A\\backslash, a "quote", a dash -- and an é.',
        "scopes tricky -- '.x' \"a\\b\"",
    ):
        assert line in words


def test_a_page_has_the_texts_of_the_help(tmp_path):
    text, _ = shown(pages()["scopes-state"], tmp_path)
    words = " ".join(text.split())
    assert "scopes-state - print the settings of this run" in words
    assert "scopes state [OPTIONS] CONV [TEXT...]" in words
    assert "--branch, -b BRANCH Which branch (default: main)" in words
    assert "scopes state conv-001 --kind decision" in words


def test_the_page_of_the_program_explains_exit_codes_environment_files_and_settings():
    page = root_page(PRODUCT, SETTINGS.items()).replace("\\-", "-")
    terms = [term for rows in (EXIT_CODES, ENVIRONMENT, FILES, SETTINGS.items()) for term, _ in rows]
    assert [term for term in terms if f"\\fB{term}\\fR" not in page.replace("\\&", "")] == []


def test_the_page_of_the_program_refers_to_the_page_of_every_command():
    page = root_page(PRODUCT, ()).replace("\\-", "-")
    assert [path for path in PRODUCT.commands if f"{page_name(PRODUCT, path)}(1)" not in page] == []


def test_the_default_group_is_left_out_of_page_names():
    assert page_name(PRODUCT, ("append",)) == "scopes-append"
    assert page_name(PRODUCT, ("operations", "-a")) == "scopes-operations-list"
    assert page_name(PRODUCT, ("config", "get")) == "scopes-config-get"


def test_a_command_can_have_further_sections_between_its_options_and_examples():
    page = command_page("scopes-tricky", inspect_command(TRICKY), "# FIRST\n\nA text.\n\n  x = 1\n\n# SECOND\n\nb\n")
    titles = [line.removeprefix(".SH ") for line in page.splitlines() if line.startswith(".SH ")]
    assert titles[titles.index("OPTIONS") :][:4] == ["OPTIONS", "FIRST", "SECOND", "EXAMPLES"]
    assert ".nf\n  x = 1\n.fi" in page
