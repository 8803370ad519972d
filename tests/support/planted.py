"""Made-up secrets of every kind, with right checksums, and the forms in which texts hold them."""

from __future__ import annotations

import json
import re
from base64 import b32decode, b32encode, b64decode, b64encode
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import quote, unquote
from zlib import crc32

from scopes.secret_patterns import RULES
from scopes.secret_scan.checksums import _BECH32, _GENERATOR, base62

MIXED = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAcDfGhJkLmNpQrStVwXyZ2345678901bCdE4fG6hJ8kL0mN2pQ3rS5tU7vW9xY1zA"
UPPER = "QWERTYUIOPASDFGH2345ZXCVBNM67JKL"
HEX = "0f9e8d7c6b5a43211f2e3d4c5b6a79880a1b2c3d4e5f60718293a4b5c6d7e8f9"


def with_crc32(prefix: str, secret: str) -> str:
    """Return a token as GitHub and npm make them."""
    return f"{prefix}{secret}{base62(crc32(secret.encode()))}"


def age_key() -> str:
    """Return a key of age with a right checksum."""
    prefix, data = "age-secret-key-", [number % 32 for number in range(7, 59)]
    values = [ord(each) >> 5 for each in prefix] + [0] + [ord(each) & 31 for each in prefix] + data + [0] * 6
    checksum = 1
    for value in values:
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ value
        for bit, factor in enumerate(_GENERATOR):
            checksum ^= factor if top >> bit & 1 else 0
    data += [(checksum ^ 1) >> 5 * (5 - number) & 31 for number in range(6)]
    return f"{prefix}1{''.join(_BECH32[value] for value in data)}".upper()


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


JWT = ".".join(
    (encoded('{"alg":"HS256","typ":"JWT"}').rstrip("="), encoded('{"sub":"1234567890"}').rstrip("="), MIXED[:43])
)
KINDS: list[tuple[str, str]] = [
    ("aws-access-key", "AKIA" + UPPER[:16]),
    ("github-token", with_crc32("ghp_", MIXED[:30])),
    ("github-token", "github_pat_" + MIXED[:22] + "_" + MIXED[:59]),
    ("gitlab-token", "glpat-" + MIXED[:20]),
    ("anthropic-key", "sk-ant-api03-" + MIXED[:40]),
    ("openai-key", "sk-proj-" + MIXED[:48]),
    ("openrouter-key", "sk-or-v1-" + HEX),
    ("google-key", "AIza" + MIXED[:35]),
    ("google-oauth", "GOCSPX-" + MIXED[:28]),
    ("slack-token", "xoxb-1234567890-" + MIXED[:24]),
    ("stripe-key", "sk_live_" + MIXED[:24]),
    ("npm-token", with_crc32("npm_", MIXED[3:33])),
    ("pypi-token", "pypi-" + encoded("\2\1\10pypi.org" + MIXED[:60]).rstrip("=")),
    ("huggingface-token", "hf_" + "aBcDeFgHjKmNpQrStUvWxYzAbCdEfGhJkL"),
    ("digitalocean-token", "dop_v1_" + HEX),
    ("sendgrid-key", f"SG.{MIXED[:22]}.{MIXED[:43]}"),
    ("twilio-key", "SK" + HEX[:32]),
    ("supabase-key", "sb_secret_" + MIXED[:31]),
    ("vault-token", "hvs." + MIXED[:40]),
    ("terraform-token", f"zY7xW5vU3tS1rQ.atlasv1.{MIXED[:65]}"),
    ("age-key", age_key()),
    ("telegram-token", "908172635:AA" + MIXED[:33]),
    ("jwt", JWT),
    ("linear-key", "lin_api_" + MIXED[:40]),
    ("databricks-token", "dapi" + HEX[:32]),
    ("grafana-token", f"glsa_{MIXED[:32]}_{HEX[:8]}"),
    ("postman-key", f"PMAK-{HEX[:24]}-{HEX[:34]}"),
    ("docker-token", "dckr_pat_" + MIXED[:27]),
    ("groq-key", "gsk_" + MIXED[:52]),
    ("figma-token", "figd_" + MIXED[:40]),
    ("discord-token", f"{encoded('1082736455637281945').rstrip('=')}.G7xK2p.{MIXED[:38]}"),
]


def in_json(text: str, levels: int) -> str:
    for _ in range(levels):
        text = json.dumps({"output": text})
    return text


DASHES = "\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d"
FORMS: dict[str, Callable[[str], str]] = {
    "plain": lambda secret: f"export KEY={secret}\n",
    "json in a text": lambda secret: in_json(f"a {secret} b", 1),
    "json two levels deep": lambda secret: in_json(f"a {secret} b", 2),
    "json three levels deep": lambda secret: in_json(f"a {secret} b", 3),
    "diff": lambda secret: f"@@ -1 +1,2 @@\n-old\n+{secret}\n",
    "unicode escapes": lambda secret: "".join(f"\\u{ord(each):04x}" if not each.isalnum() else each for each in secret) + " \\u002d",
    "percent": lambda secret: f"https://h.io/?t={''.join(f'%{ord(each):02X}' for each in secret)}",
    "quoted url": lambda secret: f"https://h.io/?t={quote(secret, safe='').replace('-', '%2D').replace('_', '%5F')}&x",
    "utf-16": lambda secret: "\0".join(f"KEY={secret}") + "\0",
    "colors inside": lambda secret: f"{secret[:9]}\x1b[1;31m{secret[9:15]}\x1b[0m{secret[15:]}",
    "base64": lambda secret: f"data: {encoded(f'token is {secret} so')}",
    "escape as \\E": lambda secret: f"{secret[:9]}\\E[31m{secret[9:15]}\\E[0m{secret[15:]}",
    "escape as a caret": lambda secret: f"{secret[:9]}^[[1;31m{secret[9:15]}^[[0m{secret[15:]}",
    "colors with colons": lambda secret: f"{secret[:9]}\x1b[38:5:1m{secret[9:15]}\x1b[0m{secret[15:]}",
    "hex escapes": lambda secret: "".join(each if each.islower() else f"\\x{ord(each):02x}" for each in secret),
    "octal escapes": lambda secret: "".join(each if each.islower() else f"\\{ord(each):03o}" for each in secret),
    "invisible characters inside": lambda secret: f"{secret[:9]}\u200b{secret[9:15]}\ufeff\u00ad{secret[15:]}",
    "dashes of other scripts": lambda secret: f"the key {secret.replace('-', DASHES[len(secret) % len(DASHES)])}",
    "base64 of utf-16": lambda secret: f"-enc {b64encode(f'$key = {secret};'.encode('utf-16-le')).decode()}",
    "base32": lambda secret: f"data: {b32encode(f'token is {secret} so'.encode()).decode()}",
    "basic header": lambda secret: f"Authorization: Basic {encoded(f'user:{secret}')}",
}  # fmt: skip
BORDERS = [
    " ", "\n", "\\n", "\\\\n", "é", "密", "-", "_", "%0A", "=0A", "\x1b[0m", "\x1b(B", "\\e(B", "\\u001b(B", "\\x1b(B", "\\033(0", "^[(B",
    "^I", "\x1bc", "\x1b7", "\x1bM", "\x9b0m", "\\x9b0m", "\\cM", "\\N", "%u00e9", "=C3=A9", "\\U0001f511", "\\u{e9}", "\x1b]0;a title\x07",
    "\x1b]8;;https://h.io\x1b\\",
]  # fmt: skip
"""What is in front of a secret and no part of it, though it ends with a letter or a digit, as most of them do."""
INSIDE = [
    "\x1b[1;31m", "\x1b[K", "\x1b(B", "\x1b7", "\x9b0m", "^[[0m", "^[(B", "\\e[0m", "\\e(B", "\\x1b[0m", "\\u001b[0m", "\\u001b(B",
    "\x1b]8;;https://h.io/a\x07", "\x1b]8;;\x1b\\", "\\e]8;;https://h.io\\a", "\\033]8;;\\033\\\\", "^[]8;;u^G", "\0", "\\x00", "^@", "\ufffd",
    "\\ufffd", "\ufffd[0m", "\u00ad", "\\u00ad", "\u200b", "\\u200b", "\ufeff", "\u3164", "\\u3164", "\u115f", "\uffa0", "\u2800", "\ufe0f",
    "\u17b4", "\\u17b5", "\ufff9", "\\ufffa", "\x1b^a note\x1b\\", "\x1bXa note\x1b\\",
    "\U000e0041", "\U000e0100", "\\udb40\\udc41", "\\U000e0041", "\\u{e0041}", "=\n", "=\r\n", "=\\n", "=\\r\\n",
]  # fmt: skip
"""What a terminal, a browser or a mail program does not show."""
ESCAPED: list[Callable[[str], str]] = [
    lambda sign: f"\\x{ord(sign):02x}",
    lambda sign: f"\\u{ord(sign):04X}",
    lambda sign: f"\\U{ord(sign):08x}",
    lambda sign: f"\\u{{{ord(sign):x}}}",
    lambda sign: f"\\{ord(sign):03o}",
    lambda sign: f"\\0{ord(sign):03o}",
    lambda sign: f"\\x{{{ord(sign):x}}}",
    lambda sign: f"%{ord(sign):02x}",
    lambda sign: f"%u{ord(sign):04x}",
    lambda sign: f"={ord(sign):02X}" if sign in "_-.+/=" else sign,
    lambda sign: chr(ord(sign) + 0xFEE0) if sign.isalnum() or sign in "_-." else sign,
    lambda sign: f"\\u{ord(sign) + 0xFEE0:04x}" if sign.isalnum() or sign in "_-." else sign,
]
"""How a sign of ASCII is written so that one decoding gives it back."""
MISSED: dict[str, Callable[[str], str]] = {
    "hex": lambda secret: secret.encode().hex(),
    "wrapped over lines": lambda secret: f"{secret[:12]}\n{secret[12:]}",
}


_RUN = re.compile(r"[A-Za-z0-9+/_-]{8,}")
_COLOR = re.compile(r"(?:\x1b|\^\[|\\+(?:u001[bB]|x1[bB]|E))\[[0-9;:]*m")
_CODE = re.compile(r"\\+u00([0-9a-fA-F]{2})|\\+x([0-9a-fA-F]{2})|\\+([0-7]{3})")
_PLAIN = str.maketrans({**dict.fromkeys("\0\u200b\ufeff\u00ad", ""), **dict.fromkeys(DASHES, "-")})
_ESCAPED = (
    ("\\u0000", ""),
    ("\\x00", ""),
    ("\\u200b", ""),
    ("\\ufeff", ""),
    ("\\u00ad", ""),
    *((f"\\u{ord(each):04x}", "-") for each in DASHES),
)
_BASE32 = re.compile(r"[A-Z2-7]{16,}")
_PART = 8  # characters of a secret that tell something about it


def variable_part(kind: str, secret: str) -> str:
    """Return what stands behind the prefix of its kind: what nobody else knows."""
    known = [anchor for rule in RULES if rule.kind == kind for anchor in rule.anchors if anchor in secret]
    anchor = max(known, key=len)
    return secret[secret.index(anchor) + len(anchor) :]


@lru_cache(maxsize=4)  # all kinds of secrets are looked for in one text
def revealed(text: str) -> str:
    """Return a text with all that somebody reads out of it who undoes one encoding; nothing of the product is used."""
    plain = _COLOR.sub("", text).translate(_PLAIN)
    for escaped, character in _ESCAPED:
        plain = plain.replace(escaped, character)
    codes = _CODE.sub(lambda match: chr(int(match[1] or match[2] or match[3], 8 if match[3] else 16)), plain)
    runs = (run[0][shift:] for run in _RUN.finditer(text) for shift in range(4))
    words = [
        b64decode(f"{run[: len(run) - (len(run) % 4 == 1)]}==".replace("-", "+").replace("_", "/")) for run in runs
    ]
    runs = (run[0][shift:] for run in _BASE32.finditer(text) for shift in range(8))
    whole = (run[: len(run) - (len(run) % 8 in {1, 3, 6})] for run in runs)
    words += [b32decode(run + "=" * (-len(run) % 8)) for run in whole]
    decoded = [form for word in words for form in (word.decode("latin-1"), word.replace(b"\0", b"").decode("latin-1"))]
    return "\n".join((text, plain, codes.replace("\0", ""), unquote(plain), *decoded))


def leaked_parts(kind: str, secret: str, text: str) -> list[str]:
    """Return each part of eight characters of a secret, without its prefix, that somebody can read out of a text."""
    hidden, seen = variable_part(kind, secret), revealed(text)
    return [hidden[at : at + _PART] for at in range(len(hidden) - _PART + 1) if hidden[at : at + _PART] in seen]
