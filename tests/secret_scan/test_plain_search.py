"""Without RE2 only long runs, rare beginnings and values of words are looked at, and nothing is missed by that."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.secret_scan import plain_search
from scopes.secret_scan.loose_patterns import ASSIGNED, TEXT_IN_BASE, walk_loose_rules
from scopes.secret_scan.plain_search import walk_encoded, walk_escapes, walk_secrets, walk_suspicious
from tests.support.examples import examples
from tests.support.planted import FORMS, KINDS

RULES = list(walk_loose_rules(is_linear=False))
IN_RUNS = [rule for rule in RULES if rule.kind not in plain_search.NOT_IN_RUNS and rule.kind != "auth-header"]
FAR = b" word" * 500  # so few runs that what is in front of each is looked at
VALUE = "aB3dE5gH7jK9mN1pQ2rS4tU6"
EVERYTHING = re.compile("|".join(f"(?:{rule.pattern})" for rule in RULES).encode("latin-1") + b"|" + ASSIGNED.encode())


def bytes_of(pattern: str) -> st.SearchStrategy[bytes]:
    return st.from_regex(re.compile(pattern.encode("latin-1")), fullmatch=True)


@settings(max_examples=examples(600), deadline=None)
@given(st.data(), st.sampled_from(IN_RUNS))
def test_a_kind_that_is_searched_in_runs_is_one_run_and_long_enough(data, rule):
    drawn = data.draw(bytes_of(rule.pattern))
    assert len(drawn) >= plain_search.SHORTEST_RUN
    assert drawn.translate(plain_search._MARKS) == b"a" * len(drawn)


@settings(max_examples=examples(600), deadline=None)
@given(st.data(), st.sampled_from(RULES), st.binary(max_size=20), st.binary(max_size=20))
def test_whatever_a_pattern_matches_is_found_between_any_bytes(data, rule, before, behind):
    drawn = data.draw(bytes_of(rule.pattern))
    anchors = [each.encode() for each in rule.anchors]
    begin = (
        b"" if any(each in drawn for each in anchors) else anchors[0] + b" "
    )  # of `curl -u` the pattern has the option
    assert list(walk_secrets(before + begin + drawn + behind))


@settings(max_examples=examples(200), deadline=None)
@given(bytes_of(TEXT_IN_BASE), st.binary(max_size=20))
def test_base64_of_a_text_is_found_between_any_bytes(encoded, around):
    assert list(walk_encoded(around + encoded + around))


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.sampled_from([*(secret for _, secret in KINDS), "token=", "Bearer ", VALUE, "\n", ".", "x"])))
def test_one_expression_for_all_kinds_finds_nothing_else(pieces):
    data = "".join(pieces).encode()
    assert bool(list(walk_secrets(data))) is (EVERYTHING.search(data) is not None)


@pytest.mark.parametrize("around", [b"", FAR])
@pytest.mark.parametrize("word", ["apiKey", "CLIENT_SECRET", "Token", "password", "PASSWD"])
@pytest.mark.parametrize("between", ["=", ": ", " = ", '": "', '\\":\\t\\"', "\t=\t'", '\\\\\\"\t: \\\\\\"'])
def test_a_value_behind_a_word_is_found_among_many_runs_and_among_few(around, word, between):
    data = around + f"{word}{between}{VALUE} and".encode() + around
    assert list(walk_secrets(data))
    assert not list(walk_secrets(data.replace(word.encode(), b"words")))


@pytest.mark.parametrize("around", [b"", FAR])
@pytest.mark.parametrize("word", ["Bearer", "basic", "TOKEN"])
@pytest.mark.parametrize("between", [" ", "   ", "\\n", "\\t\\t", "\u00a0", "\n"])
def test_a_value_behind_the_word_of_a_header_is_found_among_many_runs_and_among_few(around, word, between):
    data = around + f"Authorization: {word}{between}{VALUE}\\r\\n".encode() + around
    assert list(walk_secrets(data))
    assert not list(walk_secrets(data.replace(VALUE.encode(), b"is short")))


def test_every_place_of_a_run_is_named():
    """The same run is searched once."""
    secret = dict(KINDS)["github-token"].encode()
    data = b"%s x %s\n%s" % (secret, secret, secret)
    assert sorted(walk_secrets(data)) == [0, len(secret) + 3, 2 * len(secret) + 4]


def test_of_two_secrets_in_neighbouring_runs_both_are_named():
    kinds = dict(KINDS)
    first, second = kinds["github-token"].encode(), kinds["npm-token"].encode()
    assert {0, len(first) + 1} <= {*walk_secrets(first + b" " + second)}


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_in_another_form_makes_its_place_suspicious(form):
    for kind, secret in KINDS:
        text = FORMS[form](secret).encode("utf-8", "surrogatepass")
        places = list(walk_suspicious(FAR + text + FAR))
        assert any(len(FAR) - 1 <= place < len(FAR + text) for place in places), kind


@pytest.mark.parametrize(
    "text", ["plain words", "a%b 100% sure", "C:\\new\\table", "\\n\\t\\r\\\\", "é", "src/main.py"]
)
def test_ordinary_text_is_not_suspicious(text):
    assert not list(walk_suspicious(text.encode() * 20))


@pytest.mark.parametrize(
    "text", ["\\u0041", "%41", "\x1b[0m", "a\0b", "\ufffd", "\\x1b[", "\\033[", "\\e[", "\\/", "\\_"]
)
def test_whatever_a_decoding_changes_is_an_escape(text):
    assert list(walk_escapes(f"a {text}".encode())) == [2 + (text == "a\0b")]


def anchors_in_runs():
    return [anchor for anchor, _ in plain_search._anchors(in_runs=True)]


@pytest.mark.parametrize("around", [b"", b"a", b"/x/"])
def test_the_beginning_of_every_kind_is_noticed_in_few_bytes(around):
    assert all(plain_search._may_have_anchor(around + anchor + around) for anchor in anchors_in_runs())


@given(st.lists(st.sampled_from(["ba", "sk", "-", "/", "gh", "p_", "S", "K", "\n"]), max_size=12).map("".join))
def test_few_bytes_in_which_no_beginning_is_noticed_have_none(text):
    data = text.encode()
    assert plain_search._may_have_anchor(data) or not any(anchor in data for anchor in anchors_in_runs())


def test_few_ordinary_bytes_are_not_searched_for_each_kind(monkeypatch):
    data = b"words and /home/carol/shop/basket.py in a text"
    assert not plain_search._may_have_anchor(data)
    monkeypatch.setattr(plain_search, "_kinds_in", None)
    assert not list(plain_search._Runs(data).walk_kinds())


@given(st.lists(st.sampled_from([*(secret for _, secret in KINDS), "src/main.py", VALUE, "\n", ".", "x"]), max_size=6))
@settings(deadline=None)
def test_few_bytes_are_searched_as_many_are(pieces):
    data = "".join(pieces).encode()
    found = sorted(plain_search._Runs(data).walk_kinds())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_search, "_SHORT_RUNS", -1)
        assert sorted(plain_search._Runs(data).walk_kinds()) == found
