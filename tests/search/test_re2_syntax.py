"""A pattern finds the same matches with RE2 and with Python's re."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.search import regex
from scopes.search.re2_syntax import translate_to_re2

re2 = pytest.importorskip("re2")

_CHARACTERS = st.one_of(
    st.sampled_from("aZé_7٣²Ⅷ東\n\r \t\x1c\x85\u2028.-[]kK\u017f\u212aiI\u0130\u0131µΣςßẞe\u0301🚀\\"),
    st.characters(exclude_categories=["Cs", "Cn"]),
)
TEXTS = st.text(_CHARACTERS, max_size=12)
_CLASS_ITEMS = st.one_of(
    st.sampled_from(
        [r"\w", r"\d", r"\D", r"\s", r"\n", "a-z", "À-ÿ", r"\]", r"\b", r"\x41", r"\u00e9", "_", ".", "a^", "{,2}"]
    ),
    _CHARACTERS.map(re.escape),
)
_CLASSES = st.builds(
    "[{}{}]".format, st.sampled_from(["", "^"]), st.lists(_CLASS_ITEMS, min_size=1, max_size=3).map("".join)
)
_ATOMS = st.one_of(
    _CHARACTERS.map(re.escape),
    _CLASSES,
    st.sampled_from(
        [".", r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"\u00e9", r"\x6b", r"\n", r"\U0001f680", r"\101", "(?=a)"]
    ),
    st.sampled_from(["^", "$", r"\b", r"\B", r"\A", r"\Z"]),
)
_QUANTIFIED = st.builds("(?:{}){}".format, _ATOMS, st.sampled_from(["", "", "+", "{2}", "{1,2}", "+?", "++"]))
_PATTERNS = st.builds(
    "{}{}".format,
    st.sampled_from(["", "", "(?i)", "(?s)", "(?x)"]),
    st.lists(st.lists(_QUANTIFIED, min_size=1, max_size=4).map("".join), min_size=1, max_size=2).map("|".join),
)


def found_by(pattern, text, engine):
    """Return the span of the first match, by RE2 or by Python's re only."""
    with pytest.MonkeyPatch.context() as patch:
        if engine == "python":
            patch.setattr(regex, "_re2_options", lambda: None)
        return regex.compile_regex(pattern)(text)


@given(_PATTERNS, TEXTS)
def test_both_engines_find_the_same_match(pattern, text):
    assert found_by(pattern, text, "re2") == found_by(pattern, text, "python"), translate_to_re2(pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "span"),
    [
        (r"na\wve", "how naïve", (4, 9)),
        (r"\bÜn", "das Ünding", (4, 6)),
        (r"日\w", "今日は", (1, 3)),
        (r"\d+", "in ٣٤ days", (3, 5)),
        (r"a\sb", "a\u00a0b", (0, 3)),
        (r"^TODO$", "first\nTODO\nlast", (6, 10)),
        (r"end\Z", "end\nend", (4, 7)),
        (r"(?i)ÉTÉ", "l'été", (2, 5)),
        (r"(?i)i", "İ", (0, 1)),
        (r"x{,2}y", "xxy", (0, 3)),
        (r"[\W]", "aé-", (2, 3)),
        (r"[[]", "a[", (1, 2)),
        ("\\?", "\ud800", None),
    ],
)
@pytest.mark.parametrize("engine", ["re2", "python"])
def test_patterns_mean_what_they_mean_in_multiline_python(pattern, text, span, engine):
    assert found_by(pattern, text, engine) == span


@pytest.mark.parametrize(
    ("pattern", "translated"),
    [
        ("a+b", ("(?m:a+b)", False)),
        (r"\w[\d_]", (r"(?m:[\p{L}\p{N}_][\p{Nd}_])", False)),
        (r"\bfoo", (r"(?m:\bfoo)", True)),
        ("(?i)foo", ("(?m:(?i)foo)", True)),
        ("(?i)é", None),
        (r"(?i)\u00e9", None),
        (r"(?<!b)a", None),
        (r"(a)\1", None),
        ("(?x) a", None),
        (r"[^\W\d]", None),
    ],
)
def test_patterns_without_an_re2_equivalent_are_not_translated(pattern, translated):
    assert translate_to_re2(pattern) == translated


@pytest.mark.parametrize(("ours", "theirs"), [(r"\w", r"\w"), (r"\d", r"\d"), (r"\s", r"\s")])
def test_translated_classes_contain_the_same_characters(ours, theirs):
    """Except characters that are unassigned in one of the engines' Unicode versions."""
    known = "".join(chr(code) for code in range(0x110000) if chr(code).isprintable() or chr(code).isspace())
    mine = {span.group() for span in re2.finditer(translate_to_re2(ours).pattern, known)}
    assert mine == set(re.findall(theirs, known))


def test_a_unicode_category_is_refused_with_a_hint():
    with pytest.raises(regex.Invalid) as error:
        regex.compile_regex(r"\p{L}")
    assert r"[^\W\d_]" in error.value.hint
