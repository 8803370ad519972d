"""The prefilter looks at every text in which a rule finds something: texts are made of the patterns of the rules."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from scopes.secret_patterns import RULES, find_secrets
from scopes.secret_scan import prefilter
from tests.support.examples import amount

CURL = ["k9/Lm2Qx7vT1", "k$Lm2Qx7vT1", "k9L$/2Qx7vT1", "a////////b", "p$$$$$$"]
_LONG = re.compile(r"\{(\d+),(\d{3,})\}")


def shortened(pattern: str) -> str:
    """Return a pattern whose repetitions are at most 30 longer than they have to be."""
    return _LONG.sub(lambda match: f"{{{match[1]},{min(int(match[1]) + 30, int(match[2]))}}}", pattern)


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
