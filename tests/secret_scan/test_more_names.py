"""More names that a value may stand behind, more signs between them, signatures of Azure, keys of PuTTY and WireGuard."""

from __future__ import annotations

import json

import pytest

from scopes.secret_scan import prefilter
from scopes.secret_scan.clearance import without_store
from scopes.secret_scan.scan import scan_document, scan_text
from tests.support.planted import MIXED, encoded

VALUE = MIXED[:24]
KEY = (MIXED * 2)[:42] + "8="
LINES = f"{MIXED[:60]}\n{MIXED[3:63]}\n{MIXED[:30]}8="
FOUND = [
    ("assigned-secret", f"api_token={VALUE}", VALUE),
    ("assigned-secret", f"token={VALUE}", VALUE),
    ("assigned-secret", f'passphrase="{VALUE}"', VALUE),
    ("assigned-secret", f"Server=x;User=sa;Pwd={VALUE};", VALUE),
    ("assigned-secret", f'password := "{VALUE}"', VALUE),
    ("assigned-secret", f"'password' => '{VALUE}'", VALUE),
    ("assigned-secret", f"<password>{VALUE}</password>", VALUE),
    ("assigned-secret", f'config.setPassword("{VALUE}")', VALUE),
    ("assigned-secret", f"[Interface]\nPrivateKey = {KEY}\n", KEY),
    ("assigned-secret", f"PresharedKey = {KEY}\n", KEY),
    ("azure-secret", f"https://x.blob.core.windows.net/c?sv=2020&sig={KEY}", KEY),
    ("private-key", f"PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 3\n{LINES}\nPrivate-MAC: 00", f"\n{LINES}"),
]
HARMLESS = [
    "next_page_token = compute_next_token_1(page)", f"etoken={VALUE}", "pwd: /home/carol/projects/shop-2025-01",
    "cpwd=abcdefghij1234567890x", "token: str | None = None", "<token>number_of_tokens</token>", "setToken(get_token_2)",
    "max_tokens=1234567890", "Private-Lines: 8 are in the file", "&sig=none", 'getPassword("name-of-the-vault-entry")',
]  # fmt: skip


@pytest.fixture(params=["re", "re2"], autouse=True)
def engine(request, monkeypatch):
    if request.param == "re2":
        pytest.importorskip("re2")
    else:
        monkeypatch.setattr(prefilter, "_searches", lambda _size: prefilter._by_re())


@pytest.mark.parametrize(("rule", "text", "value"), FOUND)
def test_a_value_is_found_in_a_text_in_json_and_is_replaced_alone(rule, text, value):
    assert [(each.rule, each.value) for each in scan_text(text)] == [(rule, value)]
    assert [each.rule for each in scan_text(json.dumps({"x": text}))] == [rule]
    assert prefilter.may_hold_secret(json.dumps({"text": text}).encode())
    assert prefilter.may_hold_secret(json.dumps({"text": json.dumps(text)}).replace(">", "\\u003e").encode())
    assert without_store().clear_text(text, "x") == text.replace(value, f"[redacted:{rule}]")


@pytest.mark.parametrize("name", ["token", "api_token", "passphrase", "pwd", "private_key"])
def test_a_member_with_such_a_name_has_a_secret(name):
    (found,) = scan_document({"input": {name: VALUE}})
    assert found.found == ("assigned-secret", 0, len(VALUE), VALUE)


def test_a_shared_access_signature_is_found_as_urls_write_it():
    written = KEY.replace("=", "%3D").replace("8", "%2B")
    assert [each.rule for each in scan_text(f"https://h/c?sig={written} x")] == ["azure-secret"]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_it_is_no_secret(text):
    assert scan_text(text) == []
    assert scan_text(encoded(text)) == []
