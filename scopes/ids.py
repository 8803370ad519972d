"""The names of things, as types that cannot be mixed up, and the rules that a name must meet.

A name becomes a path component of a git ref and is typed by people, so it must be safe for git, for every file system
and for a terminal. libgit2 accepts `-x`, `HEAD`, `CON` and bidirectional overrides as ref names; these rules do not.
"""

from __future__ import annotations

import re
from typing import NewType

from scopes.errors import Invalid

ConversationId = NewType("ConversationId", str)
BranchName = NewType("BranchName", str)
MessageId = NewType("MessageId", str)
AgentName = NewType("AgentName", str)
OperationId = NewType("OperationId", str)
Oid = NewType("Oid", str)

ID_LENGTH = 26
MAX_NAME_BYTES = 200
_CONVERSATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ID = re.compile(rf"[a-z2-7]{{{ID_LENGTH}}}")
_OID = re.compile(r"[0-9a-f]{40}")
_BAD_IN_REF = re.compile(r"[\x00-\x20\x7f-\xa0\xad~^:?*\[\\\"'<>|]")
INVISIBLE = re.compile(  # Unicode's spaces, its default-ignorable code points, and what annotates or directs
    r"[\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_DEVICE = re.compile(r"(?:CON|PRN|AUX|NUL|COM[0-9]|LPT[0-9])(?:\..*)?", re.IGNORECASE)
_NOT_IN_SLUG = re.compile(r"[^a-z0-9._]+")


def parse_conversation_id(text: str) -> ConversationId:
    """Accept an id such as `conv-001` or a name of letters, digits, `.`, `_` and `-`."""
    trouble = _trouble_in_component(text)
    if trouble is None and not _CONVERSATION.fullmatch(text):
        trouble = "may hold letters, digits, '.', '_' and '-' and begins with a letter or digit"
    if trouble is not None:
        raise Invalid(f"{text!a} is no conversation id: it {trouble}", hint="for example: conv-001, login-bug")
    return ConversationId(text)


def parse_branch_name(text: str) -> BranchName:
    """Accept a branch name such as `main` or `analysis/security-review`.

    Raises:
        Invalid: the name would be refused by git, by some file system, or would deceive a reader.
    """
    trouble = "is longer than 200 bytes" if len(text.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES else None
    for component in text.split("/"):
        trouble = trouble or _trouble_in_component(component)
    if trouble is not None:
        raise Invalid(f"{text!a} is no branch name: it {trouble}", hint="for example: main, analysis/security-review")
    return BranchName(text)


def is_name(text: str) -> bool:
    """Tell whether a text meets the rules of branch names, so that it may be looked up as a ref."""
    return all(_trouble_in_component(component) is None for component in text.split("/"))


def _trouble_in_component(text: str) -> str | None:
    """Say what is wrong with one component of a ref name, in words that follow `it`."""
    rules = (
        (not text, "is empty or has an empty part"),
        (text.startswith((".", "-")), "has a part that begins with '.' or '-'"),
        (text.endswith((".", ".lock")), "has a part that ends with '.' or '.lock'"),
        (".." in text or "@{" in text or text == "@", "holds '..', '@{' or is '@'"),
        (_BAD_IN_REF.search(text) is not None, "holds a space, a control character or one of ~^:?*[\\\"'<>|"),
        (INVISIBLE.search(text) is not None, "holds an invisible or direction-changing character"),
        (any("\ud800" <= c <= "\udfff" for c in text), "is not valid UTF-8"),
        (text.upper() in {"HEAD", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD"}, "is a name that git uses itself"),
        (_DEVICE.fullmatch(text) is not None, "is the name of a device on Windows"),
        (len(text.encode("utf-8", "replace")) > MAX_NAME_BYTES, "is longer than 200 bytes"),
    )
    return next((what for broken, what in rules if broken), None)


def parse_agent_name(text: str) -> AgentName:
    """Accept the name of a person or an agent: any printable text of up to 200 bytes that is not blank."""
    if not text.strip():
        raise Invalid("an author needs a name", hint="for example: --as carol")
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise Invalid(f"the author name {text!a} is not valid UTF-8")
    if len(text.encode()) > MAX_NAME_BYTES:
        raise Invalid("an author name is at most 200 bytes long")
    return AgentName(text)


def is_message_id(text: str) -> bool:
    """Tell whether the text is a whole message id (26 lower-case base32 characters)."""
    return _ID.fullmatch(text) is not None


def is_oid(text: str) -> bool:
    """Tell whether the text is a whole object id (40 lower-case hexadecimal digits)."""
    return _OID.fullmatch(text) is not None


def slug(name: str) -> str:
    """Reduce a name to `[a-z0-9._-]`, for mail addresses and default branch names; never empty."""
    return _NOT_IN_SLUG.sub("-", name.lower()).strip("-._") or "agent"
