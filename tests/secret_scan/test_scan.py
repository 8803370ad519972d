"""The prefilter leaves nothing out, both engines find the same, and hostile or large texts take linear time."""

from __future__ import annotations

import json
import random
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes import secret_patterns
from scopes.secret_scan import prefilter
from scopes.secret_scan.decoding import decode_escapes, walk_encoded
from scopes.secret_scan.scan import scan_document, scan_text
from tests.support.examples import amount
from tests.support.planted import FORMS, HEX, KINDS, MIXED, encoded, with_crc32

TOKEN = with_crc32("ghp_", MIXED[:30])
PIECES = st.sampled_from([
    *(secret for _, secret in KINDS), *(form(TOKEN) for form in FORMS.values()), *secret_patterns._ANCHORS,
    "password=", 'api_key\\": \\"', "Bearer\t", "Basic\u00a0", "postgres://u:s3cret-pw@h", "-----BEGIN RSA PRIVATE KEY-----\n",
    MIXED[:30], HEX[:40], "\\u002d", "%2D", "\0", "\x1b[0m", "\\", '"', "/", "\n", " ", "é", "😀", "\ud800", "\u200b", "x", "=",
])  # fmt: skip
ANY_TEXT = st.lists(PIECES | st.text(max_size=5), max_size=12).map("".join)
EVERYTHING = prefilter._Searches(*(lambda data: data,) * 4)  # as if there were no prefilter


def scanned_with(searches, value, scan=scan_text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefilter, "_searches", lambda _size: searches)
        return list(scan(value))


@given(ANY_TEXT)
def test_the_prefilter_leaves_out_no_secret(text):
    expected = scanned_with(EVERYTHING, text)
    assert scanned_with(prefilter._by_re(), text) == expected
    if prefilter.is_fast():
        assert scanned_with(prefilter._by_re2(), text) == expected


@given(ANY_TEXT)
def test_a_document_is_passed_over_only_if_no_text_of_it_has_a_secret(text):
    """What is looked at first is the stored JSON line, in which quotes and control characters are escaped."""
    document = {"parts": [{"type": "text", "text": text}], "note": json.dumps({"x": text}), "password": text[:30]}
    data = json.dumps(document, ensure_ascii=False).encode("utf-8", "backslashreplace")
    if scanned_with(EVERYTHING, document, scan_document):
        for searches in filter(None, (prefilter._by_re2(), prefilter._by_re())):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(prefilter, "_searches", lambda _size, each=searches: each)
                assert prefilter.may_hold_secret(data)


@given(ANY_TEXT)
def test_places_are_in_order_and_are_the_same_or_do_not_overlap(text):
    found = scan_text(text)
    assert all(0 <= each.start < each.end <= len(text) for each in found)
    for first, second in pairwise(found):
        assert first.end <= second.start or (first.start, first.end) == (second.start, second.end)


@given(st.lists(st.sampled_from(["a", "-", "\\u002d", "%2d", "\0", "\x1b[31m", "\\\\u005f", "é"]), max_size=20))
def test_a_decoded_character_knows_where_it_was(pieces):
    text = "".join(pieces)
    decoded = decode_escapes(text)
    if decoded is None:
        assert not {"\\", "%", "\0", "\x1b"} & set(text) or "\\" not in text
        return
    for place, character in enumerate(decoded.text):
        original = decoded.original(place)
        assert text[original] == character or text[original] in "\\%"


def test_a_key_that_ends_with_a_sign_of_an_escape_is_one_secret():
    """`=` at the end of a line stands for no line end where mails are quoted."""
    body = f"{MIXED * 4}\n{MIXED}BQ=\n"
    key = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{body}-----END OPENSSH PRIVATE KEY-----"
    assert [each.value for each in scan_text(f"here it is: {key}\n")] == [key]


@pytest.mark.cases(3)
@pytest.mark.parametrize("before", [0, 1, (1 << 16) - 8, (1 << 20) - 12, (1 << 20) + 5])
def test_a_secret_at_the_border_of_two_windows_is_found_once(before):
    text = "-" * before + f" {TOKEN} " + "." * (1 << 20)
    assert [(each.rule, each.start) for each in scan_text(text)] == [("github-token", before + 1)]


def test_a_secret_far_inside_of_a_long_run_of_base64_is_found():
    data = encoded("word " * 40_000 + TOKEN + " word" * 40_000)
    assert [each.value for each in scan_text(data)] == [TOKEN]
    assert max(len(each.text) for each in walk_encoded(data)) <= 1 << 17


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("github-token", "ghp_" + MIXED[:36]),
        ("npm-token", "npm_" + MIXED[:36]),
        ("age-key", "AGE-SECRET-KEY-1" + "Q" * 58),
        ("jwt", "eyJ" + MIXED[:20] + ".eyJ" + MIXED[:20] + "." + MIXED[:30]),
        ("pypi-token", "pypi-AgE" + MIXED[:60]),
    ],
)
def test_a_token_with_a_wrong_checksum_was_never_valid(kind, wrong):
    assert [each.kind for each in secret_patterns.find_secrets(wrong)] == [kind]
    assert scan_text(wrong) == []


HOSTILE = [
    "-eyJ", "eyJ" + "a" * 20 + ".", "sk-ant-aa", "xoxb-1-", "-----BEGIN RSA PRIVATE KEY-----\n", "key=", "secret=" + "a" * 119 + " ",
    "://a:", "glpat-", "authorization: bearer ", "SG.", "\\u002d", "%2d", "\x1b[", "\x1b[1m", "\\\\\\\\", "QUFB", "\0", "Basic ", ":AA", "\\",
    "\\" * 20 + "u{", "\\" * 5 + "u", "a=\n", "=\\", "\x1b]8;;", "\\e]", "^[]", "\ufffd]", "\x9b0", "\U000e0041", "\uff3f",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.timeout(amount(60, 20))
@pytest.mark.cases(2)
def test_a_megabyte_that_begins_like_secrets_is_scanned_in_time(piece):
    """Without bounds in the patterns a megabyte takes minutes."""
    found = scan_text(piece * (amount(1_000_000, 400_000) // len(piece)))
    assert {each.rule for each in found} <= {"private-key", "assigned-secret", "slack-token", "gitlab-token"}


def test_the_memory_for_a_large_text_is_bounded():
    """A text of any size is read in windows of a megabyte."""
    text = "\n".join(random.Random(1).choices(["the quick brown fox", "a/b/c.py:12", MIXED], k=120_000))
    tracemalloc.start()
    try:
        assert scan_text(text) == []
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < len(text) + (8 << 20)


def test_binary_is_scanned_like_text():
    noise = random.Random(2).randbytes(300_000).decode("latin-1")
    assert [each.value for each in scan_text(f"{noise}\n{TOKEN}\n{noise}")] == [TOKEN]
