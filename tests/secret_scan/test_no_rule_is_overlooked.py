"""The prefilter looks at every text in which a rule finds something: texts are made of the patterns of the rules."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from scopes.secret_patterns import RULES, find_secrets
from scopes.secret_scan import prefilter
from scopes.secret_scan.clearance import Gate
from tests.support.examples import amount
from tests.support.planted import BORDERS, ESCAPED, INSIDE, with_crc32

CURL = ["k9/Lm2Qx7vT1", "k$Lm2Qx7vT1", "k9L$/2Qx7vT1", "a////////b", "p$$$$$$"]
_LONG = re.compile(r"\{(\d+),(\d{3,})\}")
_ANY_CASE = re.compile(r"\(\?i:(\w+)\)")


def shortened(pattern: str) -> str:
    """Return a pattern whose repetitions are at most 30 longer than they have to be, and whose words are in usual case.

    A word in which the case of each letter is drawn is almost never one that a rule begins to look at.
    """
    usual = _ANY_CASE.sub(lambda match: f"(?:{match[1].lower()}|{match[1].capitalize()}|{match[1].upper()})", pattern)
    return _LONG.sub(lambda match: f"{{{match[1]},{min(int(match[1]) + 30, int(match[2]))}}}", usual)


def engines():
    fast = prefilter._by_re2()
    return [prefilter._by_re(), *([fast] if fast else [])]


@pytest.mark.parametrize("password", CURL)
@pytest.mark.parametrize("form", ["run: curl -u deploy:{} https://h", "curl --user 'deploy:{}' https://h"])
def test_a_password_of_curl_with_signs_of_paths_and_shells_is_looked_at(password, form):
    text = form.format(password)
    assert [(each.kind, text[each.start : each.end]) for each in find_secrets(text)] == [("curl-password", password)]
    for data in (text.encode(), json.dumps({"text": text}).encode(), json.dumps({"text": json.dumps(text)}).encode()):
        assert all(engine.anything(data) is not None for engine in engines()), data


@settings(max_examples=amount(120, 5), deadline=None, suppress_health_check=[*HealthCheck])
@given(data=st.data())
@pytest.mark.parametrize("number", range(len(RULES)), ids=lambda number: RULES[number].anchors[0])
def test_where_a_rule_matches_the_prefilter_does(number, data):
    printable = st.characters(min_codepoint=32, max_codepoint=126)
    text = data.draw(st.from_regex(shortened(RULES[number].pattern), fullmatch=True, alphabet=printable))
    text = f"see {text} end"
    assume(find_secrets(text))
    stored = json.dumps({"text": text}).encode()
    for engine in engines():
        for each in (text.encode(), stored):
            assert engine.secret(each) is not None, each


def everything(_data):
    return True


def leaks(data):
    """Return what a gate finds in bytes, and what it would find if it looked at everything."""
    found = []
    for names in ((), ("may_hold_secret", "may_hold_readable", "may_hold_encoded")):
        gate = Gate("refuse", lambda rule, value: f"{rule} {value}")
        with pytest.MonkeyPatch.context() as patch:
            for name in names:
                patch.setattr(prefilter, name, everything)
            gate.inspect(data, "x")
        found.append(gate.leaks)
    return found


@st.composite
def hidden_secrets(draw):
    """Text of a rule behind a border, with something inside of it, and some of its characters escaped."""
    printable = st.characters(min_codepoint=32, max_codepoint=126)
    rule = draw(st.sampled_from(RULES))
    secret = draw(st.from_regex(shortened(rule.pattern), fullmatch=True, alphabet=printable))
    escape = draw(st.sampled_from(ESCAPED))
    signs = draw(st.sampled_from(["", "_", "-", "._-", secret[:3], secret]))
    secret = "".join(escape(each) if each in signs else each for each in secret)
    at = draw(st.integers(0, len(secret)))
    inside = draw(st.sampled_from(["", *INSIDE]))
    return f"see{draw(st.sampled_from(BORDERS))}{secret[:at]}{inside}{secret[at:]} end"


def stored_forms(text):
    """Yield a text as stored, as other programs write JSON, and escaped in part or wholly."""
    for ascii_only in (False, True):
        line = json.dumps({"text": text}, ensure_ascii=ascii_only)
        yield from (line, json.dumps({"text": line}, ensure_ascii=ascii_only), line.replace("/", "\\/"))
    escaped = "".join(f"\\u{ord(each):04x}" for each in text if ord(each) < 1 << 16)
    yield f'{{"text": "{escaped}"}}'


@pytest.mark.timeout(amount(1_200, 60))
@settings(max_examples=amount(1_200, 50), deadline=None, suppress_health_check=[*HealthCheck])
@given(text=hidden_secrets())
@pytest.mark.parametrize("engine", ["re", "re2"])
def test_a_gate_finds_what_it_would_find_without_the_prefilter(engine, text):
    if engine == "re2" and not prefilter.is_fast():
        pytest.skip("RE2 is not installed")
    chosen = prefilter._by_re2() if engine == "re2" else prefilter._by_re()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefilter, "_searches", lambda _size: chosen)
        for line in stored_forms(text):
            data = line.encode("utf-8", "surrogatepass")
            found, expected = leaks(data)
            assert found == expected, data
            assert not expected or data in prefilter.choose_suspicious([b"{}", data, b"[]"]), data


TOKEN = with_crc32("ghp_", "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0")


@pytest.mark.parametrize("inside", INSIDE)
def test_a_transcript_that_is_written_in_ascii_is_looked_at(inside):
    """The escape of U+FFFD inside of a token hid the token from `export --format original`."""
    text = f"{TOKEN[:7]}{inside}{TOKEN[7:]}{inside}"
    for engine in engines():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(prefilter, "_searches", lambda _size, engine=engine: engine)
            for data in map(str.encode, stored_forms(text)):
                found, expected = leaks(data)
                assert found == expected != (), data
