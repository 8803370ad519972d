"""Types for ids and names, and the rules that names must meet.

Names are path components of git refs and are typed by people, so they must be safe for git, for every file system and
for a terminal. libgit2 accepts `-x`, `HEAD`, `CON` and bidirectional overrides as ref names; these rules do not.
"""

from __future__ import annotations

import re
from collections.abc import Container
from functools import lru_cache
from typing import NewType

from scopes import characters
from scopes.errors import Invalid
from scopes.lazy_patterns import compile_lazily

ConversationId = NewType("ConversationId", str)
BranchName = NewType("BranchName", str)
MessageId = NewType("MessageId", str)
AgentName = NewType("AgentName", str)
OperationId = NewType("OperationId", str)
Oid = NewType("Oid", str)

ID_LENGTH = 26
MAX_NAME_BYTES = 200
_CONVERSATION = compile_lazily(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ID = compile_lazily(rf"[a-z2-7]{{{ID_LENGTH}}}")
_OID = compile_lazily(r"[0-9a-f]{40}")
_BAD_IN_REF = compile_lazily(r"[\x00-\x20\x7f-\xa0\xad~^:?*\[\\\"'<>|]")
_INVISIBLE = compile_lazily(f"[{characters.INVISIBLE}]")
_DEVICE = compile_lazily(r"(?:CON|PRN|AUX|NUL|COM[0-9]|LPT[0-9])(?:\..*)?", re.IGNORECASE)
_NOT_IN_SLUG = compile_lazily(r"[^a-z0-9._]+")


def parse_conversation_id(text: str) -> ConversationId:
    """Check a conversation id: letters, digits, `.`, `_` and `-`, for example `conv-001`.

    Raises:
        Invalid: the id breaks a rule.
    """
    problem = _component_problem(text)
    if problem is None and not _CONVERSATION.fullmatch(text):
        problem = "must begin with a letter or digit and contain only letters, digits, '.', '_' and '-'"
    if problem is not None:
        raise Invalid(f"{text!a} is not a valid conversation id: it {problem}", hint="for example: conv-001, login-bug")
    return ConversationId(text)


def parse_branch_name(text: str) -> BranchName:
    """Check a branch name, for example `main` or `analysis/security-review`.

    Raises:
        Invalid: git or a file system would refuse the name, or it could deceive a reader.
    """
    return BranchName(_parse_name(text, "branch name", "main, analysis/security-review"))


def parse_tag_name(text: str) -> str:
    """Check the name of a tag, for which the rules of branch names apply.

    Raises:
        Invalid: git or a file system would refuse the name, or it could deceive a reader.
    """
    return _parse_name(text, "tag name", "v1, before-refactoring")


def _parse_name(text: str, what: str, examples: str) -> str:
    problem = "is longer than 200 bytes" if len(text.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES else None
    for component in text.split("/"):
        problem = problem or _component_problem(component)
    if problem is not None:
        raise Invalid(f"{text!a} is not a valid {what}: it {problem}", hint=f"for example: {examples}")
    return text


def is_name(text: str) -> bool:
    """Return True if a text meets the rules of branch names, so that it can be looked up as a ref."""
    return all(_component_problem(component) is None for component in text.split("/"))


@lru_cache(maxsize=64)  # each append looks up its conversation
def _component_problem(text: str) -> str | None:
    """Return the rule that a component of a ref name breaks, as a predicate of "it"; None if it breaks none."""
    rules = (
        (not text, "is empty or has an empty part"),
        (text.startswith((".", "-")), "has a part that begins with '.' or '-'"),
        (text.endswith((".", ".lock")), "has a part that ends with '.' or '.lock'"),
        (".." in text or "@{" in text or text == "@", "contains '..' or '@{', or is '@'"),
        (_BAD_IN_REF.search(text) is not None, "contains a space, a control character or one of ~^:?*[\\\"'<>|"),
        (_INVISIBLE.search(text) is not None, "contains an invisible or direction-changing character"),
        (any("\ud800" <= c <= "\udfff" for c in text), "is not valid UTF-8"),
        (text.upper() in {"HEAD", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD"}, "is a name that git reserves"),
        (_DEVICE.fullmatch(text) is not None, "is a device name on Windows"),
        (len(text.encode("utf-8", "replace")) > MAX_NAME_BYTES, "is longer than 200 bytes"),
    )
    return next((problem for broken, problem in rules if broken), None)


def parse_agent_name(text: str) -> AgentName:
    """Check the name of a person or an agent: any text of up to 200 bytes that is not blank.

    Raises:
        Invalid: the name is blank, too long or not valid UTF-8.
    """
    if not text.strip():
        raise Invalid("an author needs a name", hint="for example: --as carol")
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise Invalid(f"the author name {text!a} is not valid UTF-8")
    if len(text.encode()) > MAX_NAME_BYTES:
        raise Invalid("an author name is at most 200 bytes long")
    return AgentName(text)


def is_message_id(text: str) -> bool:
    """Return True if the text is a complete message id: 26 lower-case base32 characters."""
    return _ID.fullmatch(text) is not None


def is_oid(text: str) -> bool:
    """Return True if the text is a complete object id: 40 lower-case hexadecimal digits."""
    return _OID.fullmatch(text) is not None


def free_name(name: str, taken: Container[str]) -> str:
    """Return the name, with `-2`, `-3` ... appended if it is taken."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free


def slug(name: str) -> str:
    """Reduce a name to `[a-z0-9._-]`, for mail addresses and default branch names; the result is never empty."""
    return _NOT_IN_SLUG.sub("-", name.lower()).strip("-._") or "agent"
