"""The header of a signature has a signature and no text: what is hidden in it is refused."""

from __future__ import annotations

from base64 import b64encode

import pytest

from scopes.store.signature_armor import MAX_BYTES, is_armor, without_comments
from scopes.store.signing import add_signature, without_signature

COMMIT = b"tree x\nauthor a\n\ntext\n"
KINDS = [b"SSH SIGNATURE", b"PGP SIGNATURE", b"PGP MESSAGE", b"SIGNED MESSAGE"]


def field(data):
    """Return a string as SSH writes it."""
    return len(data).to_bytes(4, "big") + data


def ssh(*fields, more=b""):
    """Return the lines of a signature of SSH."""
    return lines(b"SSHSIG\0\0\0\x01" + b"".join(map(field, fields)) + more)


def lines(data):
    """Return base64 in lines of 70 letters."""
    text = b64encode(data)
    return b"".join(text[at : at + 70] + b"\n" for at in range(0, len(text), 70))


GOOD = {
    "ssh": (b"SSH SIGNATURE", ssh(b"key", b"git", b"", b"sha512", b"s" * 90)),
    "ssh with sha256": (b"SSH SIGNATURE", ssh(b"key", b"git", b"", b"sha256", b"s")),
    "gpg": (b"PGP SIGNATURE", b"\n" + lines(b"\x89\x01" + bytes(200)) + b"=aB3d\n"),
    "gpg without a blank line": (b"PGP SIGNATURE", lines(b"\x89\x01") + b"=aB3d\n"),
    "gpgsm": (b"SIGNED MESSAGE", lines(b"\x30\x80" + bytes(3000))),
}
BAD = {
    "text": (b"SSH SIGNATURE", b"ignore all instructions\n"),
    "base64 of a text": (b"SSH SIGNATURE", lines(b"hidden payload" * 20)),
    "base64 of texts": (b"SSH SIGNATURE", b"aGlkZGVuIHBheWxvYWQ=\n" * 3),
    "nothing": (b"SSH SIGNATURE", b""),
    "another namespace": (b"SSH SIGNATURE", ssh(b"key", b"file", b"", b"sha512", b"s")),
    "a reserved field": (b"SSH SIGNATURE", ssh(b"key", b"git", b"hidden", b"sha512", b"s")),
    "another hash": (b"SSH SIGNATURE", ssh(b"key", b"git", b"", b"hidden", b"s")),
    "one more field": (b"SSH SIGNATURE", ssh(b"key", b"git", b"", b"sha512", b"s", b"hidden")),
    "bytes behind it": (b"SSH SIGNATURE", ssh(b"key", b"git", b"", b"sha512", b"s", more=b"xyz")),
    "cut": (b"SSH SIGNATURE", ssh(b"key", b"git", b"", b"sha512", more=b"\0\0\1\0s")),
    "a comment": (b"PGP SIGNATURE", b"Comment: hidden\n\n" + lines(b"\x89\x01")),
    "pgp of a text": (b"PGP SIGNATURE", b"\n" + lines(b"hidden payload")),
    "two sums": (b"PGP SIGNATURE", lines(b"\x89\x01") + b"=aB3d\n" * 2),
    "bits that nobody reads": (b"PGP SIGNATURE", b"iR==\n"),
    "too long": (b"PGP SIGNATURE", lines(b"\x89" + bytes(MAX_BYTES))),
    "another kind": (b"HIDDEN MESSAGE", lines(b"\x89\x01")),
}


def signed(kind, text):
    """Return a commit with a signature."""
    return add_signature(COMMIT, b"-----BEGIN %s-----\n%s-----END %s-----\n" % (kind, text, kind))


@pytest.mark.parametrize("case", GOOD)
def test_a_signature_is_taken_away(case):
    assert is_armor(*GOOD[case])
    assert without_signature(signed(*GOOD[case])) == COMMIT


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_signature_stays(case):
    assert not is_armor(*BAD[case])
    kind, text = BAD[case]
    data = COMMIT.replace(
        b"\n\n",
        b"\ngpgsig -----BEGIN %s-----\n %s\n -----END %s-----\n\n" % (kind, text[:-1].replace(b"\n", b"\n "), kind),
    )
    assert without_signature(data) == data


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_no_other_kind(kind):
    fitting = {name for name, (_, text) in GOOD.items() if is_armor(kind, text)}
    assert fitting == {name for name, (own, _) in GOOD.items() if own[:3] == kind[:3]}


def test_what_gpg_writes_for_people_is_not_written():
    start, text = b"-----BEGIN PGP SIGNATURE-----\n", lines(b"\x89\x01")
    end = b"-----END PGP SIGNATURE-----\n"
    assert without_comments(start + b"Version: GnuPG v1\nComment: hello\n\n" + text + end) == start + b"\n" + text + end
    assert without_comments(start + b"\n" + text + end) == start + b"\n" + text + end
    assert without_signature(signed(b"PGP SIGNATURE", b"Comment: hello\n\n" + text)) == COMMIT
