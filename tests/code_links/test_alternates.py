"""The file `objects/info/alternates` is read as git reads it: a path that only git sees could be a trap."""

from __future__ import annotations

import os

import pytest

from scopes.code_links.alternates import parse_alternates
from scopes.code_links.project_git import find_project_repository, open_project_git
from scopes.errors import Inaccessible
from tests.support.pipes import named_pipe


@pytest.mark.parametrize(
    ("data", "paths"),
    [
        (b"", []),
        (b"/a\n../b", [b"/a", b"../b"]),
        (b"# a comment\n\n\n/a\n", [b"/a"]),
        (b"/a\r\n/b\x0b/c\n", [b"/a\r", b"/b\x0b/c"]),  # only the end of a line ends a path
        (b"/a\n/b\0/c\n/d\n", [b"/a", b"/b"]),
        (b'"/a"\n"/b c"', [b"/a", b"/b c"]),
        (b'"/a\\164\\n\\t\\"\\\\"\n', [b'/at\n\t"\\']),
        (b'"/a\nb"\n/c\n', [b"/a\nb", b"/c"]),
        (b'"/a"/b\n/c\n', [b"/a", b"b", b"/c"]),
        (b'"/a\\000b"\n', [b"/a"]),
        (b'"#a"\n""\n', [b"#a"]),
        (b'"/a\n/b\n', [b'"/a', b"/b"]),
        (b'"/a\\x"\n', [b'"/a\\x"']),
        (b'"/a\\777"\n', [b'"/a\\777"']),
    ],
)
def test_paths_are_those_of_git(data, paths):
    assert list(parse_alternates(data)) == paths


def quoted(folder):
    return f'"{folder}"'


def quoted_with_escapes(folder):
    return '"' + "".join(f"\\{ord(character):03o}" for character in str(folder)) + '"'


def after_another(folder):
    return f'"/nothing".{folder}'


def before_a_carriage_return(folder):
    return f"{folder}\n\r"


def before_a_nul(folder):
    return f"{folder}\0rest"


def with_two_dots(folder):
    return f"{folder}/gone/.."


WAYS = [quoted, quoted_with_escapes, after_another, before_a_carriage_return, before_a_nul, with_two_dots]


@pytest.fixture
def started(project):
    project.write("app.py", "a line that is long enough\n")
    project.commit("Begin")
    return project


@pytest.mark.parametrize("write", WAYS)
def test_a_pipe_in_a_directory_that_git_would_look_into_is_found(started, world, tmp_path, write):
    (tmp_path / "more").mkdir()
    (started.path / ".git/objects/info/alternates").write_text(write(tmp_path / "more"))
    with (
        named_pipe(tmp_path / "more/info/alternates"),
        pytest.raises(Inaccessible, match="named pipe"),
        world.git() as git,
    ):
        git.run("log", "-1")


@pytest.mark.parametrize("write", WAYS[:5])
def test_git_looks_there(started, tmp_path, write):
    """The objects of a repository are only in the directory that the file names."""
    started.git("clone", "-q", "--shared", str(started.path), str(tmp_path / "shared"))
    text = write(started.path / ".git/objects")
    (tmp_path / "shared/.git/objects/info/alternates").write_text(text)
    with open_project_git(find_project_repository(str(tmp_path / "shared"))) as git:
        assert git.run("log", "-1", "--format=%s").decode().strip() == "Begin"
    assert os.listdir(tmp_path / "shared/.git/objects/pack") == []
