"""What a limit has left of a secret is replaced too: in subjects and titles, whatever kind it is and wherever it is cut."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.sanitize import SUBJECT_LENGTH, TRUNCATED, clip, mark_cut
from scopes.secret_scan.clearance import Gate, count_placeholders, without_store
from scopes.secret_scan.cut_ends import LONG_LINE, find_cut_ends
from scopes.secret_scan.cut_patterns import cut_pattern, cut_rules
from scopes.store.objects import one_line
from tests.support.examples import examples, sample, spread
from tests.support.planted import FORMS, KINDS, MIXED, encoded, leaked_parts, revealed

GENERAL = [
    ("assigned-secret", "password=", MIXED[:30]),
    ("assigned-secret", '"api_key": "', MIXED[:40]),
    ("auth-header", "Authorization: Bearer ", MIXED[:50]),
    ("url-password", "postgres://admin:", "s3cr3t-Pa55word-of-db@db.example"),
    ("private-key", "-----BEGIN RSA PRIVATE KEY-----\n", f"MIIEow{MIXED}\n{MIXED}"),
]
ORDINARY = [
    "use sk-learning instead of scikit-learn", "read SKILL.md and SKILLS", "see https://github.com/carol/shop",
    "the server is on http://localhost:8080", "Basic authentication is not enough", "the Bearer scheme",
    "where is the password: in the manual", "token: the unit of a context", "npm_config_registry", "pul-request",
    "why does it say AKIA", "a key such as sk-", "hf_hub_download", "eyJ", "ghp_", "10:AAAA", "xoxb-", "x" * 90,
    "a long sentence with more than seventy-one characters that has no secret at all in it",
]  # fmt: skip


def before(characters):
    """Return so many characters of ordinary text."""
    return ("all these words are quite ordinary " * 3)[:characters]


@cache
def cleared(text):
    return without_store().clear_text(text, "a title")


def cuts_of(text):
    """Return a text as limits leave it: a subject, the same with an ellipsis, and what `clip` makes of it."""
    subject = one_line(text)
    return {subject, mark_cut(subject, text), clip(text, SUBJECT_LENGTH), clip(text, 200)}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("offset", range(0, SUBJECT_LENGTH, 3))
@pytest.mark.cases(72)
def test_no_kind_in_no_form_leaves_in_part_by_a_subject(form, offset):
    """The secret begins at every third character of the subject: the cut is before, inside and behind it."""
    for number, (kind, secret) in spread(list(enumerate(KINDS)), 5, offset + 7 * list(FORMS).index(form)):
        text = f"{before(offset + number % 3)} {FORMS[form](secret)}".strip()
        for shown in map(cleared, cuts_of(text)):
            assert leaked_parts(kind, secret, shown) == [], (kind, shown)


@settings(max_examples=examples(400), deadline=None)
@given(st.sampled_from(KINDS), st.sampled_from(sorted(FORMS)), st.integers(0, 300), st.integers(40, 300))
def test_no_part_leaves_wherever_a_text_is_cut(kind_and_secret, form, offset, limit):
    """A mark tells where; without one, the end of the text does."""
    kind, secret = kind_and_secret
    text = f"{before(offset)} {FORMS[form](secret)}"
    for shown in (text[:limit], f"{text[:limit]}…", f"{text[:limit]}{TRUNCATED}", f"'{text[:limit]}…' (3 messages)"):
        assert leaked_parts(kind, secret, cleared(shown)) == []


@pytest.mark.parametrize(("rule", "start", "secret"), GENERAL, ids=[f"{each[0]} {each[1][:9]}" for each in GENERAL])
def test_values_behind_a_name_do_not_leave_in_part_where_a_text_is_surely_cut(rule, start, secret):
    for offset in range(SUBJECT_LENGTH):
        text = f"{before(offset)} {start}{secret} and more words to the end of it, to make it long"
        subject = one_line(text)
        for shown in (cleared(subject), cleared(mark_cut(subject, text))):
            hidden = secret.partition("@")[0].replace("\n", " ")
            parts = [hidden[at : at + 8] for at in range(len(hidden) - 7)]
            assert not [part for part in parts if part in shown and part in subject], (rule, shown)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_texts_stay_as_they_are(text):
    for shown in (text, f"{text}\nand more", f"{text} and more"):
        assert find_cut_ends(shown) == []
        assert cleared(shown) == shown


@pytest.mark.parametrize("text", [each for each in ORDINARY if "sk-learning" not in each and "10:AA" not in each])
def test_ordinary_texts_with_an_ellipsis_stay_as_they_are(text):
    for mark in ("…", "...", TRUNCATED):
        assert cleared(text + mark) == text + mark


@pytest.mark.parametrize("length", [LONG_LINE - 1, LONG_LINE, LONG_LINE + 1])
def test_a_line_as_long_as_a_subject_counts_as_cut(length):
    """A cut behind a blank makes a subject one character shorter."""
    assert LONG_LINE == SUBJECT_LENGTH - 1
    text = before(length - len(" password=aB3dE5gH")) + " password=aB3dE5gH"
    assert len(text) == length
    assert ("aB3dE5gH" in cleared(text)) == (length < LONG_LINE)


def test_a_part_of_fewer_than_eight_characters_is_all_that_may_stay():
    for kind, secret in KINDS:
        for length in range(5, len(secret)):
            shown = cleared(f"use {secret[:length]}")
            assert leaked_parts(kind, secret, shown) == [], (kind, shown)


def test_the_placeholder_names_the_rule_and_has_no_id():
    """The part has no id that a list could have: nobody could allow it."""
    gate = Gate("redact", lambda _rule, _value: "0123456789abcdef")
    assert gate.clear_text("deploy with ghp_aB3dE5gH7jK9…", "x") == "deploy with [redacted:github-token]…"
    assert gate.redacted == 1
    assert count_placeholders("deploy with [redacted:github-token]…") == 1


def test_a_whole_secret_at_an_end_has_its_id_and_is_replaced_once():
    gate = Gate("redact", lambda _rule, _value: "0123456789abcdef")
    kind, secret = KINDS[1]
    assert gate.clear_text(f"deploy with {secret}", "x") == f"deploy with [redacted:{kind}:0123]"


def test_an_allowed_secret_at_an_end_stays():
    gate = Gate("redact", lambda _rule, _value: "0" * 32, {"0" * 32})
    for kind, secret in KINDS:
        assert gate.clear_text(f"deploy with {secret}", "x") == f"deploy with {secret}", kind


@pytest.mark.parametrize(("mode", "shown"), [("refuse", "[redacted:github-token]"), ("allow", "ghp_aB3dE5gH7jK9")])
def test_a_name_is_cleared_where_secrets_are_refused_and_not_where_they_are_let_pass(mode, shown):
    gate = Gate(mode, lambda _rule, _value: "0" * 32)
    assert gate.clear_name("use ghp_aB3dE5gH7jK9", "the title") == f"use {shown}"
    gate.inspect_text("use ghp_aB3dE5gH7jK9", "the title")
    gate.refuse_leaks()


def test_lines_of_json_are_cleared_at_the_ends_of_their_texts():
    data = b'{"title":"use ghp_aB3dE5gH7jK9","n":1}\n'
    assert without_store().clear_line(data, "x") == b'{"title":"use [redacted:github-token]","n":1}\n'
    assert without_store().clear(b"use ghp_aB3dE5gH7jK9", "x").data == b"use [redacted:github-token]"


@pytest.mark.parametrize("name", ["signature", "encrypted_content"])
def test_opaque_texts_have_no_cut_ends(name):
    """In ciphertext every prefix occurs by chance."""
    document = {name: "Zm9vSK0123abcd"}
    assert without_store().clear_document(document, "x") == document


@pytest.mark.parametrize("rule", [each.rule for each in cut_rules()], ids=lambda rule: f"{rule.kind} {rule.anchors[0]}")
def test_the_pattern_of_each_rule_for_a_cut_is_valid_and_needs_its_prefix(rule):
    pattern = re.compile(rule.pattern)
    for text in sample([*ORDINARY, *(secret for _, secret in KINDS)], 20):
        match = pattern.search(text)
        assert match is None or any(anchor in match[0] for anchor in rule.anchors) or len(match[0]) < 20


def test_a_pattern_for_a_cut_matches_every_beginning_of_what_the_pattern_matches():
    made = re.compile(cut_pattern(r"ab_[0-9]{4}\.(?:live|test)-(?:x_[a-z]{2,9}|y)"))
    for whole in ("ab_1234.live-x_abc", "ab_1234.test-y"):
        assert all(made.fullmatch(whole[:length]) for length in range(3, len(whole) + 1)), whole
    assert not made.match("ab_12x4.live")
    assert not made.match("ab_1234.last-x")


@settings(max_examples=examples(200), deadline=None)
@given(st.text(st.sampled_from("aZ9_-/+=.:@ \n\"'\\%…ghpsk eyJ"), max_size=300))
def test_any_text_is_read_and_nothing_but_places_in_it_is_found(text):
    found = find_cut_ends(text)
    assert all(0 <= each.start < each.end <= len(text) for each in found)
    assert all(left.end <= right.start for left, right in pairwise(found))


def test_a_long_run_of_base64_is_read_at_its_end_alone():
    run = encoded("x" * 300_000 + f" token {KINDS[5][1]}")
    assert [each.rule for each in find_cut_ends(run[:-24])] == ["openai-key"]
    assert find_cut_ends(f"{run}!") == []


def test_what_is_revealed_in_tests_is_what_was_hidden():
    """The measure of these tests finds every kind in every form."""
    for kind, secret in KINDS:
        for form, hide in FORMS.items():
            assert leaked_parts(kind, secret, hide(secret)), (kind, form)
            assert secret[-20:] in revealed(hide(secret)), (kind, form)


@pytest.mark.parametrize("length", [6, 20, 39])
def test_the_first_line_of_a_key_that_is_cut_in_its_first_line_is_found(length):
    text = f"the file\n-----BEGIN OPENSSH PRIVATE KEY-----\n{'b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ'[:length]}"
    assert [text[each.start : each.end] for each in find_cut_ends(text)] == [text.partition("\n")[2]]


def test_words_behind_the_name_of_a_key_are_no_secret():
    assert find_cut_ends("-----BEGIN PRIVATE KEY-----\nis how it begins") == []
