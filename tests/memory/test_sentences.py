"""Splitting prose, lists, headings, code and scripts without spaces into sentences."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.memory.sentences import split_sentences, walk_lines
from tests.support.examples import examples


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("It broke\nover a line. Then it worked.", ["It broke over a line.", "Then it worked."]),
        ("See e.g. Safari and Dr. Who. Then stop.", ["See e.g. Safari and Dr. Who.", "Then stop."]),
        ("Das gilt z.B. Montag. Ende.", ["Das gilt z.B. Montag.", "Ende."]),
        ("Python 3.11 is used. Version 3.12 is not.", ["Python 3.11 is used.", "Version 3.12 is not."]),
        ("Call main.py and a.b() now. Good.", ["Call main.py and a.b() now.", "Good."]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("Wait... what was that? Yes.", ["Wait... what was that?", "Yes."]),
        ("我们决定用数据库。然后呢\uff1f好\uff01", ["我们决定用数据库。", "然后呢\uff1f", "好\uff01"]),
        ("「終わり。」次です。", ["「終わり。」", "次です。"]),
    ],
)
def test_a_text_is_split_at_sentence_ends(text, sentences):
    assert split_sentences(text) == sentences


def test_a_list_item_and_a_heading_are_sentences_of_their_own():
    text = "# The plan\nWe do it:\n- first the form\n2. then the cookie\n- [ ] TODO later\n> quoted words"
    expected = ["The plan", "We do it:", "first the form", "then the cookie", "TODO later", "quoted words"]
    assert split_sentences(text) == expected


def test_code_is_left_out():
    text = "Before.\n```python\nx = 1. Y = 2.\n~~~\n```\nAfter.\n\n    indented = code()\n\nEnd."
    assert split_sentences(text) == ["Before.", "After.", "End."]


def test_links_and_bold_text_become_words_and_directives_are_removed():
    text = 'See [sync.go](/home/carol/sync.go:12) and **this** one.\n::git-commit{cwd="/home"}\n2 ** 3 ** 4'
    assert split_sentences(text) == ["See sync.go and this one.", "2 ** 3 ** 4"]


def test_very_many_punctuation_marks_take_linear_time():
    for mark in ("[", "[a", "**a", "[a](", "* ", "::a"):
        assert split_sentences(mark * 100_000) != [""]


def test_an_open_fence_hides_only_what_follows():
    assert split_sentences("Said before.\n```\ncode. More") == ["Said before."]


def test_an_indented_list_is_not_code():
    assert split_sentences("Plan:\n\n    - deeper item") == ["Plan:", "deeper item"]


def test_a_million_spaces_become_one():
    assert split_sentences("a" + " " * 1_000_000 + "b.") == ["a b."]
    assert split_sentences("." * 1_000_000) == ["." * 1_000_000]


@given(st.text(alphabet="ab A.!? \n-`1。", max_size=200))
@settings(max_examples=examples(150))
def test_no_word_is_lost_or_added(text):
    """The sentences contain everything outside of code, in order."""
    sentences = split_sentences(text)
    kept = "".join("".join(walk_lines(text)).split())
    position = 0
    for sentence in sentences:
        assert sentence == " ".join(sentence.split()) != ""
        plain = "".join(sentence.split())
        found = kept.find(plain, position)
        assert found >= 0
        position = found + len(plain)
