"""Secrets are found by fixed prefixes and keys, and never by how random a text looks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.secret_patterns import find_secrets, redact

LETTERS = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAcDfGhJkLmNpQrStVwXyZ2345678901bCdE"
SECRETS = [
    ("aws-access-key", "AKIA" + "QWERTYUIOPASDFGH"),
    ("github-token", "ghp_" + LETTERS[:36]),
    ("github-token", "github_pat_" + LETTERS[:40]),
    ("gitlab-token", "glpat-" + LETTERS[:20]),
    ("anthropic-key", "sk-ant-api03-" + LETTERS[:40]),
    ("openai-key", "sk-proj-" + LETTERS[:48]),
    ("google-key", "AIza" + LETTERS[:35]),
    ("slack-token", "xoxb-" + "1234567890-" + LETTERS[:24]),
    ("stripe-key", "sk_live_" + LETTERS[:24]),
    ("npm-token", "npm_" + LETTERS[:36]),
    ("digitalocean-token", "dop_v1_" + "0123456789abcdef" * 4),
    ("jwt", "eyJ" + LETTERS[:20] + ".eyJ" + LETTERS[:20] + "." + LETTERS[:30]),
    ("telegram-token", "123456789:AA" + LETTERS[:33]),
]


@pytest.mark.parametrize(("kind", "secret"), SECRETS)
@pytest.mark.parametrize("around", ["{}", "token: {}", '{{"key": "{}"}}', "export X={}\n", "see {}, please"])
def test_each_kind_is_found_wherever_it_is_written(kind, secret, around):
    text = around.format(secret)
    (found,) = find_secrets(text)
    assert (found.kind, text[found.start : found.end]) == (kind, secret)
    assert redact(text) == around.format(f"[redacted {kind}]")


def test_a_private_key_is_found_with_its_body():
    text = "x\n-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEow" * 40 + "\n-----END RSA PRIVATE KEY-----\ny"
    assert redact(text) == "x\n[redacted private-key]\ny"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("postgres://shop:s3cretPass@db.example.net/x", "s3cretPass"),
        ("Authorization: Bearer " + LETTERS[:40], LETTERS[:40]),
        ('password = "aB3dE5gH7jK9mN1pQ2rS4t"', "aB3dE5gH7jK9mN1pQ2rS4t"),
        ("API_KEY=0f9e8d7c6b5a43210f9e8d7c6b5a4321", "0f9e8d7c6b5a43210f9e8d7c6b5a4321"),
    ],
)
def test_a_value_behind_a_key_is_found(text, secret):
    (found,) = find_secrets(text)
    assert text[found.start : found.end] == secret


@pytest.mark.parametrize(
    "text",
    [
        "toolu_01CR4GHdCvzQ27BTRDRa3ASu",
        "sha512-" + LETTERS * 2,
        "commit 4e14fce1b11081b993d83c3a5505822c4e14fce1",
        "api_key = os.environ['API_KEY']",
        "password: hunter",
        "token = response.accessToken.replace(/x/)",
        "secret_key: xxxxxxxxxxxxxxxxxxxxxxxx1",
        "AKIAIOSFODNN7EXAMPLE",
        "https://user:${PASSWORD}@host/",
        "key: 5a3b1e0c-0f5e-4d7b-9a57-3c0d5b1f2e64",
    ],
)
def test_ids_hashes_code_and_placeholders_are_no_secrets(text):
    assert find_secrets(text) == []


@pytest.mark.parametrize("before", ["password=", "API_KEY: ", "Authorization: Bearer "])
def test_the_kind_of_a_prefix_is_preferred_to_that_of_the_key_in_front_of_it(before):
    """Two patterns that match the same characters were ordered by chance."""
    assert [each.kind for each in find_secrets(before + "sk_live_" + LETTERS[:24])] == ["stripe-key"]


@given(st.text(max_size=300))
def test_other_text_is_returned_unchanged(text):
    if not find_secrets(text):
        assert redact(text) == text


@pytest.mark.parametrize("piece", ["-eyJ", "eyJa.", "://a:", "sk-", "-----BEGIN ", "password=", ":AA", "Bearer ", "a1"])
@pytest.mark.timeout(60)
def test_a_megabyte_that_begins_like_secrets_is_scanned_in_time(piece):
    """An expression without bounds took 5.8 seconds for 200 kB, and 25 times as long for five times as much."""
    assert find_secrets(piece * (1_000_000 // len(piece))) == []
