"""Logins in URLs and curl commands, quoted passwords with signs, keys of SSH2 and Azure, and what stays unseen."""

from __future__ import annotations

import json

import pytest

from scopes.secret_scan import prefilter
from scopes.secret_scan.clearance import without_store
from scopes.secret_scan.cut_ends import find_cut_ends
from scopes.secret_scan.scan import scan_document, scan_text
from tests.support.planted import KINDS, MIXED, encoded

VALUE = MIXED[:24]
SSH2 = (
    '---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: "a-key"\n'
    f"{encoded(MIXED * 3)[:70]}\n{encoded(MIXED * 2)[:70]}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----"
)
AZURE = "aB3" + "8Q~" + MIXED[:33]
FOUND = [
    ("url-token", f"git clone https://{VALUE}@git.example/x", VALUE),
    ("url-token", f"https://{MIXED[:8]}.{VALUE}~@host", f"{MIXED[:8]}.{VALUE}~"),
    ("url-password", f"https://carol%40corp.example:{VALUE}@host/x", VALUE),
    ("url-password", "ftp://a%2Bb%40c:hunter2x@host", "hunter2x"),
    ("curl-password", "curl -u carol:hunter2hunter https://h", "hunter2hunter"),
    ("curl-password", "curl -sS --user 'carol@corp:p&ss!w0rd' -o x https://h", "p&ss!w0rd"),
    ("curl-password", "curl -X POST -ucarol:hunter2hunter https://h", "hunter2hunter"),
    ("curl-password", '["curl", "-u", "carol:hunter2hunter"]', "hunter2hunter"),
    ("assigned-secret", f'["password", "{VALUE}"]', VALUE),
    ("assigned-secret", f'{{"name": "DB_PASSWORD",\n     "value": "{VALUE}"}}', VALUE),
    ("assigned-secret", f'password="{VALUE[:9]}&{VALUE[9:]}!"', f"{VALUE[:9]}&{VALUE[9:]}!"),
    ("assigned-secret", f"client_secret: '{VALUE[:9]}!{VALUE[9:]}'", f"{VALUE[:9]}!{VALUE[9:]}"),
    ("assigned-secret", f"curl -H 'X-Auth-Password: {VALUE[:9]}&{VALUE[9:]}' https://h", f"{VALUE[:9]}&{VALUE[9:]}"),
    ("azure-secret", f"AZURE_CLIENT={AZURE} x", AZURE),
    ("private-key", f"see\n{SSH2}\nend", SSH2),
]  # fmt: skip
HARMLESS = [
    "https://git@github.com/carol/shop", "ssh://a-very-long-user-name-without-digit@host/x", "https://github.com/a/b@1234567890123456789",
    "curl -u user:password https://h", "curl -u $USER:$PASSWORD https://h", "curl https://h:8080/a", "git push -u origin main:other-branch",
    "curl -u admin:secret https://h", 'password="you need to enter 1 & only 1 password"', 'password: "${PASSWORD}&x=1234567890123"',
    "---- BEGIN SSH2 PUBLIC KEY ----\nAAAAB3NzaC1yc2EAAAABIwAAAIEA1on8gxCGJJWSRT4uOrR13mUaUk0hRf4\n---- END SSH2 PUBLIC KEY ----",
    "FAQ~Questions and many more words", "https://example.com/a:b@c",
]  # fmt: skip


@pytest.fixture(params=["re", "re2"], autouse=True)
def engine(request, monkeypatch):
    if request.param == "re2":
        pytest.importorskip("re2")
    else:
        monkeypatch.setattr(prefilter, "_searches", lambda _size: prefilter._by_re())


@pytest.mark.parametrize(("rule", "text", "value"), FOUND)
def test_a_shape_is_found_and_its_value_alone_is_replaced(rule, text, value):
    assert [(each.rule, each.value) for each in scan_text(text)] == [(rule, value)]
    assert text[text.index(value) :].startswith(value)
    shown = without_store().clear_text(text, "x")
    assert shown == text.replace(value, f"[redacted:{rule}]")


@pytest.mark.parametrize(("rule", "text", "value"), FOUND)
def test_a_shape_is_found_in_json_inside_of_json(rule, text, value):
    inner = json.dumps({"command": text})
    assert rule in {each.rule for each in scan_text(inner)}, inner
    assert prefilter.may_hold_secret(json.dumps({"parts": [{"text": inner}]}).encode())


@pytest.mark.parametrize("text", HARMLESS)
def test_what_looks_alike_and_is_none_stays(text):
    assert scan_text(text) == []


def test_a_quoted_password_in_a_document_is_found_by_the_name_of_its_member():
    value = f"{VALUE[:9]}&{VALUE[9:]}!"
    (found,) = scan_document({"input": {"password": value}})
    assert found.found == ("assigned-secret", 0, len(value), value)
    assert without_store().clear_document({"password": value}, "x") == {"password": "[redacted:assigned-secret]"}


@pytest.mark.parametrize("kind", ["google-key", "google-oauth", "telegram-token", "sendgrid-key"])
@pytest.mark.parametrize("behind", ["_", "-", "_backup", "-x", "__", "\\n-", "\\u002dx"])
def test_a_key_of_a_fixed_length_ends_where_its_length_says(kind, behind):
    """An underscore or a hyphen could be a part of it, and is not."""
    (secret,) = [each for name, each in KINDS if name == kind]
    assert [(each.rule, each.value) for each in scan_text(f"see {secret}{behind}")] == [(kind, secret)]


@pytest.mark.parametrize("kind", ["google-key", "google-oauth", "telegram-token", "sendgrid-key"])
def test_a_longer_word_is_no_key_of_a_fixed_length(kind):
    (secret,) = [each for name, each in KINDS if name == kind]
    assert scan_text(f"see {secret}x") == []


def test_what_a_cut_leaves_of_a_key_of_ssh2_is_found():
    text = f"see\n{SSH2[:90]}"
    assert [each.rule for each in find_cut_ends(text)] == ["private-key"]
    assert "redacted" not in without_store().clear_text("---- BEGIN SSH2 PUBLIC KEY ----", "x")


UNSEEN = {
    "a password with a sign and no quotes": f"password={VALUE[:9]}&{VALUE[9:]}",
    "a token in a URL without a digit": "https://abcdefghijklmnopqrstuvwx@host",
    "base32 in small letters": "mzxw6ytboi" * 8,
    "a letter of another script": f"{KINDS[0][1][:9]}\u0410{KINDS[0][1][10:]}",
}  # fmt: skip


@pytest.mark.parametrize("form", UNSEEN)
def test_what_the_manual_says_is_not_found_is_not_found(form):
    assert scan_text(UNSEEN[form]) == []
