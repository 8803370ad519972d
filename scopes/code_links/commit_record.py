"""CommitRecord: what was seen when a commit of a project was made, as it is stored; not what was concluded later."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Literal, TypeAlias

from scopes.code_links.link import CommitId
from scopes.errors import Corrupt
from scopes.history.sources import source_key
from scopes.ids import MessageId
from scopes.model import canonical_json

RecordedBy: TypeAlias = Literal["hook", "turn"]
_RECORDED_BY = ("hook", "turn")
MAX_TEXT: Final = 200  # characters of a subject or an action
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_IDENTITY = re.compile(r"[0-9a-f]{32}")
_TEXTS = ("tool", "session", "call_id", "conversation", "message", "action", "subject", "identity", "root", "at")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRecord:
    """That a session made a commit.

    Attributes:
        commit: The commit in the project's repository.
        recorded_by: A hook of git, which knows the session from its environment; or the end of a turn in whose time
            HEAD of the project moved to the commit, which somebody else may have made in the same worktree.
        at: When it was made, RFC 3339.
        tool: The format name of the agent, such as `codex`; None if the conversation is known.
        session: The agent's own id of its session; None if the environment has none.
        call_id: The tool call that ran git.
        conversation: The uuid of the conversation, if it was known.
        message: The last message of the turn, if it was known.
        action: What git called it in its reflog, such as `commit (amend): fix`.
        subject: The first line of the commit's text.
        identity: See `commit_identity`.
        root: The top directory of the worktree.
        is_shared: The environment named several agents; it may have been another one of them.
    """

    commit: CommitId
    recorded_by: RecordedBy
    at: str
    tool: str | None = None
    session: str | None = None
    call_id: str | None = None
    conversation: str | None = None
    message: MessageId | None = None
    action: str = ""
    subject: str = ""
    identity: str | None = None
    root: str = ""
    is_shared: bool = False

    @property
    def session_key(self) -> str | None:
        """What the session is found by: the uuid of its conversation, or the key of its imported source."""
        if self.conversation is not None:
            return self.conversation
        if self.tool is None or self.session is None:
            return None
        return source_key(self.tool, self.session, None)

    @property
    def is_new_commit(self) -> bool:
        """True unless git says that it rewrote another commit: amended, picked or rebased it."""
        return is_new_commit(self.action)


def is_new_commit(action: str) -> bool:
    """Return True if an action of a reflog is a commit that was not there before in another form."""
    return re.match(r"commit(?: \((?:initial|merge)\))?:", action) is not None


def is_amended(action: str) -> bool:
    """Return True if an action of a reflog amended the commit that HEAD was."""
    return action.startswith("commit (amend):")


def is_rewritten_head(action: str) -> bool:
    """Return True if an action of a reflog replaced the commit that HEAD was: amended it, or joined another one."""
    return is_amended(action) or re.match(r"rebase(?: -i)? \((?:reword|squash|fixup)\)", action) is not None


def makes_commit(action: str) -> bool:
    """Return True if an action of a reflog makes a commit in this repository, a new or a rewritten one."""
    pattern = (
        r"commit(?: \([a-z-]+\))?:|cherry-pick:|revert:|am:|(?:merge|pull)\b.*: Merge made"
        r"|rebase(?: -i)? \((?:pick|reword|edit|squash|fixup|continue|merge)\)"
    )
    return re.match(pattern, action) is not None


def commit_identity(author: bytes, subject: bytes) -> str:
    """Return what stays the same when a commit is rebased or picked: author with time, and the first line of its text.

    `author` is the line of the commit object: name, mail address, time and zone.
    """
    return sha256(author + b"\0" + subject).hexdigest()[:32]


def is_commit_id(text: str) -> bool:
    """Return True if a text is the whole id of a commit."""
    return _COMMIT.fullmatch(text) is not None


def is_identity(text: str) -> bool:
    """Return True if a text can be an identity of a commit."""
    return _IDENTITY.fullmatch(text) is not None


def encode_record(record: CommitRecord) -> bytes:
    """Encode a record as one line of canonical JSON."""
    texts = {name: value for name in _TEXTS if (value := getattr(record, name))}
    shared = {"is_shared": True} if record.is_shared else {}
    return canonical_json.dump({"v": 1, "commit": record.commit, "recorded_by": record.recorded_by, **texts, **shared})


def decode_record(data: bytes) -> CommitRecord:
    """Decode a record; fields of another type are left out.

    Raises:
        Corrupt: it is none.
    """
    document: Any = canonical_json.load(data)
    known = document if isinstance(document, dict) else {}
    commit, by, at = known.get("commit"), known.get("recorded_by"), known.get("at")
    if not isinstance(commit, str) or not is_commit_id(commit) or by not in _RECORDED_BY or not isinstance(at, str):
        raise Corrupt("the record of a commit is damaged", hint="see: scopes verify")
    texts: dict[str, Any] = {name: value for name in _TEXTS if isinstance(value := known.get(name), str)}
    shared = known.get("is_shared") is True
    return CommitRecord(commit=CommitId(commit), recorded_by=by, is_shared=shared, **texts)
