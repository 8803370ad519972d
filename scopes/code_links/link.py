"""CodeLink: which message made a commit of a project, or wrote lines in it, and the evidence for that.

There are two links, and often they name different turns. `made`: a call in this turn ran `git commit`. `wrote`: edits
in these turns have the lines of the commit, or a command may have written its files. Evidence counts in the order of
EVIDENCE_KINDS: what was recorded when it happened before what was found afterwards. A trailer or a note is a claim of
another program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, NewType, TypeAlias

from scopes.ids import ConversationId, MessageId

CommitId = NewType("CommitId", str)
"""The object id of a commit in the project's repository, 40 or 64 hexadecimal digits; `Oid` is one of the store."""

RepositoryId = NewType("RepositoryId", str)
"""What a repository is recognized by on every machine: `root:` and the object id of its oldest root commit."""

EvidenceKind: TypeAlias = Literal["recorded", "call", "content", "command", "trailer", "note"]
EVIDENCE_KINDS: Final = ("recorded", "call", "content", "command", "trailer", "note")  # the first is the strongest
LinkRole: TypeAlias = Literal["made", "wrote"]
LinkLevel: TypeAlias = Literal["certain", "likely", "candidate"]
LINK_LEVELS: Final = ("certain", "likely", "candidate")  # the first is the surest


class Evidence(NamedTuple):
    """One reason for a link.

    kind: `recorded` by scopes when the commit was made, a `call` that ran `git commit`, `content` (lines of edits in
        the commit), a `command` that may have written its files, a `trailer` in its text, a `note` of another program
    text: what was found, in a few words for people
    call_id: the tool call that it was found in
    share: for content, the part of the commit's lines that the conversation has, from 0 to 1
    """

    kind: EvidenceKind
    text: str = ""
    call_id: str | None = None
    share: float | None = None


class LinkedTurn(NamedTuple):
    """A turn of a link, by the number of its prompt, and its last message that is about the commit."""

    number: int
    message: MessageId


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeLink:
    """A commit of a project and the conversation that made or wrote it.

    Attributes:
        commit: The commit in the project's repository.
        repository: That repository; None if it is not known.
        conversation: The conversation; its id is that of this store.
        message: The message with the call or the edit; the last one, if there are several.
        turn: The number of the prompt that the message answers, counted on its branch from 1.
        turns: All turns that the link is about, in order, as far as they were looked for: the one that made the commit,
            or those that wrote its lines, which are those that `why` answers with.
        role: Whether the message made the commit or wrote lines of it.
        level: How sure the link is.
        evidence: The reasons, the strongest first.
        recorded_at: When the conversation was last seen making or amending the commit, RFC 3339; None if that is not
            recorded, or if it only rebased or picked it.
    """

    commit: CommitId
    conversation: ConversationId
    role: LinkRole
    level: LinkLevel
    repository: RepositoryId | None = None
    message: MessageId | None = None
    turn: int | None = None
    evidence: tuple[Evidence, ...] = ()
    turns: tuple[LinkedTurn, ...] = ()
    recorded_at: str | None = None
