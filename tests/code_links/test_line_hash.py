"""The hash of a line: which lines are equal, and which are too short to tell anything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.code_links.line_hash import (
    MAX_CHARACTERS,
    hash_line,
    hash_lines,
    hash_short,
    is_blank,
    normalize_line,
    salt_of,
)


@pytest.mark.parametrize(
    "line", ["", "   ", "}", "return nil", "import os", "});", "{ { { { { { { {", "-------------------"]
)
def test_a_line_with_less_than_twelve_characters_or_eight_letters_has_no_hash(line):
    assert hash_line(line) is None


@pytest.mark.parametrize("line", ["if err != nil {", "import pathlib", "total = a + bc", "привет, мир!"])
def test_a_line_with_twelve_characters_and_eight_letters_or_digits_has_a_hash(line):
    assert hash_line(line) is not None


@pytest.mark.parametrize(
    "line",
    [
        "\tfor branch in branches:",
        "for branch in branches:  ",
        "for  branch   in\tbranches:",
        "for branch in branches:\r",
    ],
)
def test_blanks_make_no_difference(line):
    assert hash_line(line) == hash_line("for branch in branches:")


def test_case_and_punctuation_make_a_difference():
    lines = ["for branch in branches:", "for Branch in branches:", "for branch in branches"]
    assert len({hash_line(line) for line in lines}) == 3


def test_of_a_very_long_line_only_the_beginning_counts():
    assert hash_line("x" * MAX_CHARACTERS + "one") == hash_line("x" * MAX_CHARACTERS + "two")
    assert normalize_line("x" * 5000) == "x" * MAX_CHARACTERS


def test_a_hash_fits_into_a_signed_number_of_sqlite():
    values = [hash_line(f"this is the line number {number}") for number in range(200)]
    assert all(-(1 << 63) <= value < 1 << 63 for value in values)
    assert any(value < 0 for value in values)
    assert any(value > 0 for value in values)
    assert len(set(values)) == 200


def test_half_a_surrogate_pair_has_a_hash():
    assert hash_line("a broken \ud83d character") is not None


def test_the_hashes_of_lines_leave_out_those_without_one():
    assert hash_lines(["}", "for branch in branches:", "  for branch in branches:", ""]) == {
        hash_line("for branch in branches:")
    }


def test_every_file_name_has_its_own_salt():
    assert salt_of("app.py") != salt_of("App.py")
    assert salt_of("app.py") == salt_of("app.py")


@given(st.text(max_size=200), st.text(alphabet=" \t", max_size=5))
def test_outer_blanks_never_change_a_hash(line, blanks):
    if len(line) + len(blanks) * 2 <= MAX_CHARACTERS:
        assert hash_line(blanks + line + blanks) == hash_line(line)


@pytest.mark.parametrize("line", ["MAX = 5", "  w  =  3", "return nil", "é", "7"])
def test_a_short_line_with_a_letter_or_digit_has_a_hash_of_its_own(line):
    assert hash_line(line) is None
    assert hash_short(line) == hash_short(" ".join(line.split())) != hash_short("MAX = 50")


@pytest.mark.parametrize("line", ["", "   ", "}", "})", "----", "this line is long enough to have a hash"])
def test_other_lines_have_no_hash_as_short_ones(line):
    assert hash_short(line) is None
    assert is_blank(line) == (hash_line(line) is None)
