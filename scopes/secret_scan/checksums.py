"""Checksums in tokens, where the issuer has published them: a token with a wrong one was never valid."""

from __future__ import annotations

import binascii
import json
from base64 import urlsafe_b64decode
from typing import Final
from zlib import crc32

_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_CRC_CHARACTERS: Final = 6
_CLASSIC_LENGTH: Final = 40  # of a token of GitHub or npm with its prefix; other lengths have no checksum
_BECH32: Final = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATOR: Final = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_PYPI: Final = (b"pypi.org", b"test.pypi.org")


def is_possible(kind: str, value: str) -> bool:
    """Return False if a value of this kind has a wrong checksum, or lacks content that the kind requires."""
    match kind:
        case "github-token" | "npm-token" if len(value) == _CLASSIC_LENGTH:
            return has_crc32(value)
        case "age-key":
            return has_bech32(value.lower())
        case "jwt":
            return is_json(value.partition(".")[0])
        case "docker-auth":
            return is_login(value)
        case "pypi-token":
            return names_pypi(value.removeprefix("pypi-"))
    return True


def has_crc32(token: str) -> bool:
    """Return True if a token of GitHub or npm ends with the CRC-32 of the characters between prefix and checksum."""
    secret, checksum = token[4:-_CRC_CHARACTERS], token[-_CRC_CHARACTERS:]
    return base62(crc32(secret.encode())) == checksum


def base62(number: int) -> str:
    """Return a number in base 62 with six digits, as these tokens have it."""
    digits = ""
    for _ in range(_CRC_CHARACTERS):
        number, digit = divmod(number, len(_BASE62))
        digits = _BASE62[digit] + digits
    return digits


def has_bech32(text: str) -> bool:
    """Return True if the checksum of a Bech32 text is right (BIP 173); it is in lower case."""
    prefix, separator, data = text.rpartition("1")
    if not separator or any(character not in _BECH32 for character in data):
        return False
    values = [ord(character) >> 5 for character in prefix] + [0] + [ord(character) & 31 for character in prefix]
    checksum = 1
    for value in values + [_BECH32.index(character) for character in data]:
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ value
        for bit, factor in enumerate(_GENERATOR):
            checksum ^= factor if top >> bit & 1 else 0
    return checksum == 1


def is_json(encoded: str) -> bool:
    """Return True if the header of a JSON Web Token is an object with an algorithm."""
    try:
        header = json.loads(_decode(encoded))
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and "alg" in header


def is_login(encoded: str) -> bool:
    """Return True if base64 decodes to a name, a colon and a password."""
    try:
        name, colon, password = _decode(encoded.replace("+", "-").replace("/", "_")).partition(b":")
    except ValueError:
        return False
    return bool(name and colon and password) and (name + password).isascii() and b"\0" not in name + password


def names_pypi(encoded: str) -> bool:
    """Return True if a token of PyPI begins with the name of the index that issued it."""
    try:
        start = _decode(encoded[:48])
    except ValueError:
        return False
    return any(name in start for name in _PYPI)


def _decode(text: str) -> bytes:
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error as error:
        raise ValueError(text) from error
