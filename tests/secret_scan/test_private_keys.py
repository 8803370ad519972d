"""A private key is found whatever stands beside it: only a short text can be a sample of one."""

from __future__ import annotations

import pytest

from scopes.secret_patterns import find_secrets
from scopes.secret_scan.scan import scan_text

BODY = "\n".join(f"{number:02d}" + "Qa7fKd9ZpL3mXv5T" * 3 for number in range(20))
KEY = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{BODY}\n-----END OPENSSH PRIVATE KEY-----"
WITH_COMMENT = (
    f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nComment: alice@example.com\n\n{BODY}\n-----END PGP PRIVATE KEY BLOCK-----"
)
MENTION = 'a PEM file begins with "-----BEGIN PRIVATE KEY-----", for example:\n'
CUT = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n\nFor example, the file that you have sent ends here."
SAMPLE = "-----BEGIN PRIVATE KEY-----\nyour_key\n-----END PRIVATE KEY-----"


@pytest.mark.parametrize("text", [WITH_COMMENT, MENTION + KEY, CUT, KEY.replace("Qa7f", "xxxx")])
def test_words_of_samples_hide_no_key(text):
    body = text.index(BODY[:40]) if BODY[:40] in text else text.index("00xxxx")
    for found in (list(find_secrets(text)), scan_text(text)):
        assert any(each.start < body and each.end >= body + 900 for each in found)


def test_a_key_behind_a_sample_is_found():
    text = f"{SAMPLE}\nand the real one:\n{KEY}"
    assert any(each.start <= text.index(KEY) and each.end == len(text) for each in find_secrets(text))


def test_a_short_sample_is_no_secret():
    assert [each for each in find_secrets(SAMPLE) if "private" in each.kind] == []
