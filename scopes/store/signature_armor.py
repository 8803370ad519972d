"""Check that a header of a commit has the form of a signature: base64 of the right kind, and no other text.

Whose signature it is, and whether it is good, is not checked here: git does that with the keys of the user.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error
from typing import Final

from scopes.lazy_patterns import compile_lazily

MAX_BYTES: Final = 1 << 15  # those of gpgsm have certificates with them, which are some kilobytes
_SSH: Final = b"SSHSIG\0\0\0\x01"
_SSH_HASHES: Final = frozenset({b"sha256", b"sha512"})
_LENGTH_BYTES: Final = 4
_DER_SEQUENCE: Final = 0x30
_OPENPGP_PACKET: Final = 0x80
_LINES = compile_lazily(rb"\n?((?:[A-Za-z0-9+/]{1,76}\n)*[A-Za-z0-9+/]{1,76}={0,2}\n)(?:=[A-Za-z0-9+/]{4}\n)?")
_COMMENT = compile_lazily(rb"(-----BEGIN PGP [A-Z]+-----\n)(?:[A-Za-z]+: [^\n]*\n)+\n")


def without_comments(signature: bytes) -> bytes:
    """Return a signature without the lines that gpg can write above it, which it does not sign."""
    return _COMMENT.sub(rb"\1\n", signature)


def is_armor(kind: bytes, text: bytes) -> bool:
    """Return True if the lines between BEGIN and END of a kind can be a signature.

    kind: as in `-----BEGIN SSH SIGNATURE-----`
    """
    data = _decode(text)
    match kind:
        case b"SSH SIGNATURE":
            return _is_ssh(data)
        case b"PGP SIGNATURE" | b"PGP MESSAGE":
            return data > b"" and data[0] & _OPENPGP_PACKET != 0
        case b"SIGNED MESSAGE":
            return data > b"" and data[0] == _DER_SEQUENCE
    return False


def _decode(text: bytes) -> bytes:
    """Return the bytes that lines of base64 stand for; none if they are something else or too long."""
    found = _LINES.fullmatch(text)
    encoded = b"" if found is None else found[1].replace(b"\n", b"")
    try:
        data = b64decode(encoded, validate=True)
    except Error:
        return b""
    return data if len(data) <= MAX_BYTES and b64encode(data) == encoded else b""


def _is_ssh(data: bytes) -> bool:
    """Return True for what `ssh-keygen -Y sign -n git` writes: key, namespace, nothing, hash and signature."""
    fields: list[bytes] = []
    at = len(_SSH)
    while data.startswith(_SSH) and at < len(data):
        start = at + _LENGTH_BYTES
        at = start + int.from_bytes(data[at:start], "big")
        fields.append(data[start:at])
    match fields:
        case [_, b"git", b"", name, _]:
            return at == len(data) and name in _SSH_HASHES
    return False
