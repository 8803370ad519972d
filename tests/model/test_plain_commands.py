"""Commands whose effect on files is certain: bash, rm, mv, git and sed run them, and the files are compared."""

from __future__ import annotations

import os
import posixpath
import shutil
import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scopes.model.shell_commands import (
    MAX_COMMAND,
    Removal,
    changes_directory,
    find_removals,
    is_repeatable,
    split_plain,
)
from tests.support.examples import examples

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
SHOW = """show() { printf '%s\\0' "$@"; printf '\\1'; }\n"""
FILES = {
    "a": "one\n",
    "b": "two\n",
    "a b": "three\n",
    "-x": "four\n",
    "d/x": "five\n",
    "d/e/y": "six\n",
    "f/d/z": "seven\n",
    "f/a": "eight\n",
}


def bash(command, directory="/"):
    environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(
        ["bash", "-c", command], cwd=directory, env=environment, check=False, stdin=subprocess.DEVNULL,
        capture_output=True, timeout=20,
    )  # fmt: skip


def write_files(directory, files=FILES):
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def read_files(directory):
    found = {}
    for folder, folders, files in os.walk(directory):
        if ".git" in folders:
            folders.remove(".git")
        for name in files:
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                found[os.path.relpath(path, directory)] = file.read()
    return found


def is_in(path, directory):
    return path == directory or path.startswith(f"{directory}/")


def apply_removals(files, directories, removals):
    """Return the files that are left after removals, as a reader of the removals calculates them."""
    files = dict(files)
    for removal in removals:
        old = posixpath.normpath(removal.path)
        new = removal.into if removal.new in directories and removal.into is not None else removal.new
        gone = {path: files.pop(path) for path in sorted(files) if is_in(path, old)}
        if new is not None:
            files.update({posixpath.normpath(new + path[len(old) :]): text for path, text in gone.items()})
    return files


@pytest.mark.parametrize(
    "command",
    [
        "rm a",
        "rm -f a missing",
        "rm -v 'a b' b",
        "rm -rf d f",
        "rm --recursive --force d/e",
        "rm -- -x",
        "rm -f -- a -x",
        "rm -r ./d/",
        "rm d/../a",
        "mv a n",
        "mv a b",
        "mv -f -v a b",
        "mv a d",
        "mv a d/",
        "mv a d/n",
        "mv f/a .",
        "mv a f",
        "mv d n",
        "mv d/ n",
        "mv d/e f",
        "mv d/e/ f",
        "mv a b 'a b' d",
        "mv a d/e f/d",
        "mv -- -x n",
        'mv "a b" "n m"',
        "mv d/e d/g",
        "git rm -q a b",
        "git rm -rf -q d",
        "git mv a n",
        "git mv -f a b",
        "git mv d f/e",
        "git mv a b d",
        "rm a && rm b",
        "mv a n && mv n m",
        "mv a n && rm -r d && mv b a",
        "git mv a n && git rm -qf n",
        "mv a d && mv d n",
        "mv d n && mv n/x .",
    ],
)
def test_the_files_after_a_command_are_those_that_its_removals_give(tmp_path, command):
    write_files(tmp_path)
    if "git" in command:
        assert (
            bash(
                "git init -q && git add -f . && git -c user.name=t -c user.email=t@t commit -qm x", tmp_path
            ).returncode
            == 0
        )
    expected = dict(FILES)
    for words in split_plain(command):
        removals = find_removals(words)
        assert removals, words
        directories = {posixpath.dirname(path) for path in expected} | {"d/e", "f/d"}
        expected = apply_removals(expected, directories, removals)
    done = bash(command, tmp_path)
    assert done.returncode == 0, done.stderr
    assert read_files(tmp_path) == expected


@pytest.mark.parametrize(
    "command",
    [
        "rm",
        "rm -f",
        "rm -i a",
        "rm a -r",
        "rm ''",
        "rm --",
        "mv a",
        "mv -n a b",
        "mv -t d a",
        "mv --backup a b",
        "mv -u a b",
        "mv a b -v",
        "git rm --cached a",
        "git rm -n a",
        "git mv -k a b",
        "git mv -n a n",
        "git -C d rm x",
        "sudo rm a",
        "X=1 rm a",
        "rmdir d",
        "cp a n",
        "grm a",
        "git",
        "git status",
        "echo rm a",
    ],
)
def test_a_command_with_other_effects_has_no_removals(command):
    (words,) = split_plain(command)
    assert find_removals(words) is None
    assert find_removals([]) is None


@pytest.mark.parametrize(
    ("command", "removals"),
    [
        ("mv a n", [Removal("a", "n", "n/a")]),
        ("mv d/ n", [Removal("d/", "n", "n/d")]),
        ("mv a b d", [Removal("a", "d/a"), Removal("b", "d/b")]),
        ("mv /w/a ..", [Removal("/w/a", "../a")]),
        ("git rm -r d f", [Removal("d"), Removal("f")]),
    ],
)
def test_a_removal_names_both_paths_that_a_renamed_file_may_have(command, removals):
    assert find_removals(split_plain(command)[0]) == removals


words = st.text(st.sampled_from("ab'\" \t\r\n\x0b\x0c\x1c\xa0\u2003-=/.,:@%^+~*$&;|#\\é"), max_size=12)


@settings(max_examples=examples(100), deadline=None)
@example([["a\xa0"]])
@example([["a\r"]])
@example([["a\x0b", "b"]])
@example([["'a && b'"]])
@example([["a", "'b", "c'"], ['"$"']])
@given(st.lists(st.lists(words, max_size=4), min_size=1, max_size=3))
def test_bash_splits_a_plain_command_line_into_the_same_words(pieces):
    command = " && ".join(" ".join(["show", *piece]) for piece in pieces)
    found = split_plain(command)
    if found is not None:
        done = bash(SHOW + command)
        shown = [[*part.split("\0")[:-1]] or [""] for part in done.stdout.decode().split("\1")[:-1]]
        assert (done.returncode, done.stderr) == (0, b"")
        assert [piece[1:] or [""] for piece in found] == shown


@pytest.mark.parametrize("mark", list("*?[]{}$`~!;&|<>()\\#\n"))
@pytest.mark.parametrize("form", ["rm a{}b", "rm 'a{}b'", "rm a && rm {} b"])
def test_a_command_with_a_special_character_is_not_plain(mark, form):
    assert split_plain(form.replace("{}", mark)) is None


def test_only_successful_commands_joined_by_and_are_plain():
    assert split_plain("  rm a && rm 'b c'\t") == [["rm", "a"], ["rm", "b c"]]
    assert split_plain("rm a || rm b") is None
    assert split_plain("rm a&&rm b") is None
    assert split_plain("rm a &&") is None
    assert split_plain("rm 'a") is None
    assert split_plain("rm " + "a" * (MAX_COMMAND - 3)) is not None
    assert split_plain("rm " + "a" * (MAX_COMMAND - 2)) is None


REPEATABLE = [
    "sed -i s/one/two/ a",
    "sed -i 's/o/0/g' a b",
    "sed -i 's|r|a/b|' 'a b'",
    "sed -i '1s/one/two/' a",
    "sed -i '1,2s,e,f,2' 'a b'",
    "sed -i s:ONE:x:I a",
    "sed -i 's/o\\(n\\)e/\\1/' a",
    'sed -i "s/o/it\'s/" a',
    "sed -i 's#one#w n#' a",
    "sed -i 's@[no]@/@g' d/x a",
    "sed -i 's/o/a\\/b/' a",
]
NOT_REPEATABLE = [  # they run a program, write another file, or name files that are not in the command
    "sed -i 's/one/touch n/e' a",
    "sed -i 's/one/x/w n' a",
    "sed -i 'w n' a",
    "sed -i '1e touch n' a",
    "sed -i 's/one/x/;w n' a",
    "sed -i s/one/x/ a && touch n",
    "sed -i s/one/x/ a; touch n",
    "sed -i s/one/x/ a > n",
    'sed -i "s/one/$(touch n)x/" a',
    'sed -i "s/one/`touch n`x/" a',
    "sed -i s/one/x/ a\ntouch n",
    "sed -i.n s/one/x/ a",
    "sed -i s/one/x/ --in-place=.n a",
    "sed -i s/one/x/ a -s -i.n",
]


def changed_files(directory, command):
    directory.mkdir()
    write_files(directory)
    done = bash(command, directory)
    after = read_files(directory)
    return done.returncode, {
        name: after.get(name) for name in after.keys() | FILES if after.get(name) != FILES.get(name)
    }


@pytest.mark.parametrize("command", REPEATABLE)
def test_a_replacement_makes_the_same_text_each_time_and_changes_only_its_files(tmp_path, command):
    assert is_repeatable(command)
    first, second = (changed_files(tmp_path / name, command) for name in "12")
    assert first == second
    assert first[0] == 0
    assert first[1]
    assert all(name in command for name in first[1])


@pytest.mark.parametrize("command", NOT_REPEATABLE)
def test_a_command_that_writes_another_file_is_not_repeatable(tmp_path, command):
    assert not is_repeatable(command)
    code, changed = changed_files(tmp_path / "1", command)
    assert code == 0
    assert any(name == "n" or name.endswith(".n") for name in changed)


@pytest.mark.parametrize(
    "command",
    [
        "sed s/a/b/ a",
        "sed -i s/a/b/",
        "sed -i",
        "sed -i s/a/b a",
        "sed -i s/a/b/x a",
        "sed -i '$s/a/b/' a",
        "sed -i s/a/b/ *.txt",
        "sed -i s/a/b/ ~/a",
        "sed -i s/a/b/ 'a",
        " sed -i s/a/b/ a",
        "gsed -i s/a/b/ a",
        "perl -pi -e s/a/b/ a",
        "",
        "sed -i s/a/b/ " + "a" * MAX_COMMAND,
    ],
)
def test_another_command_is_not_repeatable(command):
    assert not is_repeatable(command)


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        ("cd d && pwd", True),
        ("true; cd d", True),
        ("(cd d)", True),
        ("{ cd d; }", True),
        ("true||cd d", True),
        ("true\ncd d", True),
        ("pushd d && popd", True),
        ("echo abcd", False),
        ("ls ./cd", False),
        ("cd.sh", False),
        ("echo 'x-cd d'", False),
        ("git-cd", False),
    ],
)
def test_a_command_line_that_may_change_the_directory_is_recognized(command, changes):
    assert changes_directory(command) is changes
