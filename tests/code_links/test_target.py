"""`FILE`, `FILE:LINE`, and other ways to name lines, and where a file is in its repository."""

from __future__ import annotations

import os

import pytest

from scopes.code_links.target import find_file, parse_target
from scopes.errors import Invalid, NotFound

FILES = {"src/app.py", "app.py", "a:b.py", "log:7", "C", "x.py", "x.py:1-3,5", "x.py#L2"}


def parse(text, files=FILES):
    return parse_target(text, files.__contains__)


@pytest.mark.parametrize(
    ("text", "file", "lines"),
    [
        ("src/app.py", "src/app.py", None),
        ("src/app.py:42", "src/app.py", ((42, 42),)),
        ("src/app.py:42-50", "src/app.py", ((42, 50),)),
        ("src/app.py:42,50", "src/app.py", ((42, 42), (50, 50))),
        ("app.py:1-3,5", "app.py", ((1, 3), (5, 5))),
        ("app.py:9,1-3:", "app.py", ((9, 9), (1, 3))),
        ("app.py:3:12", "app.py", ((3, 3),)),
        ("app.py:3-9:12", "app.py", ((3, 9),)),
        ("app.py:5:", "app.py", ((5, 5),)),
        ("app.py:3:12:", "app.py", ((3, 3),)),
        ("app.py:12:5-14:2", "app.py", ((12, 14),)),
        ("app.py:12:5-9", "app.py", ((12, 12),)),
        ("app.py#L12", "app.py", ((12, 12),)),
        ("app.py#L12-L20", "app.py", ((12, 20),)),
        ("app.py#L12-20", "app.py", ((12, 20),)),
        ("app.py#L12C5-L14C2", "app.py", ((12, 14),)),
        ("app.py:", "app.py", None),
        ("C:7", "C", ((7, 7),)),
    ],
)
def test_an_argument_names_a_file_and_perhaps_lines_as_editors_and_compilers_do(text, file, lines):
    assert parse(text) == (file, lines)


@pytest.mark.parametrize(
    ("text", "file", "lines"),
    [
        ("a:b.py", "a:b.py", None),
        ("a:b.py:7", "a:b.py", ((7, 7),)),
        ("a:b.py:7:1", "a:b.py", ((7, 7),)),
        ("log:7", "log:7", None),
        ("log:7:3", "log:7", ((3, 3),)),
        ("x.py:1-3,5", "x.py:1-3,5", None),
        ("x.py:1-3,5:2", "x.py:1-3,5", ((2, 2),)),
        ("x.py#L2", "x.py#L2", None),
        ("x.py#L2:4", "x.py#L2", ((4, 4),)),
        ("x.py#L2#L4", "x.py#L2", ((4, 4),)),
    ],
)
def test_a_file_whose_name_looks_like_a_file_with_lines_is_meant_if_it_exists(text, file, lines):
    assert parse(text) == (file, lines)


def test_the_longest_name_that_is_a_file_is_meant():
    assert parse("app.py:3:4", {"app.py", "app.py:3"}) == ("app.py:3", ((4, 4),))
    assert parse("app.py:3:", {"app.py", "app.py:3:"}) == ("app.py:3:", None)


@pytest.mark.parametrize(
    ("text", "file", "lines"),
    [
        ("gone.py:7", "gone.py", ((7, 7),)), ("gone.py:7:1:", "gone.py", ((7, 7),)), ("gone.py:x", "gone.py:x", None),
        ("gone.py#L7-L9", "gone.py", ((7, 9),)), ("gone.py:7,9", "gone.py", ((7, 7), (9, 9))),
        ("gone.py#Lx", "gone.py#Lx", None), ("gone.py:7#L9", "gone.py:7", ((9, 9),)),
        ("x:gone.py:7", "x:gone.py", ((7, 7),)), (":7", ":7", None),
    ],
)  # fmt: skip
def test_if_there_is_no_file_what_looks_like_lines_is_not_part_of_its_name(text, file, lines):
    assert parse(text) == (file, lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("app.py:abc", "'abc' in 'app.py:abc' is not a line number"),
        ("app.py:3-", "'3-' in 'app.py:3-' is not a line number"),
        ("app.py:-3", "'-3' in 'app.py:-3' is not a line number"),
        ("app.py:1.5", "'1.5' in 'app.py:1.5' is not a line number"),
        ("app.py:9999999999999", "'9999999999999' in 'app.py:9999999999999' is not a line number"),
        ("app.py:\N{ARABIC-INDIC DIGIT THREE}", "is not a line number"),
        ("app.py:1-3,", "'' in 'app.py:1-3,' is not a line number"),
        ("app.py:1-3,x", "'x' in 'app.py:1-3,x' is not a line number"),
        ("app.py:1,2:3-4:5", "'1,2' in 'app.py:1,2:3-4:5' is not a line number"),
        ("app.py#Lx", "'#Lx' in 'app.py#Lx' is not a line number"),
        ("app.py#L3-", "'#L3-' in 'app.py#L3-' is not a line number"),
        ("app.py:3:x", "'x' in 'app.py:3:x' is not a column"),
        ("app.py:3:12:error", "'12:error' in 'app.py:3:12:error' is not a column"),
        ("log:7:x", "'x' in 'log:7:x' is not a line number"),
    ],
)
def test_what_is_no_number_is_named_by_the_error(text, message):
    with pytest.raises(Invalid, match="is not a") as error:
        parse(text)
    assert message in error.value.message
    assert "FILE:LINE:COLUMN" in error.value.hint


@pytest.mark.parametrize(
    "text", ["", "app.py:0", "app.py:9-3", "app.py:1,9-3", "app.py#L0", "app.py#L9-L3", "app.py:9:1-3:4"]
)
def test_an_argument_without_a_file_or_with_impossible_lines_is_refused(text):
    with pytest.raises(Invalid) as error:
        parse(text)
    assert error.value.hint


def test_the_second_place_is_asked_only_if_the_first_one_knows_no_file():
    assert parse_target("app.py:3", {"app.py"}.__contains__, {"app.py:3"}.__contains__) == ("app.py", ((3, 3),))
    assert parse_target("app.py:3", set().__contains__, {"app.py:3"}.__contains__) == ("app.py:3", None)


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
