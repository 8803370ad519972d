"""Rules of names: libgit2 and the git program accept every name that the rules accept."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata

import pygit2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.errors import Invalid
from scopes.ids import (
    MAX_NAME_BYTES,
    is_message_id,
    is_oid,
    parse_agent_name,
    parse_branch_name,
    parse_conversation_id,
    slug,
)
from tests.support.examples import examples

GOOD = [
    "main",
    "analysis/security-review",
    "a",
    "A.b_c-d",
    "x/y/z",
    "fix#12",
    "a@b",
    "é",
    "日本語",
    "v1.0",
    "lock",
    "x.lock.y",
    "con1",
    "naïve+plan",
    "100%",
]
BAD = [
    "", "/", "a/", "/a", "a//b", ".a", "a/.b", "-a", "a/-b", "a.", "a./b", "a.lock", "a.lock/b", "a..b", "@{", "a@{b", "@", "a b", "a\tb", "a\nb",
    "a\0b", "\x7f", "a~1", "a^", "a:b", "a?", "a*", "a[b", "a\\b", 'a"b', "a'b", "<a", "a>", "a|b", "HEAD", "head", "a/HEAD", "FETCH_HEAD", "CON", "con",
    "nul.txt", "a/COM1", "lpt9.x", "\u202e", "a\u200bb", "\ufeff", "\xa0", "\xad", "\u3000", "\u2003a", "a\u3164", "\U000e0001", "\ud800", "a\udcffb",
    "../../etc/x", "x" * 201, "é" * 101, "a/" * 101 + "a", "\x1b[31m",
]  # fmt: skip
DEFAULT_IGNORABLE = [
    0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0, *range(0x180B, 0x1810), *range(0x200B, 0x2010),
    *range(0x202A, 0x202F), *range(0x2060, 0x2070), *range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9), *range(0x1BCA0, 0x1BCA4),
    *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000),
]  # fmt: skip
names = (
    st.text(st.characters(), max_size=30)
    | st.sampled_from(GOOD + BAD)
    | st.from_regex(r"[a-zA-Z@{}./~^-]{1,8}", fullmatch=True)
)


def accepted(parse, text):
    try:
        return parse(text) == text
    except Invalid:
        return False


@pytest.mark.parametrize("name", GOOD)
def test_a_valid_branch_name_is_returned_unchanged(name):
    assert parse_branch_name(name) == name


@pytest.mark.parametrize("name", BAD, ids=ascii)
def test_an_invalid_branch_name_is_refused_with_the_broken_rule(name):
    """A-3, A-4, A-5, A-6, A-7."""
    with pytest.raises(Invalid, match=r"is not a valid branch name: it (is|has|contains) ") as caught:
        parse_branch_name(name)
    assert caught.value.message.isascii()
    assert caught.value.message.isprintable()
    assert "analysis/security-review" in caught.value.hint


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(names, min_size=20, max_size=20))
def test_libgit2_accepts_every_accepted_name(tmp_path_factory, several):
    """A-4; the name must also fit into a file name, with the suffix of its lock."""
    for name in filter(lambda name: accepted(parse_branch_name, name), several):
        ref = f"refs/heads/conv-001/{name}"
        assert pygit2.reference_is_valid_name(ref), ascii(name)
        assert len(os.fsencode(f"{name}.lock".rpartition("/")[2])) <= 255


def test_the_git_program_accepts_every_valid_name(tmp_path):
    for name in GOOD:
        subprocess.run(["git", "check-ref-format", f"refs/heads/conv-001/{name}"], check=True, cwd=tmp_path)


def test_no_accepted_name_contains_an_invisible_character():
    """A-5, H-71: every code point, in the middle of a name."""
    hidden = {chr(code) for code in DEFAULT_IGNORABLE}
    for code in range(sys.maxunicode + 1):
        letter = chr(code)
        if letter in hidden or unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp", "Zs"}:
            assert not accepted(parse_branch_name, f"a{letter}b"), hex(code)


@pytest.mark.parametrize("name", ["conv-001", "login-bug", "A.b_c", "7", "x" * 200])
def test_a_valid_conversation_id_is_returned_unchanged(name):
    assert parse_conversation_id(name) == name


@pytest.mark.parametrize("name", [*BAD, "a/b", "é", "日本", "_a", "a+b", "a@b", "a b", "100%"], ids=ascii)
def test_an_invalid_conversation_id_is_refused(name):
    """A-3: one path component of ASCII that needs no quoting in a shell."""
    with pytest.raises(Invalid, match="is not a valid conversation id: it "):
        parse_conversation_id(name)


@given(names)
def test_every_conversation_id_is_a_valid_branch_name(name):
    if accepted(parse_conversation_id, name):
        assert accepted(parse_branch_name, name)


@pytest.mark.parametrize("name", ["carol", "Jörg Ü <x>", "a\nb", "x" * MAX_NAME_BYTES, "é" * 100, "\x1b[31m", "a, b"])
def test_an_author_name_may_be_almost_any_text(name):
    """It is cleaned when it is shown or written into a commit header."""
    assert parse_agent_name(name) == name


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "needs a name"),
        (" \t\n", "needs a name"),
        ("\u3000", "needs a name"),
        ("\ud800", "not valid UTF-8"),
        ("a\udcff", "not valid UTF-8"),
        ("x" * 201, "at most 200 bytes"),
        ("é" * 101, "at most 200 bytes"),
    ],
)
def test_a_blank_long_or_undecodable_author_name_is_refused(name, problem):
    with pytest.raises(Invalid, match=problem):
        parse_agent_name(name)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("a" * 26, True),
        ("234567" + "z" * 20, True),
        ("a" * 25, False),
        ("a" * 27, False),
        ("A" * 26, False),
        ("1" * 26, False),
        ("a" * 26 + "\n", False),
        ("", False),
    ],
)
def test_a_message_id_is_26_base32_characters(text, complete):
    assert is_message_id(text) is complete


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("0" * 40, True),
        ("abcdef" + "0" * 34, True),
        ("0" * 39, False),
        ("0" * 41, False),
        ("A" * 40, False),
        ("g" * 40, False),
        ("0" * 40 + "\n", False),
        ("", False),
        ("\u0660" * 40, False),
    ],
)
def test_an_object_id_is_40_hexadecimal_digits(text, complete):
    assert is_oid(text) is complete


@pytest.mark.parametrize(
    ("name", "reduced"),
    [
        ("carol", "carol"),
        ("Jörg Ü", "j-rg"),
        ("Code Analyzer", "code-analyzer"),
        ("", "agent"),
        ("日本", "agent"),
        ("...", "agent"),
        ("a@b<c>", "a-b-c"),
        ("-x-", "x"),
        ("\n", "agent"),
    ],
)
def test_a_slug_contains_what_a_mail_address_may_contain(name, reduced):
    assert slug(name) == reduced


@given(st.text(st.characters(), max_size=30))
def test_a_slug_is_never_empty_and_always_safe(name):
    reduced = slug(name)
    assert reduced
    assert set(reduced) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-")
    assert reduced[0] not in "-._"
    assert slug(reduced) == reduced
