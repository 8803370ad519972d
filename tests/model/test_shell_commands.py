"""Which shell commands write a file, so that its recorded text no longer counts."""

from __future__ import annotations

import shlex

import pytest

from scopes.model.shell_effects import find_effect, path_from
from scopes.model.shell_programs import FORMATTERS
from scopes.model.shell_writers import MAX_COMMAND, read_actions


def find_writer(command, name):
    paths = path_from(f"src/{name}", "/work"), path_from(name, "/work")
    found = next(filter(None, (find_effect(read_actions(command), path) for path in paths)), None)
    return None if found is None else found.cause


@pytest.mark.parametrize(
    ("command", "writer"),
    [
        ("sed -i 's/a/b/' src/app.py", "sed -i"),
        ("sed -E --in-place=.bak s/a/b/ app.py", "sed --in-place"),
        ("perl -pi -e 's/a/b/' app.py", "perl -pi"),
        ("git checkout -- src/app.py", "git checkout"),
        ("git restore src/app.py", "git restore"),
        ("git mv app.py main.py", "git mv"),
        ("cp template.py app.py", "cp"),
        ("mv app.py main.py", "mv"),
        ("rm -f app.py", "rm"),
        ("curl -s https://example.org | tee app.py", "tee"),
        ("python make.py > app.py", "> app.py"),
        ("python make.py >>'src/app.py'", "> app.py"),
        ("cat > src/app.py <<'EOF'\nx = 1\nEOF", "> app.py"),
        ("goimports -l -w app.py", "goimports -w"),
    ],
)
def test_a_command_that_writes_the_file_is_named(command, writer):
    assert find_writer(command, "app.py") == writer


@pytest.mark.parametrize(
    ("command", "formatter"),
    [
        ("gofmt -w app.py", "gofmt -w"),
        ("gofmt -s -w lib.py app.py", "gofmt -w"),
        ("prettier --write app.py", "prettier --write"),
        ("ruff format app.py", "ruff format"),
        ("black app.py", "black"),
        ("rustfmt app.py", "rustfmt"),
    ],
)
def test_a_formatter_is_a_writer_that_keeps_the_meaning_of_the_file(command, formatter):
    assert find_writer(command, "app.py") == formatter
    assert formatter in FORMATTERS


@pytest.mark.parametrize(
    "command",
    [
        "cat app.py",
        "grep -n 'sed -i' app.py",
        "sed -n 1,20p app.py",
        "gofmt -l app.py",
        "ruff check app.py",
        "prettier --check app.py",
        "git diff app.py",
        "git add app.py && git commit -m 'rm app'",
        "python app.py > out.txt",
        "python app.py 2>&1 | tail -5",
        "wc -l app.py && rm other.py",
        "git stash push app.py && make test; git stash pop",
        "",
    ],
)
def test_a_command_that_only_reads_the_file_is_none(command):
    assert find_writer(command, "app.py") is None


@pytest.mark.parametrize(
    "command",
    [
        "cd /work && make && sed -i s/a/b/ app.py",
        "make || rm app.py",
        "echo start; rm app.py",
        "make\nrm app.py",
        "LC_ALL=C LANG=C sed -i s/a/b/ app.py",
    ],
)
def test_each_part_of_a_command_line_counts(command):
    assert find_writer(command, "app.py") in {"sed -i", "rm"}


def test_the_first_command_that_writes_the_file_is_named():
    assert find_writer("sed -i s/a/b/ app.py && rm app.py", "app.py") == "sed -i"


@pytest.mark.parametrize("name", ["a.b", "a+b.c", "a[1].py", "a (copy).py"])
def test_the_name_of_a_file_is_no_pattern(name):
    assert find_writer(f"python make.py > {shlex.quote(name)}", name) == f"> {name}"
    assert find_writer("python make.py > axb", "a.b") is None


def test_a_patch_in_a_command_is_no_command():
    """Its lines are read as edits, and a context line can look like a command that writes the file."""
    patch = (
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: app.py\n@@\n rm app.py\n-x\n+y\n*** End Patch\nEOF\n"
    )
    assert find_writer(patch, "app.py") is None
    assert find_writer(f"{patch}sed -i s/y/z/ app.py", "app.py") == "sed -i"


def test_a_very_long_command_may_change_the_files_that_it_names():
    assert find_writer(f"echo {'x' * MAX_COMMAND}; rm app.py", "app.py") == "a long command"
