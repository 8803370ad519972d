"""Headers, files of logins and URLs that hold a secret without a prefix of its own, and what only looks like them."""

from __future__ import annotations

import json

import pytest

from scopes.secret_patterns import find_secrets
from scopes.secret_scan import prefilter
from scopes.secret_scan.clearance import without_store
from scopes.secret_scan.scan import scan_text
from tests.support.planted import HEX, MIXED, encoded

LOGIN = encoded("carol:correct horse 9")
UUID = "5a3b1e0c-0f5e-4d7b-9a57-3c0d5b1f2e64"
SHAPES = [
    ("url-password", "redis://:s3cretPass9@cache.internal:6379/0", "s3cretPass9"),
    ("auth-header", f"authorization: bearer {MIXED[:40]}", MIXED[:40]),
    ("auth-header", f"BEARER {MIXED[:40]}", MIXED[:40]),
    ("auth-header", f"curl -H 'Authorization: token {HEX[:40]}' x", HEX[:40]),
    ("auth-header", f'{{"authorization": "Token {HEX[:40]}"}}', HEX[:40]),
    ("assigned-secret", f"curl -H 'X-Api-Key: {MIXED[:32]}' x", MIXED[:32]),
    ("assigned-secret", f'"x-api-key": "{MIXED[:32]}"', MIXED[:32]),
    ("assigned-secret", f"PRIVATE-TOKEN: {MIXED[:20]}", MIXED[:20]),
    ("assigned-secret", f"X-Auth-Token: {MIXED[:32]}", MIXED[:32]),
    ("assigned-secret", f"//registry.npmjs.org/:_authToken={UUID}", UUID),
    ("docker-auth", f'{{"auths": {{"h.io": {{"auth": "{LOGIN}"}}}}}}', LOGIN),
    ("docker-auth", f'{{\\"auth\\":\\"{LOGIN}\\"}}', LOGIN),
    ("google-oauth", "ya29." + MIXED[:60], "ya29." + MIXED[:60]),
    ("slack-token", "xoxc-1234567890-" + MIXED[:24], "xoxc-1234567890-" + MIXED[:24]),
    ("netrc-password", "machine h.io login carol password pa55.word", "pa55.word"),
    ("netrc-password", "machine h.io\n  login carol\n  password pa55.word\n", "pa55.word"),
    ("netrc-password", "machine h.io\\nlogin carol\\npassword pa55.word\\n", "pa55.word"),
]
ORDINARY = [
    "basic authentication-and-authorization-flows", "the bearer of-good-and-very-long-news-arrived", "http://:8080/x",
    '"auth": "oauth2-authorization-code"', '{"auth": "bm90aGluZw=="}', "a machine with a login and a password",
    f"api-key: {UUID}", f"request-token: {UUID}", "cache-key: abcdefghijklmnopqrst1234"[:14], "machine learning login page",
    "Authorization: token is missing", "x-api-key: your_api_key_0123456789abc", "ya29.abc", "redis://:6379",
]  # fmt: skip


@pytest.fixture(params=["re", "re2"])
def engine(request, monkeypatch):
    if request.param == "re2":
        pytest.importorskip("re2")
    else:
        monkeypatch.setattr(prefilter, "_searches", lambda _size: prefilter._by_re())


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("rule", "text", "secret"), SHAPES)
def test_a_common_shape_is_found(rule, text, secret):
    assert [(each.rule, each.value) for each in scan_text(text)] == [(rule, secret)]
    assert prefilter.may_hold_secret(json.dumps({"parts": [{"text": text}]}).encode())


@pytest.mark.parametrize(("rule", "text", "secret"), SHAPES)
def test_a_common_shape_is_replaced_and_what_is_around_it_stays(rule, text, secret):
    before, _, after = text.partition(secret)
    assert without_store().clear_text(f"{text} x", "x") == f"{before}[redacted:{rule}]{after} x"


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("text", ORDINARY)
def test_what_only_looks_like_a_common_shape_is_no_secret(text):
    assert scan_text(text) == []
    assert without_store().clear_text(f"{text} and more", "x") == f"{text} and more"


@pytest.mark.parametrize("rest", ["!MoreSecretTail99", "#Hj3Ys6Gp1Cc0Ee", "$tail", ")x]", "é!"])
@pytest.mark.parametrize("quote", ['"', "'", '\\"'])
def test_a_value_in_quotes_is_found_up_to_the_quote(rest, quote):
    text = f"password: {quote}Aq7Zt3Mplw5Rdxn2kLpQ9{rest}{quote} ok"
    (found,) = find_secrets(text)
    assert text[found.start : found.end] == f"Aq7Zt3Mplw5Rdxn2kLpQ9{rest}"


@pytest.mark.parametrize("length", [98, 99, 100, 120, 121, 5000])
@pytest.mark.parametrize("begin", ["Aq7Zt3Mplw5Rdxn2kLpQ9", "Aq7!Zt3Mplw5Rdxn2kLpQ"])
def test_a_long_value_in_quotes_is_found_up_to_the_quote(begin, length):
    value = begin + "!" * length
    (found,) = find_secrets(f'password: "{value}" ok')
    assert found.end - found.start == len(value)


@pytest.mark.parametrize("end", ["", " and more", "\n'"])
def test_a_long_text_behind_a_quote_that_nothing_closes_is_no_secret(end):
    assert find_secrets('password: "Aq7!Zt3Mplw5Rdxn2kLpQ' + "!" * 5000 + end) == []
