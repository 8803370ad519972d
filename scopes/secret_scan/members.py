"""Walk the texts of a JSON value, each with its context: its name, or the option in front of it.

`{"Authorization": "token X"}`, `["--password", X]` and `{"name": "DB_PASSWORD", "value": X}` are secrets only by that.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from scopes.lazy_patterns import compile_lazily
from scopes.secret_patterns import KEY_WORDS

Path: TypeAlias = tuple[str | int, ...]

_OPAQUE: Final = frozenset(
    {"encrypted_content", "signature", "thoughtSignature", "thought_signature", "reasoning_encrypted"}
)
_IMAGES: Final = frozenset({"image", "audio", "video"})
_BASE64: Final = compile_lazily(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_HEAD: Final = 48  # characters of base64 that tell whether it stands for a text
_NAMES: Final = ("name", "Name", "key", "Key")  # of members next to a `value`
_LOGINS: Final = ("-u", "-U", "--user", "--proxy-user")  # options of curl
_MAX_ARGUMENTS: Final = 50  # in front of an option of curl
_MAX_NAME: Final = 100


class Around(NamedTuple):
    """The text in front of a text, and whether its name is one of ciphertext, a signature or an image."""

    before: str = ""
    is_opaque: bool = False


NOTHING: Final = Around()


def walk_texts(document: object) -> Iterator[tuple[Path, str, Around]]:
    """Yield each text of a JSON value with its path and context; names of members have the path of their object."""
    waiting: list[tuple[Path, object, Around]] = [((), document, NOTHING)]
    while waiting:
        path, value, around = waiting.pop()
        if isinstance(value, str):
            yield path, value, around
        elif isinstance(value, Mapping):
            members = value.items()
            waiting += [((*path, name), item, around_member(value, name)) for name, item in members]
            for name, _ in members:
                yield (*path, len(path)), name, NOTHING
        elif isinstance(value, list | tuple):
            waiting += [((*path, number), item, around_item(value, number)) for number, item in enumerate(value)]


def around_member(value: Mapping[str, Any], name: str) -> Around:
    """Return the context of a member of an object."""
    label = name
    if name in {"value", "Value"}:
        label = next((each for key in _NAMES if isinstance(each := value.get(key), str)), name)
    is_image = name == "data" and str(value.get("type", value.get("media_type", ""))).partition("/")[0] in _IMAGES
    return Around(_before(label), is_image or name in _OPAQUE)


def around_item(items: Sequence[object], number: int) -> Around:
    """Return the context of an item of a list: a name in front of its value, or a command with an option."""
    item, last = items[number], items[number - 1] if number else None
    if not isinstance(item, str) or not isinstance(last, str):
        return NOTHING
    if ":" in item and (last in _LOGINS or item.startswith(_LOGINS)):
        arguments = items[max(number - _MAX_ARGUMENTS, 0) : number]
        is_curl = any(isinstance(each, str) and each.rpartition("/")[2] == "curl" for each in arguments)
        return Around(f'curl {last} "' if last in _LOGINS else 'curl "') if is_curl else NOTHING
    return Around(_before(last)) if len(items) == 2 or last.startswith("-") else NOTHING


def is_ciphertext(text: str) -> bool:
    """Return True if a text is a run of base64 that does not begin with the base64 of a text, as an SVG does."""
    if _BASE64.fullmatch(text) is None:
        return False
    word = text[:_HEAD].rstrip("=").replace("-", "+").replace("_", "/")
    try:
        head = b64decode(word[: len(word) // 4 * 4])
    except binascii.Error:
        return True
    return not (head.isascii() and head.decode("ascii").replace("\n", "").replace("\t", "").isprintable())


def _before(label: str) -> str:
    """Return the text to put in front of a text for a name or an option; empty if that has no meaning."""
    lower = label[:_MAX_NAME].lower()
    if lower.endswith("authorization"):
        return 'Authorization: "'
    if lower == "auth":
        return '"auth":"'
    return f'{label[:_MAX_NAME]}="' if any(word in lower for word in KEY_WORDS) else ""
