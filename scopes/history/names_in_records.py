"""Names of fields whose values are no content: words of the format, ids, and names that others give, too."""

from __future__ import annotations

import re
from typing import Final

NO_TEXTS: Final = frozenset({"call_id", "name", "media_type", "op"})
NO_CONTENT: Final = frozenset(
    {
        "cwd",
        "entrypoint",
        "gitBranch",
        "git_branch",
        "kind",
        "level",
        "model",
        "op",
        "operation",
        "originator",
        "role",
        "status",
        "subtype",
        "type",
        "userType",
        "version",
    }
)  # fmt: skip  - of records of agents: what they have is a word of the format, or true of the whole session

_IDS: Final = frozenset(
    {
        "agentId",
        "call_id",
        "leafUuid",
        "messageId",
        "parentToolUseID",
        "parentUuid",
        "parent_id",
        "requestId",
        "sessionId",
        "session_id",
        "toolUseID",
        "tool_use_id",
        "turn_id",
        "uuid",
    }
)  # fmt: skip  - of the same records: what they are, and belong to
_ADDRESS: Final = r"(?:https?://|ssh://)?(?:git@)?[^\"\\\s@?]*"  # of a repository, without a password
_NAMED: Final = re.compile(
    rb'"(?:cwd": ?"(?:[^"\\]|\\.)*|repository_url": ?"%b(?=")|(?:%b)": ?"[^"\\\s]*)"'
    % (_ADDRESS.encode(), b"|".join(each.encode() for each in NO_CONTENT | _IDS))
)

_BRANCH: Final = re.compile(rb'"git_branch":"[^"\\\s]*"')
PAYLOAD_NAMES: Final = frozenset(
    {
        "affected_entities",
        "aspect",
        "category",
        "dependencies",
        "entity_id",
        "entity_type",
        "expires_at",
        "field_path",
        "key",
        "kind",
        "operation",
        "request_type",
        "required_approvals",
        "risk_level",
        "status",
        "subject",
        "topic",
        "type",
        "urgency",
    }
)  # of documents of messages: names, which others give to other things, too, and words of the format
DOCUMENT_NAMES: Final = PAYLOAD_NAMES | {
    "actor",
    "agent",
    "author",
    "because",
    "branch",
    "by",
    "capabilities",
    "conversation",
    "directory",
    "dirty",
    "from",
    "id",
    "invalidates",
    "keys",
    "method",
    "model",
    "name",
    "native_id",
    "outcome",
    "parent",
    "path",
    "purpose",
    "rule",
    "source",
    "state",
    "tags",
    "target",
    "topics",
    "unseen",
    "uuid",
    "validation",
}  # the same of memory entries, facts and other files of the store
TOPICS: Final = ("topic", "subject", "key")  # of documents of messages: what they are about
STATEMENTS: Final = frozenset({"content", "decisions", "summary", "text"})  # of memory entries and facts: what they say


def is_name(name: str, text: str) -> bool:
    """Return True for the directory or repository of a session, a word of the format, or an id, by the field's name."""
    if name == "repository_url":
        return re.fullmatch(_ADDRESS, text) is not None
    return name == "cwd" or (name in NO_CONTENT | _IDS and not any(map(str.isspace, text)))


def without_branch(data: bytes) -> bytes:
    """Return a message without the git branch that it was written on."""
    return _BRANCH.sub(b"", data)


def without_names(data: bytes) -> bytes:
    """Return records of a transcript without directories of the session, words of the format and ids in them."""
    return _NAMED.sub(b"", data)
