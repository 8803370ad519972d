from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scopes.render.clean import clean, clean_line
from tests.render.hostile import PAYLOADS, forbidden, hostile_texts


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[2J", "^[[2J"),
        ("\x07", "^G"),
        ("\x00", "^@"),
        ("\x7f", "^?"),
        ("\x9b", "<U+009B>"),
        ("a\rb", "a^Mb"),
        ("\u202e", "<U+202E>"),
        ("\u200b", "<U+200B>"),
        ("\u2028", "<U+2028>"),
        ("\U000e0041", "<U+E0041>"),
        ("\U000e0100", "<U+E0100>"),
        ("\ud83d", "<U+D83D>"),
        ("\ufeff", "<U+FEFF>"),
        ("\u3164", "<U+3164>"),
    ],
)
def test_what_would_act_or_hide_is_written_as_a_sign(raw, shown):
    assert clean(raw) == shown


@pytest.mark.parametrize(
    "text", ["", "plain", "a\tb\nc", "größer — «quoted» …", "日本語", "🚀", "e\u0301", "שלום", "สวัสดี", "नमस्ते"]
)
def test_plain_text_of_any_language_stays_as_it_is(text):
    assert clean(text) == text


def test_line_ends_of_other_systems_become_newlines():
    assert clean("a\r\nb\r\n") == "a\nb\n"


def test_a_lone_carriage_return_is_seen_even_before_a_line_end():
    assert clean("a\r\r\nb") == "a^M\nb"


@pytest.mark.parametrize("text", ["⚠️", "❤️ ok", "1️⃣", "©︎", "🏷️"])
def test_one_selector_of_presentation_after_a_symbol_is_kept(text):
    assert clean(text) == text


@pytest.mark.parametrize("text", ["\ufe0f", "a\ufe0f", "⚠️\ufe0f", "⚠\ufe00", "\n\ufe0e"])
def test_selectors_that_could_carry_a_message_are_shown(text):
    assert "<U+FE0" in clean(text)


def test_joined_emoji_are_taken_apart():
    assert clean("👩\u200d💻") == "👩<U+200D>💻"


def test_in_one_line_breaks_become_one_space():
    assert clean_line("a\n\n\tb\r\nc\td") == "a b c d"


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_payload_survives(payload):
    """S2-22, reliability H-71."""
    assert forbidden(clean(payload).replace("\t", "")) == []


@given(st.text() | hostile_texts)
@example("\ufe0f" * 3)
def test_nothing_that_acts_is_left_whatever_the_text(text):
    assert forbidden(clean(text).replace("\t", "")) == []
    assert forbidden(clean_line(text)) == []
    assert "\n" not in clean_line(text)


@given(st.text() | hostile_texts)
def test_clean_text_is_clean_already(text):
    assert clean(clean(text)) == clean(text)


@given(st.text() | hostile_texts)
def test_clean_text_can_be_encoded(text):
    assert clean(text).encode("utf-8").decode("utf-8") == clean(text)


@given(st.text(st.characters(exclude_categories=["C", "M", "Z"], exclude_characters="\u115f\u1160\u3164\uffa0")))
def test_letters_digits_and_signs_are_never_touched(text):
    assert clean(text) == text
