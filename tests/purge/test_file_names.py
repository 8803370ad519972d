"""`purge --file`: a file is found by every way to write its path, and a word that is only a word is not taken for it."""

from __future__ import annotations

import pytest

from scopes.purge.file_names import FileName

HERE = "/home/ann/shop"
FILE = f"{HERE}/conf/.env"


@pytest.mark.parametrize("name", [FILE, f"{HERE}/./conf/../conf/.env", "conf/.env", "shop/conf/.env"])
@pytest.mark.parametrize(
    "command",
    [
        f"cat {FILE}",
        f"cat {HERE}/conf/./.env",
        f"cat {HERE}//conf/.env",
        "cat ../shop/conf/.env",
        "cat ~/shop/conf/.env",
        "cat $PWD/conf/.env",
        "cat ${PWD}/conf/.env",
        "cat $(pwd)/conf/.env",
        'cat "$HOME"/shop/conf/.env',
        "cat ${HOME}/shop/'conf'/.env",
        f"grep -f{FILE} x",
        "grep -fconf/.env x",
        "cat conf/./.env",
        "cd conf && cat .env",
        "cd /srv; cd ~/shop/conf; cat ./.env",
        "echo 'it is broken; cat conf/.env",
    ],
)
def test_a_command_names_a_file_however_the_path_is_written(name, command):
    assert FileName(name).is_in(command, HERE, is_command=True)


@pytest.mark.parametrize(
    "command",
    [
        "cat /srv/conf/.env",
        "cat ../other/conf/.env",
        "cat ~/conf/.env",
        "cat conf/.env.local",
        "cat conf/.env~",
        "conf/.env/bin/python run.py",
        "cat conf/../.env",
        "cd other && cat .env",
    ],
)
def test_a_command_that_names_another_file_is_not_taken_for_it(command):
    assert not FileName(FILE).is_in(command, HERE, is_command=True)


@pytest.mark.parametrize(
    ("text", "is_command", "found"),
    [
        ("cat main", True, True),
        ("git diff main -- src/app.py", True, False),
        ("git checkout origin/main", True, False),
        ("git diff HEAD -- main", True, True),
        ("git status && cat main", True, True),
        ("git add ./main", True, True),
        ("def main(): pass", False, False),
        ("look into ./main please", False, True),
    ],
)
def test_a_name_without_a_dot_is_only_found_where_a_path_is_expected(text, is_command, found):
    assert FileName("main").is_in(text, HERE, is_command=is_command) == found


def test_the_value_of_a_field_is_such_a_name_only_if_the_field_is_one_of_paths():
    file = FileName("main")
    assert [file.is_value(field, "main", HERE) for field in ("file_path", "filename", "gitBranch")] == [
        True, True, False,
    ]  # fmt: skip
    assert FileName(".env").is_value("anything", "conf/.env", HERE)


def test_a_name_may_have_blanks_and_a_path_may_have_no_known_directory():
    assert FileName("my notes/a b.txt").is_in("cat 'my notes/a b.txt'", None)
    assert FileName("conf/.env").is_path("../shop/conf/.env", None)
    assert not FileName(FILE).is_path("conf/.env", None)
