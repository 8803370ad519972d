"""What stands around a text of a document makes a secret of it: names, options, pairs; and what is opaque is base64."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest

from scopes.secret_scan import prefilter
from scopes.secret_scan.clearance import Gate, without_store
from scopes.secret_scan.scan import scan_document, scan_text
from tests.support.planted import HEX, KINDS, MIXED, encoded

TOKEN = HEX[:40]
VALUE = MIXED[:24]
LOGIN = encoded("deploy:h7KpQ2xN9vL4")
GITHUB = dict(KINDS)["github-token"]
SVG = encoded(f"<svg xmlns='http://www.w3.org/2000/svg'><text>{GITHUB}</text></svg>")
PNG = b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + f" token {GITHUB} ".encode()).decode()
SECRETS = [
    ("auth-header", {"headers": {"Authorization": f"token {TOKEN}"}}, TOKEN),
    ("auth-header", {"headers": {"authorization": f"basic {LOGIN}"}}, LOGIN),
    ("auth-header", {"headers": {"Proxy-Authorization": TOKEN}}, TOKEN),
    ("auth-header", {"headers": [["Authorization", f"token {TOKEN}"]]}, TOKEN),
    ("auth-header", {"headers": [{"name": "Authorization", "value": TOKEN}]}, TOKEN),
    ("docker-auth", {"auths": {"r.io": {"auth": LOGIN}}}, LOGIN),
    ("assigned-secret", {"fields": [["password", VALUE]]}, VALUE),
    ("assigned-secret", {"env": [{"name": "DB_PASSWORD", "value": VALUE}]}, VALUE),
    ("assigned-secret", {"Environment": [{"Key": "CLIENT_SECRET", "Value": VALUE}]}, VALUE),
    ("assigned-secret", {"argv": ["mysql", "--password", VALUE, "shop"]}, VALUE),
    ("curl-password", {"argv": ["curl", "-u", f"admin:{VALUE}", "https://h"]}, VALUE),
    ("curl-password", {"argv": ["/usr/bin/curl", "-s", f"--user=admin:{VALUE}", "https://h"]}, VALUE),
]
HARMLESS = [
    {"headers": {"Authorization": "Bearer $TOKEN"}}, {"authorization": "authorization-code-flow-with-pkce"},
    {"auth": "oauth2"}, {"auth": "none-of-these-is-a-login"}, {"items": [["name", VALUE]]}, {"argv": ["ls", "-u", f"a:{VALUE}"]},
    {"env": [{"name": "PATH", "value": VALUE}]}, {"argv": ["x", "--password", "-v"]}, ["password", "is", VALUE],
]  # fmt: skip


@pytest.fixture(params=["re", "re2"], autouse=True)
def engine(request, monkeypatch):
    if request.param == "re2":
        pytest.importorskip("re2")
    else:
        monkeypatch.setattr(prefilter, "_searches", lambda _size: prefilter._by_re())


def leaks_of(document):
    gate = Gate("refuse", lambda _rule, value: value)
    gate.inspect(json.dumps(document).encode(), "x")
    return [(each.rule, each.id) for each in gate.leaks]


@pytest.mark.parametrize(("rule", "document", "value"), SECRETS)
def test_a_value_is_a_secret_by_what_is_around_it_and_is_replaced_alone(rule, document, value):
    assert [(each.found.rule, each.found.value) for each in scan_document(document)] == [(rule, value)]
    assert leaks_of({"parts": [{"type": "tool_call", "input": document}]}) == [(rule, value)]
    line = json.dumps(document, separators=(",", ":"))
    cleared = without_store().clear_line(line.encode(), "x").decode()
    assert cleared == line.replace(value, f"[redacted:{rule}]")


@pytest.mark.parametrize(("rule", "document", "value"), SECRETS)
def test_the_same_is_found_where_the_document_is_a_text(rule, document, value):
    for text in (json.dumps(document), json.dumps(document, indent=4)):
        assert [(each.rule, each.value) for each in scan_text(text)] == [(rule, value)]
        assert leaks_of({"text": text})


@pytest.mark.parametrize("document", HARMLESS)
def test_what_is_around_an_ordinary_value_makes_no_secret_of_it(document):
    assert list(scan_document(document)) == []


@pytest.mark.parametrize("name", ["signature", "encrypted_content", "thoughtSignature"])
@pytest.mark.parametrize(
    "value", [{"text": f"password={VALUE}"}, f"password={VALUE}", [f"https://u:{VALUE}@h/"], encoded(f"my {GITHUB} is")]
)
def test_a_name_makes_nothing_opaque_that_is_no_ciphertext(name, value):
    """An argument of a tool may have such a name, too."""
    assert len(list(scan_document({"input": {name: value}}))) == 1
    assert leaks_of({"input": {name: value}})
    assert "redacted:" in without_store().clear_line(json.dumps({name: value}).encode(), "x").decode()


@pytest.mark.parametrize("data", [f"password={VALUE}", SVG, encoded(f"a text with {GITHUB}")])
def test_the_data_of_an_image_is_read_where_it_is_a_text(data):
    assert leaks_of({"type": "image", "data": data})
    assert leaks_of({"media_type": "image/svg+xml", "data": data})


def test_a_picture_and_a_signature_stay_as_they_are():
    assert leaks_of({"type": "image", "data": PNG}) == []
    signature = b64encode(bytes(range(128, 256))).decode() + encoded(f" {GITHUB} ")
    assert leaks_of({"signature": signature.replace("=", "")}) == []


def test_a_name_behind_its_value_is_not_found():
    """The manual says so."""
    assert scan_text(json.dumps({"value": VALUE, "name": "DB_PASSWORD"})) == []
    assert leaks_of({"value": VALUE, "name": "DB_PASSWORD"}) == []
