"""The list of requirements: complete, and up to date."""

from __future__ import annotations

from tests.requirements import (
    DOCUMENT,
    OTHER_FORM,
    ROOT,
    fill_in,
    find_mentions,
    find_tests,
    list_numbers,
    walk_docstrings,
)


def test_every_number_in_a_docstring_has_an_entry():
    known = set(list_numbers(DOCUMENT.read_text()))
    assert {number: sorted(files) for number, files in find_mentions().items() if number not in known} == {}


def test_no_docstring_names_a_number_of_another_list():
    """The documents that such a number would point to are not in the repository."""
    files = [path for top in ("scopes", "tests") for path in sorted((ROOT / top).rglob("*.py"))]
    assert [
        (path.name, text) for path in files for _, text in walk_docstrings(path, OTHER_FORM) if OTHER_FORM.search(text)
    ] == []


def test_no_requirement_is_listed_twice():
    numbers = list_numbers(DOCUMENT.read_text())
    assert len(numbers) == len(set(numbers))


def test_the_tests_listed_are_those_whose_docstrings_name_the_requirement():
    """Rewrite the lists with: python -m tests.requirements."""
    document = DOCUMENT.read_text()
    assert document == fill_in(document, find_tests())
