"""The list of requirements: complete, and up to date."""

from __future__ import annotations

from tests.requirements import DOCUMENT, fill_in, find_mentions, find_tests, list_numbers


def test_every_number_in_a_docstring_has_an_entry():
    known = set(list_numbers(DOCUMENT.read_text()))
    assert {number: sorted(files) for number, files in find_mentions().items() if number not in known} == {}


def test_no_requirement_is_listed_twice():
    numbers = list_numbers(DOCUMENT.read_text())
    assert len(numbers) == len(set(numbers))


def test_the_tests_listed_are_those_whose_docstrings_name_the_requirement():
    """Rewrite the lists with: python -m tests.requirements."""
    document = DOCUMENT.read_text()
    assert document == fill_in(document, find_tests())
