"""Many small texts are searched at once: what is found is what each of them has, wherever the searches meet."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.secret_scan import prefilter
from scopes.secrets.count import NewSecrets
from tests.support.examples import examples
from tests.support.planted import FORMS, KINDS, MISSED

TEXTS = [form(secret) for form in FORMS.values() for _, secret in KINDS[::6]]
ORDINARY = ["hello", "", "Bearer", "-----BEGIN PRIVATE", "a\nb", "token=", "100%20", "x" * 3_000]


def lines(texts):
    return [json.dumps({"parts": [{"text": text}]}).encode() for text in texts]


@pytest.fixture(params=["re", "re2"], autouse=True)
def engine(request, monkeypatch):
    if request.param == "re2":
        pytest.importorskip("re2")
    else:
        monkeypatch.setattr(prefilter, "_by_re2", lambda: None)
        monkeypatch.setattr(prefilter, "_searches", lambda _size: prefilter._by_re())
    return request.param


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.sampled_from([*ORDINARY, *TEXTS]), max_size=12))
def test_each_suspicious_text_is_chosen_and_no_other(texts):
    data = lines(texts)
    assert prefilter.choose_suspicious(data) == [each for each in data if prefilter.may_hold_secret(each)]


def test_a_secret_that_two_texts_have_halves_of_is_none():
    """They are joined by a line end, which is part of no secret."""
    for _, secret in KINDS:
        data = [secret[:15].encode(), secret[15:].encode()]
        assert prefilter.choose_suspicious(data) == [each for each in data if prefilter.may_hold_secret(each)]


@pytest.mark.parametrize("at_once", [1, 1_000, 1 << 18])
def test_the_ids_of_a_session_do_not_depend_on_how_many_are_searched_at_once(monkeypatch, at_once):
    monkeypatch.setattr("scopes.secrets.count._AT_ONCE", at_once)
    counted = NewSecrets(lambda rule, value: f"{rule} {value}")
    for data in lines([*ORDINARY, *(secret for _, secret in KINDS), *ORDINARY, KINDS[1][1]]):
        counted.add(data)
    assert counted.ids() == {f"{kind} {secret}" for kind, secret in KINDS}
    assert counted.ids() == counted.ids()


def test_a_session_without_messages_has_none():
    assert NewSecrets(lambda _rule, _value: "x").ids() == frozenset()


@pytest.mark.parametrize("form", FORMS)
def test_beginnings_that_a_limit_may_have_cut_are_not_overlooked_in_plain_texts(form):
    """What is encoded is read in titles and subjects, which pass no prefilter."""
    if form in {"plain", "json in a text", "diff"}:
        for kind, secret in KINDS:
            text = json.dumps({"title": FORMS[form](secret[:-3])}).encode()
            assert prefilter.may_hold_beginning(text), kind
    assert not prefilter.may_hold_beginning(json.dumps({"title": "an ordinary title"}).encode())


PIECES = [
    "sk-", "AKIA", "eyJ", ":AA", "SK", "Bearer", "basic", "PRIVATE KEY", "-----BEGIN ", "-----BEGIN RSA ", "token", "Password", "key", '"', "'",
    " ", "\t", "\n", "\\n", "=", ": ", "abc", "XyZ123", "abcdefghij", "é", "\u2028", "{", "}",
]  # fmt: skip


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_without_re2_a_beginning_is_found_where_its_pattern_matches(text):
    """No text is searched for the whole pattern, which takes long; the parts say the same."""
    pattern = re.compile(prefilter._BEGINNING.encode())
    for data in (text.encode(), json.dumps(text).encode()):
        assert (prefilter._by_re().beginning(data) is not None) == (pattern.search(data) is not None)


def test_a_beginning_of_six_characters_counts_and_a_shorter_one_does_not():
    pattern = re.compile(prefilter._BEGINNING.encode())
    for prefix in prefilter._PREFIXES:
        long, short = b"it was " + prefix + b"a1b2c3, then", b"it was " + prefix + b'a1b" then'
        assert prefilter.may_hold_beginning(long), prefix
        assert prefilter.may_hold_beginning(short) == (pattern.search(short) is not None), prefix
    assert not prefilter.may_hold_beginning(b'it was AKIAa1b" then')


def test_what_is_missed_is_suspicious_to_no_engine():
    for form in MISSED.values():
        data = lines([form(secret) for _, secret in KINDS])
        assert len(prefilter.choose_suspicious(data)) <= len(KINDS) // 3
