"""A private key is replaced from its beginning to its end, whatever headers, lengths and beginnings of lines it has."""

from __future__ import annotations

import pytest

from scopes.secret_patterns import redact
from scopes.secret_scan import scan
from scopes.secret_scan.clearance import without_store
from scopes.secret_scan.scan import scan_text
from tests.support.planted import MIXED

BODY = [(MIXED * 2)[number : number + 64] for number in range(20)]
PGP, RSA = "PGP PRIVATE KEY BLOCK", "RSA PRIVATE KEY"


def key(name, *headers, lines=BODY, prefix="", end=True):
    whole = [f"-----BEGIN {name}-----", *headers, *([""] if headers else []), *lines]
    return "\n".join(prefix + line for line in [*whole, *([f"-----END {name}-----"] if end else [])])


KEYS = {
    "comment": key(PGP, "Comment: GPGTools - http://gpgtools.org"),
    "version": key(PGP, "Version: GnuPG v1.4.12 (GNU/Linux)", "Comment: a - b - c"),
    "encrypted": key(RSA, "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-256-CBC,0123456789ABCDEF0123456789ABCDEF"),
    "longer than 4,000": key(RSA, lines=BODY * 4),
    "longer than 8,000": key(PGP, "Version: GnuPG v1", lines=BODY * 40),
    "removed lines": key(RSA, prefix="-"),
    "added lines": key(RSA, prefix="+"),
    "grep": "\n".join(f"{number}-{line}" for number, line in enumerate(key(RSA).split("\n"), 12)),
    "grep with a name": key(RSA, prefix="id_rsa-3-"),
    "indented": key(RSA, prefix="    "),
    "escaped": key(RSA, "Proc-Type: 4,ENCRYPTED").replace("\n", "\\n"),
}


@pytest.mark.parametrize("name", KEYS)
def test_nothing_of_a_private_key_is_left(name):
    text = f"cat it\n{KEYS[name]}\nand that is all"
    for shown in (redact(text), without_store().clear_text(text, "x")):
        assert not any(line[:16] in shown for line in BODY), shown
        assert shown.startswith("cat it\n")
        assert shown.endswith("\nand that is all")


@pytest.mark.parametrize("prefix", ["", "-", "12-"])
def test_of_a_key_without_an_end_nothing_is_left_that_follows_its_beginning(prefix):
    text = "cat it\n" + key(RSA, prefix=prefix, lines=BODY * 10, end=False)
    for shown in (redact(text), without_store().clear_text(text, "x")):
        assert shown.startswith("cat it\n")
        assert not any(line[:16] in shown for line in BODY), shown


def test_two_keys_are_two_secrets():
    text = f"{KEYS['comment']}\nand\n{KEYS['encrypted']}"
    assert redact(text) == "[redacted private-key]\nand\n[redacted private-key]"
    assert len(scan_text(text)) == 2


@pytest.mark.parametrize("end", [True, False])
def test_a_key_that_is_longer_than_a_window_is_replaced_to_its_end(monkeypatch, end):
    monkeypatch.setattr(scan, "_WINDOW", 2_000)
    monkeypatch.setattr(scan, "_OVERLAP", 500)
    shown = without_store().clear_text(f"x\n{key(RSA, lines=BODY * 10, end=end)}" + "\ny" * end, "x")
    assert shown == "x\n[redacted:private-key]" + "\ny" * end


@pytest.mark.parametrize(
    "text", ["-----BEGIN RSA PRIVATE KEY-----", "grep -c 'BEGIN PRIVATE KEY-----' *.pem - it has one"]
)
def test_the_name_of_a_key_alone_is_no_key(text):
    assert scan_text(text) == []
    assert redact(text) == text
