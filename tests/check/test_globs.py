"""Patterns of policies against commands, words and paths, compared with pathlib and fnmatch where they agree."""

from __future__ import annotations

import fnmatch
import re
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.check.globs import _path_expression, _Tokens, matches_command, matches_path, matches_word
from scopes.check.shell_command import Command

WORDS = st.sampled_from(["a", "b", "aa", "ab", "-x", "a*b"])
PATTERNS = st.lists(st.sampled_from(["a", "b", "*", "a*", "*b", "**"]), max_size=5)
SEGMENTS = st.sampled_from(["a", "b", "ab", ".x", "a.py"]) | st.text("ab", min_size=1, max_size=5)
PATHS = st.lists(SEGMENTS, min_size=1, max_size=4).map("/".join)
NAME_PATTERNS = st.sampled_from(["a", "*", "?", "**", "a*", "*.py", ".x"]) | st.text(
    "ab*?", min_size=1, max_size=5
).filter(lambda text: "**" not in text)
PATH_PATTERNS = st.lists(NAME_PATTERNS, min_size=2, max_size=4).map("/".join)


def command(*argv):
    return Command(argv, " ".join(word or "?" for word in argv))


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("pytest", ["pytest"], ["pytest -q", "pytests", ""]),
        ("pytest **", ["pytest", "pytest -q", "pytest -q tests/a.py", "/usr/bin/pytest -q", "./pytest"], ["py test"]),
        ("go test *", ["go test ./..."], ["go test", "go test a b", "go vet a"]),
        ("npm run test*", ["npm run test", "npm run test:unit"], ["npm run lint", "npm test"]),
        ("make *test*", ["make test", "make unit-tests"], ["make", "make all", "make test all"]),
        ("** --force", ["git push --force", "git --force"], ["git push --force x"]),
        ("git ** main", ["git main", "git push main", "git push origin main"], ["git push main x"]),
        ("git push ** --force **", ["git push --force", "git push a --force b"], ["git push a", "git --force push"]),
        (
            "python* -m pytest **",
            ["python3.12 -m pytest x", "python -m pytest"],
            ["python -m pip", "ipython -m pytest"],
        ),
        ("a ** b ** c", ["a b c", "a x b y c", "a b b c c"], ["a c b", "a b"]),
        ("**", ["a", "a b c"], []),
        ("* *", ["a b"], ["a", "a b c"]),
    ],
)
def test_a_pattern_of_words_matches_whole_commands(pattern, matching, others):
    assert all(matches_command(pattern, command(*line.split())) for line in matching)
    assert not any(matches_command(pattern, command(*line.split())) for line in others)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("git push *", True), ("git push **", True), ("git push ma*", False), ("git push main", False), ("git * *", True)],
)
def test_a_word_that_the_shell_computes_matches_a_star_only(pattern, expected):
    assert matches_command(pattern, command("git", "push", None)) is expected


def test_a_command_whose_program_is_computed_matches_nothing():
    assert not matches_command("**", command(None, "push"))
    assert not matches_command("**", Command((), "> x"))


@given(PATTERNS, st.lists(WORDS, min_size=1, max_size=6))
def test_words_match_as_the_same_regular_expression_would(pattern, words):
    """A reference that backtracks: each word with a mark behind it, `**` for any number of marked words."""
    pieces = {"**": "(?:[^ ]* )*", "*": "[^ ]* "}
    expression = "".join(pieces.get(word) or re.escape(word).replace(r"\*", "[^ ]*") + " " for word in pattern)
    reference = re.fullmatch(expression, "".join(f"{word} " for word in words)) is not None
    assert matches_command(" ".join(pattern), command(*words)) is reference


def test_many_stars_are_matched_without_backtracking():
    """An own rule is tried on every command of every run."""
    assert not matches_command("** a " * 40 + "b", command(*["a"] * 400))
    assert not matches_word("*a" * 30 + "b", "a" * 200)
    assert not matches_path("*a" * 30 + "b", "a" * 200)
    assert not matches_path("src/**/" + "*a?" * 30 + "b", "src/x/" + "a" * 200)


@given(st.text("ab*.[]?/", max_size=8), st.text("ab.[]?/\n", max_size=8))
def test_a_word_pattern_knows_one_special_character(pattern, word):
    literal = "".join(f"[{char}]" if char in "?[]" else char for char in pattern)
    assert matches_word(pattern, word) is fnmatch.fnmatchcase(word, literal)


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("*.py", ["a.py", "src/a.py", "/x/y/a.py"], ["a.pyc", "a.py/b"]),
        ("Makefile", ["Makefile", "x/Makefile"], ["Makefile.am", "Makefile/x"]),
        ("src/*.py", ["src/a.py"], ["a.py", "src/x/a.py", "x/src/a.py"]),
        ("src/**", ["src/a", "src/x/a", "src/"], ["src", "x/src/a", "srcs/a"]),
        ("**/tests/**", ["tests/a", "x/tests/a", "x/y/tests/z/a"], ["tests", "mytests/a"]),
        ("src/**/a.py", ["src/a.py", "src/x/a.py", "src/x/y/a.py"], ["src/xa.py", "a.py"]),
        ("a?.txt", ["ab.txt", "x/ac.txt"], ["a.txt", "abc.txt", "a/.txt"]),
        ("src/?", ["src/a"], ["src/", "src/ab", "src//"]),
        (".github/workflows/**", [".github/workflows/ci.yml"], ["xgithub/workflows/ci.yml", "github/workflows/ci.yml"]),
        ("/tmp/**", ["/tmp/x", "/tmp/x/y"], ["/tmp", "tmp/x", "/var/tmp/x"]),
        ("a[1].py", ["a[1].py"], ["a1.py"]),
        ("$TMP/**", ["$TMP/x"], ["/tmp/x"]),
        ("**", ["a", "a/b", ""], []),
    ],
)
def test_a_path_pattern_without_a_slash_matches_the_name_alone(pattern, matching, others):
    assert [path for path in matching if not matches_path(pattern, path)] == []
    assert [path for path in others if matches_path(pattern, path)] == []


def reference(pattern, path):
    """Match segment by segment: `**` stands for any number of segments, at the end for at least one."""
    if not pattern:
        return not path
    if pattern[0] == "**":
        if len(pattern) == 1:
            return bool(path)
        return any(reference(pattern[1:], path[start:]) for start in range(len(path) + 1))
    return bool(path) and fnmatch.fnmatchcase(path[0], pattern[0]) and reference(pattern[1:], path[1:])


@given(PATH_PATTERNS, PATHS)
def test_path_patterns_match_segment_by_segment(pattern, path):
    assert matches_path(pattern, path) is reference(pattern.split("/"), path.split("/"))


@given(st.text("ab/.*?[]$^+(){}|\\ \n", min_size=1, max_size=8))
def test_a_pattern_without_wildcards_matches_itself_alone(text):
    literal = text.replace("*", "x").replace("?", "y")
    assert matches_path(literal, literal)
    assert not matches_path(literal, f"{literal}z")
    assert matches_word(literal, literal)


PIECES = st.sampled_from(["a", "b", "/", "*", "**", "**/", "?", "."])


@given(st.lists(PIECES, max_size=8).map("".join), st.text("ab/.", max_size=9))
def test_long_paths_match_as_short_ones_do(pattern, path):
    """A long path is matched by an automaton, a short one by a regular expression."""
    assert _Tokens(pattern).matches(path) is (_path_expression(pattern).fullmatch(path) is not None)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("**/a/**/a/**/a/**/b", "a/" * 2000),
        ("**/*a*a*a*/**/*b", "a" * 4000),
        ("*a*a*a*a*b", "a" * 4000),
        ("**a**a**a**a**b", "a" * 4000),
    ],
)
def test_the_time_to_match_a_path_is_linear_in_the_path(pattern, path):
    start = process_time()
    assert not matches_path(pattern, path)
    assert process_time() - start < 1
