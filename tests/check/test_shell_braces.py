"""Braces are expanded as bash expands them; bash itself is asked."""

from __future__ import annotations

import random
import shutil
import subprocess

import pytest

from scopes.check.shell_braces import MAX_TEXT, MAX_WORDS, expand_braces, mark_braces, unmark_braces
from tests.support.examples import examples

ROWS = {
    "{a,b}": ["a", "b"],
    "{a,b}c": ["ac", "bc"],
    "x{a,b}{c,d}": ["xac", "xad", "xbc", "xbd"],
    "{a,{b,c}}": ["a", "b", "c"],
    "{a,b{1..3},c}": ["a", "b1", "b2", "b3", "c"],
    "{1..3}": ["1", "2", "3"],
    "{3..1}": ["3", "2", "1"],
    "{01..03}": ["01", "02", "03"],
    "{-1..1}": ["-1", "0", "1"],
    "{1..7..3}": ["1", "4", "7"],
    "{a..e..2}": ["a", "c", "e"],
    "{c..a}": ["c", "b", "a"],
    "{,x}": ["", "x"],
    "{rm,-rf,../x}": ["rm", "-rf", "../x"],
    "{a}": ["{a}"],
    "{}": ["{}"],
    "{a,b": ["{a,b"],
    "a,b}": ["a,b}"],
    "{{a,b}": ["{a", "{b"],
    "{a,b}}": ["a}", "b}"],
    r"\{a,b}": ["{a,b}"],
    r"{a\,b}": ["{a,b}"],
    r"{a,b\}": ["{a,b}"],
    r"{a\,b,c}": ["a,b", "c"],
    "plain": ["plain"],
    "{1..a}": ["{1..a}"],
    "{1..}": ["{1..}"],
}


def expand(source):
    return expand_braces(mark_braces(source))


@pytest.fixture(scope="module")
def ask_bash(tmp_path_factory):
    """Return what bash makes of words; those without a character that needs quotes elsewhere."""
    program = shutil.which("bash")
    if program is None:
        pytest.skip("there is no bash")
    script = tmp_path_factory.mktemp("bash") / "script"

    def ask(words):
        script.write_text("set -f\n" + "".join(f"printf '%s\\0' {word} $'\\n'\n" for word in words))
        done = subprocess.run([program, script], capture_output=True, check=True, timeout=60)
        found = [group.split("\0") for group in done.stdout.decode().split("\0\n\0")]
        return found[:-1]

    return ask


@pytest.mark.parametrize("source", ROWS)
def test_a_word_with_braces_becomes_these_words(source):
    assert expand(source) == ROWS[source]


def test_bash_agrees_with_every_row(ask_bash):
    """An empty word is written by bash as two quotes would be: not at all, so that row is left out."""
    rows = [source for source in ROWS if "" not in ROWS[source]]
    assert ask_bash(rows) == [ROWS[source] for source in rows]


def test_drawn_words_become_what_bash_makes_of_them(ask_bash):
    """The seed is part of the message of a failure."""
    seed = random.randrange(1 << 30)
    draw = random.Random(seed)
    words = ["".join(draw.choices("{{}},,,ab1..0-\\", k=draw.randint(2, 14))) for _ in range(examples(8000))]
    words = ["w" + word.rstrip("\\") + "w" for word in words]
    known = [(word, expand(word)) for word in words]
    asked = [(word, found) for word, found in known if found is not None]
    assert len(asked) > 0.9 * len(words)
    for (word, found), expected in zip(asked, ask_bash([word for word, _ in asked]), strict=True):
        assert found == expected, (seed, word)


def test_too_many_words_are_not_expanded():
    assert expand("{1..200}") == [str(number) for number in range(1, 201)]
    assert expand("{1..201}") is None
    assert expand("{1..999999999}") is None
    assert expand("{a,b}" * 8) is None
    assert expand("{" + "a," * MAX_WORDS + "b}") is None


def test_a_long_word_is_not_expanded():
    assert expand("{a,b}" + "x" * MAX_TEXT) is None


@pytest.mark.parametrize("source", ["{a,b}", r"\{a,b}", "{a,{b,c}}", "a", ""])
def test_a_marked_text_is_the_text_without_backslashes(source):
    assert unmark_braces(mark_braces(source)) == source.replace("\\", "")


@pytest.mark.parametrize("source", ["{" * 1900, "}" * 1900, "{," * 900, "{a,b" * 450, "{1.." * 450])
def test_a_word_of_many_braces_is_read_in_time(source):
    assert expand(source) is None or unmark_braces(mark_braces(source)) == source
