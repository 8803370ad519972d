"""`FILE`, `FILE:LINE`, `FILE:FIRST-LAST`, and where a file is in its repository."""

from __future__ import annotations

import os

import pytest

from scopes.code_links.target import find_file, parse_target
from scopes.errors import Invalid, NotFound


@pytest.mark.parametrize(
    ("text", "file", "lines"),
    [
        ("src/app.py", "src/app.py", None),
        ("src/app.py:42", "src/app.py", (42, 42)),
        ("src/app.py:42-50", "src/app.py", (42, 50)),
        ("src/app.py:42,50", "src/app.py", (42, 50)),
        ("app.py:", "app.py:", None),
        ("app.py:x", "app.py:x", None),
        ("a:b.py:7", "a:b.py", (7, 7)),
        ("C:7", "C", (7, 7)),
        (":7", ":7", None),
    ],
)
def test_an_argument_names_a_file_and_perhaps_lines(tmp_path, text, file, lines):
    assert parse_target(text, str(tmp_path)) == (file, lines)


def test_a_file_whose_name_ends_like_a_line_is_meant_if_it_exists(tmp_path):
    (tmp_path / "log:7").touch()
    assert parse_target("log:7", str(tmp_path)) == ("log:7", None)
    assert parse_target("log:7:3", str(tmp_path)) == ("log:7", (3, 3))


@pytest.mark.parametrize("text", ["", "app.py:0", "app.py:9-3"])
def test_an_argument_without_a_file_or_with_impossible_lines_is_refused(tmp_path, text):
    with pytest.raises(Invalid) as error:
        parse_target(text, str(tmp_path))
    assert error.value.hint


def place(file, cwd):
    found = find_file(str(file), str(cwd))
    return found.path, found.working


def test_a_file_is_named_from_the_top_of_its_repository(project):
    (project.path / "src").mkdir()
    assert place("app.py", project.path) == ("app.py", f"{project.path}/app.py")
    assert place("app.py", project.path / "src") == ("src/app.py", f"{project.path}/src/app.py")
    assert place("../app.py", project.path / "src") == ("app.py", f"{project.path}/app.py")
    assert place(project.path / "src" / "x.py", "/") == ("src/x.py", f"{project.path}/src/x.py")


def test_a_file_in_a_directory_that_is_gone_is_looked_for_from_the_current_one(project):
    assert place("gone/app.py", project.path)[0] == "gone/app.py"


def test_a_link_to_a_directory_is_followed_but_the_file_itself_may_be_a_link(project):
    (project.path / "src").mkdir()
    (project.path / "link").symlink_to("src")
    (project.path / "src" / "b.py").symlink_to("a.py")
    assert place("link/b.py", project.path)[0] == "src/b.py"


def test_a_file_outside_of_the_repository_is_refused(project, tmp_path):
    with pytest.raises((Invalid, NotFound)):
        place(tmp_path / "elsewhere.py", project.path)
    with pytest.raises(Invalid, match="is outside of the repository"):
        place("../gone/x.py", project.path)


def test_a_directory_is_refused(project):
    (project.path / "src").mkdir()
    with pytest.raises(Invalid, match="is a directory"):
        place("src", project.path)


def test_a_file_of_another_repository_below_is_one_of_that_repository(project):
    inner = project.path / "vendor"
    os.makedirs(inner)
    project.git("init", "-q", str(inner))
    found = find_file("vendor/x.py", str(project.path))
    assert (found.path, found.repository.top) == ("x.py", str(inner))


def test_in_a_bare_repository_a_path_is_taken_from_the_top(project, tmp_path):
    project.git("init", "-q", "--bare", str(tmp_path / "bare.git"))
    assert place("src/./app.py", tmp_path / "bare.git") == ("src/app.py", None)
