"""Results about collaborations, one of each kind, for the tests of the renderers."""

from __future__ import annotations

from dataclasses import replace

from scopes.collaboration.collaboration import (
    Collaboration,
    CollaborationChanged,
    CollaborationList,
    CollaborationReport,
    CollaborationStarted,
    Participant,
    StatedDecision,
    find_debates,
)
from scopes.merge.conflicts import ConflictRow
from scopes.model.conflicts import Conflict, Resolution
from scopes.model.message import Argument, Evidence, Position
from scopes.result import Note

_CONVERSATION, _BRANCH, _OPERATION = "conv-001", "collaboration/consensus", "opkx3q2mf5a7b2c4d6e2f3g4h5"
_MESSAGE = "k3x9q2mf5a7b2c4d6e2f3g4h5i"
_TIME, _LATER = "2025-12-01T08:00:00.000Z", "2025-12-01T09:00:00.000Z"
_OPEN = Collaboration(
    conversation=_CONVERSATION, branch=_BRANCH, type="consensus", task="Choose the session store", urgency="high",
    requester="lead", opened=_TIME, closed=None, outcome=None,
    participants=(
        Participant("lead", _TIME, 1), Participant("ann", _LATER, 2), Participant("bob", None, 0, is_unread=True),
        Participant("eve", _LATER, 1, is_asked=False),
    ),
    messages=3, open_conflicts=1,
)  # fmt: skip
_CLOSED = replace(
    _OPEN, branch="collaboration/handoff", type="handoff", closed=_LATER, outcome="done", open_conflicts=0
)
_MERGED = replace(_OPEN, branch="collaboration/verification", type="verification", merged_into="main", open_conflicts=0)
_JWT = Argument(
    about="the task", position="JWT", reasoning=("no state on the server",),
    evidence=(Evidence(type="best-practice", description="RFC 7519", source="rfc-editor.org", weight=0.5),), trade_offs=("cannot be revoked",),
    alternatives=("PASETO",), confidence=0.8,
)  # fmt: skip
_SESSIONS = Argument(about="the task", position="Sessions", alternatives=("jwt", "paseto"))
_CONFLICT = Conflict(
    id="836abaf73db6", type="decision-disagreement", key="decisions/auth", base=(), source=(), target=(),
    status="resolved", resolution=Resolution("intervention", "value", "we revoke", "carol", value="JWT, and a list of the revoked"),
)  # fmt: skip
_ROW = ConflictRow(
    number=1, conversation=_CONVERSATION, branch="conflict-resolution/x", source=_BRANCH, target="main", since=_TIME,
    conflict=_CONFLICT,
)  # fmt: skip
_POSITIONS = (
    Position(author="ann", time=_TIME, message=_MESSAGE, argument=_JWT),
    Position(author="bob", time=_LATER, message=_MESSAGE, argument=_SESSIONS),
)
_ABOUT_CONFLICT = Position(author="bob", time=_LATER, message=_MESSAGE, argument=replace(_SESSIONS, about=_CONFLICT.id))
_OTHER_ABOUT_CONFLICT = replace(
    _ABOUT_CONFLICT, author="eve", argument=replace(_JWT, about=_CONFLICT.id, reasoning=(), alternatives=())
)
_REPORT = CollaborationReport(
    collaboration=_OPEN, positions=(*_POSITIONS, _ABOUT_CONFLICT, _OTHER_ABOUT_CONFLICT),
    debates=find_debates((*_POSITIONS, _ABOUT_CONFLICT, _OTHER_ABOUT_CONFLICT)),
    decisions=(
        StatedDecision("queue", "Redis", "bob", _MESSAGE),
        StatedDecision("auth", "jwt", "ann", _MESSAGE, decided="JWT, and a list of the revoked", decided_by="carol"),
    ),
    conflicts=(_ROW, replace(_ROW, conflict=replace(_CONFLICT, id="0", status="open", resolution=None))),
)  # fmt: skip
_AGREED = (replace(_POSITIONS[0]), replace(_POSITIONS[1], argument=replace(_SESSIONS, position="jwt")))
_JOINED = CollaborationChanged(
    conversation=_CONVERSATION, branch=_BRANCH, change="joined", author="ann", message=_MESSAGE, operation=_OPERATION
)

COLLABORATIONS = {
    "started": CollaborationStarted(
        conversation=_CONVERSATION, branch=_BRANCH, type="consensus", task="Choose the session store", message=_MESSAGE,
        delivered_to=("ann",), queued_for=("bob",), operation=_OPERATION,
    ),
    "list": CollaborationList(collaborations=(_OPEN, _MERGED, _CLOSED)),
    "crowded-list": CollaborationList(
        collaborations=tuple(
            replace(each, conversation=f"conv-{number:03}", task=task)
            for number, (each, task) in enumerate(
                zip((_OPEN, _MERGED, _OPEN), ("セッションストアを選ぶ " * 8, "x" * 200, "Is it safe?"), strict=True), 998
            )
        )
    ),
    "empty-list": CollaborationList(collaborations=()),
    "report": _REPORT,
    "closed-report": CollaborationReport(
        collaboration=_CLOSED, positions=_AGREED, debates=find_debates(_AGREED), decisions=(), conflicts=()
    ),
    "one-position": replace(_REPORT, positions=_POSITIONS[:1],
        debates=find_debates(_POSITIONS[:1]), conflicts=(),
    ),
    "joined": _JOINED,
    "joined-before": replace(_JOINED, operation=None, notes=(Note("ann has joined conv-001/collaboration/consensus already"),)),
    "argued": replace(_JOINED, change="argued", about="the task"),
    "closed": replace(
        _JOINED, change="closed", outcome="done",
        report=CollaborationReport(
            collaboration=_CLOSED, positions=_AGREED, debates=find_debates(_AGREED),
            decisions=(), conflicts=(),
        ),
    ),
}  # fmt: skip
