"""Keywords of texts."""

from __future__ import annotations

from scopes.memory.keywords import top_words, walk_words


def test_stop_words_numbers_and_single_letters_are_left_out():
    assert list(walk_words("We will use the cookie, v2 and 17 of x, isn\u2019t it")) == ["cookie", "v2"]
    assert list(walk_words("Wir haben nicht über die Datenbank gesprochen")) == ["datenbank", "gesprochen"]


def test_a_name_with_a_hyphen_or_a_dot_is_one_word():
    assert list(walk_words("same-site main.py snake_case")) == ["same-site", "main.py", "snake_case"]


def test_scripts_without_spaces_yield_character_pairs():
    assert list(walk_words("数据库")) == ["数据", "据库"]
    assert list(walk_words("数")) == ["数"]


def test_a_very_long_word_is_not_a_keyword():
    assert list(walk_words("a" * 1_000_000)) == []


def test_words_in_most_texts_come_first_and_ties_are_deterministic():
    texts = ["login cookie cookie cookie", "login form", "form form zebra apple"]
    assert top_words(texts, 3) == ("form", "login", "cookie")
    assert top_words(["zebra apple"], 5) == ("apple", "zebra")
    assert top_words([], 5) == ()


def test_tags_quantities_and_marker_words_are_not_topics():
    text = "<system-reminder>It took 31m 40ms 2.5gb 3rd</system-reminder> decided TODO <b class='x'>cookie</b> v2.1 < 5 > 3"
    assert top_words([text], 9) == ("cookie", "took", "v2.1")
