"""How other programs start this one: from any directory, and without any code of that directory."""

from __future__ import annotations

import os
import subprocess

import pytest

from scopes import __version__
from scopes.hosts.program import arguments_of, guarded, is_hook_run, program_words, split_command

EVIL = 'import os; os.write(1, b"code of the project ran\\n"); os._exit(1)'


def run(words, cwd, **environ):
    done = subprocess.run(words, cwd=cwd, env={**os.environ, **environ}, capture_output=True, text=True, check=False)
    return done.stdout


@pytest.fixture
def hostile(tmp_path):
    """Make a project with modules of the names that the program imports."""
    for name in ("scopes", "json", "select", "re", "encodings", "sitecustomize", "usercustomize"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(EVIL)
        (tmp_path / name / "__main__.py").write_text(EVIL)
    return tmp_path


def test_the_program_starts_in_any_directory(tmp_path):
    assert run([*program_words(), "--version"], tmp_path) == f"scopes {__version__}\n"


@pytest.mark.parametrize("environ", [{}, {"PYTHONPATH": "."}, {"PYTHONHOME": "."}, {"PYTHONSAFEPATH": ""}])
def test_modules_of_the_current_directory_are_not_run(hostile, environ):
    assert run([*program_words(), "--version"], hostile, **environ) == f"scopes {__version__}\n"


def test_the_same_project_does_run_code_without_these_options(hostile):
    """What the test above proves depends on this."""
    assert "code of the project ran" in run([program_words()[0], "-m", "scopes", "--version"], hostile)


def test_every_word_is_absolute_or_an_option():
    assert all(os.path.isabs(word) or word.startswith("-") or word == "utf8" for word in program_words())


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["/opt/bin/scopes", "hooks", "run", "codex"], True),
        (["/v/python", "-P", "/lib/scopes/__main__.py", "hooks", "run", "codex", "--store", "x"], True),
        (["nice", "scopes", "hooks", "run", "codex"], False),
        (["/mine.sh", "/v/python", "/lib/scopes/__main__.py", "hooks", "run", "codex"], False),
        (["/v/python", "/mine.py", "/lib/scopes/__main__.py", "hooks", "run", "codex"], False),
        (["scopes", "hooks", "run", "codex", "&&", "x"], False),
        (["scopes", "hooks", "run", "codex", "--store", "x", "y"], False),
        (["scopes", "hooks", "run", "codex", "--store"], False),
        (["scopes", "hooks", "run"], False),
        (["scopes", "hooks", "run", "gemini"], False),
        (["scopes", "hooks", "status", "codex"], False),
        (["telescopes", "hooks", "run", "codex"], False),
        (["echo", "hooks", "run", "codex"], False),
        ([], False),
    ],
)
def test_a_command_is_recognized_as_ours_wherever_it_is_installed(words, found):
    assert is_hook_run(words, "codex") is found


def test_what_follows_the_program_is_shown():
    assert arguments_of(["/v/python3", "-E", "-P", "-X", "utf8", "/lib/scopes/__main__.py", "mcp"]) == ["mcp"]
    assert arguments_of(["/lib/scopes/__main__.py"]) == arguments_of(["scopes"]) == []
    assert arguments_of([]) is arguments_of(["python3", "-m", "other"]) is None
    assert arguments_of([*program_words(), "x"]) == ["x"]


@pytest.mark.parametrize(
    "command", ["a | b", "a; b", "a && b", "a $X", "a ~/x", "a\nb", "a 'b", "a #b", "a `b`", "a *"]
)
def test_a_command_that_is_more_than_words_has_none(command):
    assert split_command(command) == []
    assert split_command("a 'b c' --d=1") == ["a", "b c", "--d=1"]
    assert split_command(guarded(["a", "b c"])) == ["a", "b c"]
    assert split_command("a || exit 0") == ["a"]
    assert split_command("a || exit 1") == split_command("a; b || exit 0") == []
