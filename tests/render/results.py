"""Results made by hand, at least one of every class and noun, at a moment two minutes after the last message."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha1

from scopes.agents.agent import Agent
from scopes.agents.card import AgentCard
from scopes.agents.delivery import Delivered
from scopes.agents.inbox import Inbox
from scopes.agents.list import AgentList, AgentRow, AgentView
from scopes.agents.received import InboxEntry, ReceivedMessage
from scopes.agents.register import AgentChanged
from scopes.agents.send import Routed
from scopes.check.check import Checked, CheckedRun
from scopes.check.compare import Amount, RunComparison, RunSide, Use
from scopes.check.explain import ParameterRow, RuleExplained, RuleList, RuleRow
from scopes.check.findings import Event, Verdict
from scopes.check.findings import Finding as CheckFinding
from scopes.check.rule_tests import Case, RuleTests, Uncovered
from scopes.clock import format_seconds
from scopes.code_links.link import CommitId
from scopes.code_links.why_result import Why, WhyAnswer, WhyCommit, WhyLines
from scopes.context.budget import plan_budget
from scopes.context.count import EncodingRow, RanksFetched, TokenCount, TokenStatus
from scopes.context.decision_lines import ContextDecision
from scopes.context.history_block import HistoryBlock
from scopes.context.project_files import SkippedFile
from scopes.context.result import Context, ContextFile, ContextLane, ContextMessage, Explained
from scopes.conversation.append import MessageAmended, MessageAppended
from scopes.conversation.branch import (
    BranchAbandoned,
    BranchCreated,
    BranchList,
    BranchRewound,
    BranchSwitched,
    Tagged,
    TagList,
    TagRow,
)
from scopes.conversation.changes import BlameList, BlameRow, Change, ChangeLog
from scopes.conversation.conflicts import ConflictList, ConflictResolved, ConflictView, FileChanges
from scopes.conversation.decisions import DecisionList, DecisionRow, DecisionWithdrawn
from scopes.conversation.diff import (
    ChangedClaim,
    ChangedMessage,
    Difference,
    DiffSide,
    NumberedMessage,
    RangeDifference,
    RangePair,
    RangeSide,
    read_content,
)
from scopes.conversation.list import ConversationList
from scopes.conversation.log import Bisection, BisectPoint, BisectStep, CommitTurn, Log, LogEntry, TurnLink
from scopes.conversation.merge import (
    FastForwarded,
    MergeAborted,
    MergeConflicted,
    Merged,
    MergeRequestChanged,
    MergeRequestList,
    MergeRequestRow,
    MergeRequestView,
    UpToDate,
)
from scopes.conversation.new_rename_delete import (
    BranchDeleted,
    ConversationCreated,
    ConversationDeleted,
    DeletedList,
    DeletedRow,
    Renamed,
)
from scopes.conversation.rebase import ReplayAborted, ReplayConflicted, Replayed, ReplayUpToDate
from scopes.conversation.show import BranchRow, Continued, ConversationView, MessageView, OpenMerge
from scopes.conversation.stats import FileList, FileRow, Stats
from scopes.conversation.store import ConfigList, ConfigValue, GarbageCollected, StoreCreated
from scopes.conversation.undo import OperationList, OperationView, Undone
from scopes.conversation.verify import (
    Check,
    Diagnosis,
    Repaired,
    SignatureCheck,
    SignedCommit,
    UnsignedCommit,
    Verification,
)
from scopes.exporters.atomic_save import ExportSaved, SiteSaved
from scopes.handover.checkout import CheckedOut
from scopes.handover.resume import Resumption
from scopes.handover.skills import SkillChanged, SkillsStatus
from scopes.history.activity import Tokens
from scopes.history.handles import RedactedCopy
from scopes.history.messages import MessageHeader
from scopes.history.metadata import RemoteState
from scopes.history.names import Revision
from scopes.hosts.config_file import FileChange
from scopes.hosts.hook_target import HooksChanged, HookState
from scopes.hosts.install_state import InstallState
from scopes.hosts.mcp_servers import HostConfigured
from scopes.hosts.mcp_status import McpStatus
from scopes.importers.found_transcripts import FoundAgent, FoundTranscripts
from scopes.importers.import_sample import SampleImported
from scopes.importers.results import ConversationImported, Imported, SessionJoined, Skipped, SourceImported
from scopes.importers.verify_source import SourceVerification
from scopes.index.caches import ConversationRow
from scopes.index.full_text import IndexStatus
from scopes.live.hook_status import HooksStatus
from scopes.live.watch import SourceRecorded
from scopes.memory.actions import ActionDone, ActionList, ActionRow
from scopes.memory.add import MemoryAdded
from scopes.memory.context import write_context
from scopes.memory.decision_candidates import CandidateDismissed, CandidateList, DecisionAccepted, DecisionCandidate
from scopes.memory.entry import ActionItem, MemoryEntry, Sources
from scopes.memory.list import MemoryList, MemoryView
from scopes.memory.prune import MemoryPruned
from scopes.memory.search import MemoryHit, MemoryHits
from scopes.memory.stats import MemoryStats
from scopes.memory.summaries import SummaryList, SummaryRow
from scopes.memory.summarize import Summarized
from scopes.memory.update import MemoryUpdated
from scopes.merge.conflicts import SIDES, ConflictRow
from scopes.merge.files import FileComparison, FileSide, LineRange
from scopes.merge.lanes import LaneMark
from scopes.merge.replay import Rewrite
from scopes.model.conflicts import Conflict, EarlierResolution, Position, Resolution, Reused
from scopes.model.conversation import MergeRequest
from scopes.model.message import Argument, Author, Evidence, FileTouch, Message, Part, encode
from scopes.model.message import Position as StatedPosition
from scopes.model.operation import Operation, RefChange, Signature
from scopes.proposals.list import ProposalEvent, ProposalList, ProposalRow, ProposalView
from scopes.proposals.proposal import FieldChange, Proposal
from scopes.proposals.review import ProposalCreated, ProposalReviewed, ProposalTested, ValueChange
from scopes.render.view import ViewOptions
from scopes.result import Note
from scopes.search.run import Neighbor, Search, SearchCoverage, SearchHit, TitleHit
from scopes.search.text import Piece
from scopes.secrets.allow import SecretAllowed
from scopes.secrets.allowed import AllowedSecret
from scopes.secrets.list import SecretExplained, SecretGroup, SecretList, SecretRule, SecretRules
from scopes.secrets.scan import SecretRow, SecretsScanned
from scopes.server.acp.acp_events import AcpLog, AcpStats, AgentSessions, LoggedEvent
from scopes.server.mcp.address import McpServer
from scopes.store.config import Setting
from scopes.store.verify import Finding, Repair
from scopes.tokens.count import RankFileRow
from scopes.usage.usage import PriceSource, Spent, Usage, UsageRow, UsageStatus
from tests.render.collaboration_results import COLLABORATIONS
from tests.render.commit_results import COMMIT_SAMPLES, NOTED
from tests.render.fact_results import FACTS
from tests.render.purge_results import OFFER_SAMPLES, PURGE_SAMPLES, REDACT_SAMPLES
from tests.render.remote_results import REMOTE_SAMPLES
from tests.render.session import SESSION
from tests.render.with_options import WithOptions

NOW_SECONDS = 1_767_225_600  # 2026-01-01T00:00:00Z
UUID = "0b0f4ae5-7d56-4b43-9b5c-3c1f6f1d2a10"
CREATED = "2025-12-31T22:58:00.000Z"
CHANGED = "2025-12-31T22:58:00Z"
CONVERSATION = "conv-001"
SECURITY, RESOLUTION = "analysis/security-review", "analysis/conflict-resolution"


def oid(word):
    """The commit id that belongs to a word."""
    return sha1(word.encode()).hexdigest()


def message_id(word):
    """The message id that belongs to a word: the word itself, filled up."""
    return (word + "2" * 26)[:26]


def head(word, author, subject, *, minutes=2, parents=("root",), kind="plain", author_kind="agent", to=()):
    """A message as its commit shows it, some minutes old."""
    return MessageHeader(
        id=message_id(word),
        oid=oid(word),
        parents=tuple(map(oid, parents)),
        author=author,
        author_kind=author_kind,
        kind=kind,
        time=NOW_SECONDS - 60 * minutes,
        subject=subject,
        to=to,
    )


def body(of, *parts, **fields):
    """The message behind a head."""
    shown = parts or (Part("text", {"text": of.subject}),)
    author = Author(of.author, of.author_kind)
    fields.setdefault("time", format_seconds(of.time))
    return Message(id=of.id, author=author, parts=shown, kind=of.kind, to=of.to, **fields)


def branch(name, messages, total, **fields):
    """A branch as `show` tells it."""
    known = {
        "tip": oid(name), "fork": oid("root"), "purpose": None, "agent": None, "parent": None, "status": "active",
        "active": False, "created_at": CREATED, "last_activity": format_seconds(NOW_SECONDS - 120),
    }  # fmt: skip
    return BranchRow(name=name, messages=messages, total=total, **(known | fields))


COVERAGE = head("cover", "test-runner", "Test coverage recommendations ready")
SECURE = head("secure", "code-analyzer", "Security analysis complete", kind="analysis")
CONFLICT = head(
    "strife", "scopes", "Conflict detected, creating resolution branch", minutes=1, author_kind="system", kind="notice"
)
PROMPT = head("prompt", "carol", "Why does the login fail on Safari?", minutes=90, author_kind="human", kind="prompt")
CALL = head(
    "callit",
    "planner",
    "I will look at the form first.",
    minutes=89,
    kind="answer",
    parents=("prompt",),
    to=("carol", "reviewer"),
)
SUMMARY = head("sumsum", "scopes", "The form sets a cookie.", minutes=30, author_kind="system", kind="summary")
DECIDED = head("decide", "lead", "(no text)", minutes=80, parents=("callit", "secure"), kind="decision")
LONG = head("length", "writer", "line 1", minutes=70, parents=("decide",))

BRANCHES = (
    branch("main", 3, 3),
    branch(SECURITY, 5, 8, purpose="analysis", agent="code-analyzer", parent="main", status="merged"),
    branch(RESOLUTION, 2, 5, purpose="conflict-resolution", agent="general-purpose", parent="main", active=True),
)
SUMMARIES = (
    ConversationRow(
        id=CONVERSATION, participants=("code-analyzer", "test-runner"), branches=3, messages=10, uuid=UUID,
        last_activity=format_seconds(NOW_SECONDS - 120), active_branch=RESOLUTION, created_at=CREATED,
        title="Login fails on Safari", source="claude-code", directory="/work/shop/src", agent="test-runner",
        model="some-model-1", tags=("good", "v1"),
    ),
    ConversationRow(
        id="conv-002", participants=("general-purpose",), branches=1, last_activity=format_seconds(NOW_SECONDS - 300),
        opening="How much is 日本 tea?", directory="/home/carol", recorded_at=format_seconds(NOW_SECONDS - 240),
    ),
    ConversationRow(id="login-bug", participants=(), branches=1, last_activity="2025-10-01T12:00:00Z"),
)  # fmt: skip
SIGNED = Signature("good", "carol@example.com", "SHA256:q1")
VIEW = ConversationView(
    id=CONVERSATION, uuid=UUID, title=None, participants=("code-analyzer", "test-runner"), active_branch=RESOLUTION,
    messages=10, created_at=CREATED, last_activity=format_seconds(NOW_SECONDS - 60), source=None, branches=BRANCHES,
    recent=tuple(LogEntry(head=each) for each in (SECURE, COVERAGE, CONFLICT)),
    branch_count=3,
)  # fmt: skip
EMPTY_VIEW = ConversationView(
    id="conv-002", uuid=UUID, title="Nothing said yet", participants=(), active_branch="main", messages=0,
    created_at="2026-01-01T00:30:00+02:00", last_activity=CREATED, source="codex", branches=(branch("main", 0, 0, active=True),),
    recent=(), branch_count=1,
)  # fmt: skip

CALL_BODY = body(
    CALL,
    Part("reasoning", {"text": "Safari blocks third-party cookies.\nLook at the form."}),
    Part("text", {"text": "I will look at the **form** first:\n\n- the cookie\n- the redirect"}),
    Part("tool_call", {"call_id": "c1", "name": "Bash", "input": {"command": "grep -rn cookie src", "timeout": 10}}),
    Part(
        "tool_result",
        {"call_id": "c1", "output": [{"type": "text", "text": "src/login.py:3: cookie\nsrc/login.py:9: cookie"}]},
    ),
    Part("tool_result", {"call_id": "c2", "output_text": "no such file", "is_error": True, "exit_code": 2}),
    Part("file_ref", {"path": "src/login.py", "op": "edit", "patch": "-SameSite=None\n+SameSite=Lax"}),
    Part("image", {"media_type": "image/png", "path": "shot.png"}),
    Part("hologram", {"depth": 3}),
    files=(FileTouch("src/login.py", "edit", "sha256:abcd"), FileTouch("new.py", "rename", source="old.py")),
    time="2025-12-31T23:31:00.250+01:00",
    reply_to=PROMPT.id,
    model="some-model-1",
    work_item="W-7",
    extra={"mood": "calm"},
)
DECIDED_BODY = body(
    DECIDED, Part("text", {"text": ""}), payload={"topic": "cookies", "decision": "SameSite=Lax", "weight": [1, 2]}
)
LONG_BODY = body(LONG, Part("text", {"text": "\n".join(f"line {n}" + " and so on" * (n % 9) for n in range(1, 30))}))
SHOWN = {of.oid for of in (LONG, DECIDED, SECURE, CALL, PROMPT)}


def logged(of, message, *branches):
    """An entry of the log below; the parent of its first message is a root that is not shown."""
    return LogEntry(head=of, message=message, branches=branches, parents=tuple(p for p in of.parents if p in SHOWN))


LANE = LaneMark(
    "fix", "main", LONG.id, PROMPT.id, 7, 2, ("planner",),
    ("main since the fork point: 1 message", "fix: 2 messages; changed src/login.py; tests passed (pytest -q)"),
)  # fmt: skip
ENTRIES = (
    logged(LONG, LONG_BODY, "main", "fix"),
    logged(DECIDED, DECIDED_BODY),
    logged(SECURE, None, SECURITY),
    logged(CALL, CALL_BODY),
    logged(PROMPT, body(PROMPT)),
)
WRITTEN_LATER = replace(ENTRIES[0], head=LONG._replace(recorded=LONG.time + 30))
MERGED_ENTRIES = (WRITTEN_LATER, *(replace(entry, lanes=(LANE,)) for entry in ENTRIES[2:4]), ENTRIES[4])

OPERATION = message_id("operate")
IMPORTED = Imported(
    sources=(
        SourceImported(
            path="/home/carol/.claude/projects/shop/s1.jsonl", format="claude-code", records=40, messages=24, unparsed=1,
            new=True, size=90_100, message_bytes=80_000, state_bytes=10_000, unparsed_bytes=100,
            problems=("byte 90000: not valid JSON",),
        ),
        SourceImported(
            path="run.jsonl", format="codex", records=3, messages=2, unparsed=0, new=False, size=900, message_bytes=700,
            state_bytes=200, unparsed_bytes=0,
        ),
    ),
    conversations=(
        ConversationImported(
            id=CONVERSATION, uuid=UUID, title="Login fails", messages=24, new_messages=20, branches=2
        ),
        ConversationImported(id="conv-002", uuid=UUID, title=None, messages=2, new_messages=0, branches=1),
    ),
    skipped=(Skipped(path="notes.json", reason="unknown format"),),
    operation=OPERATION,
    notes=(Note("session s9 was deleted here and stays deleted", "restore it with --again"),),
    joined=(
        SessionJoined(
            session="s2", conversation=CONVERSATION, branch="fork/s2", message=message_id("join"), equal_messages=12
        ),
    ),
    details=("conv-001/main was moved here", "conv-002/main was moved here"),
)  # fmt: skip

CREATE = Operation(
    id=message_id("create"), kind="branch", summary=f"create {CONVERSATION}/{SECURITY}", actor="carol", time=CREATED,
    command="scopes branch conv-001 --purpose analysis --agent 'code analyzer'",
    changes=(
        RefChange(f"refs/heads/{CONVERSATION}/{SECURITY}", None, oid("root")),
        RefChange(f"refs/scopes/meta/{CONVERSATION}", oid("meta"), oid("meta2")),
        RefChange(f"refs/scopes/active/{CONVERSATION}", f"ref: refs/heads/{CONVERSATION}/main", f"ref: refs/heads/{CONVERSATION}/{SECURITY}"),
    ),
)  # fmt: skip
UNDO = Operation(
    id=message_id("takeback"), kind="undo", summary=f"undo {CREATE.summary}", actor="carol", time="2025-12-31T23:59:00.000Z",
    command="scopes undo", changes=(), undoes=CREATE.id, details={"why": "a test"},
)  # fmt: skip
APPENDED = Operation(
    id=CALL.id, kind="append", actor="carol", time="2025-12-31T23:59:00.000Z", command="",
    summary="append to conv-001/main by carol: 'I will look at the form first.' (1 message)",
    changes=(RefChange("refs/heads/conv-001/main", oid("prompt"), oid("callit")),),
    details={"conversation": "conv-001", "branch": "main", "messages": [CALL.id], "after": "1234567890abcdef"},
)  # fmt: skip


def change(path, verb, before, after, cause="agent:planner", source="callit"):
    """A change of the conversation."""
    return Change(
        time="2025-12-31T23:31:00.250Z", field_path=path, operation=verb, before=before, after=after, cause=cause,
        source=message_id(source),
    )  # fmt: skip


SESSION_COMMIT = WhyCommit(
    CommitId("a9c4475" + "0" * 33), "Extract the session check", "alice", "2026-02-06T09:30:00Z", "src/session.py", 141
)
YES = WhyAnswer(
    conversation=CONVERSATION,
    message=CALL.id,
    turn=5,
    prompt="yep, let's refactor. do we have tests to move too?",
    agreed_to="… I would move the session check into session.py, with its tests. Shall I?",
    longer_prompt=None,
    how="line + 6/6 neighbours, Edit",
    share=1.0,
    call_id="toolu_01A2b3C4d5E6f7",
    seconds_before=480.0,
    made=True,
    branch="main",
)
EARLIER = YES._replace(
    branch="fork/51f2", turn=2, prompt="go on", longer_prompt="Why does the login fail on Safari?", made=False
)
FORMATTED = YES._replace(
    turn=3, how="by a command in this turn", call_id="toolu_07", seconds_before=None, command="ruff format src"
)
WEAK = YES._replace(
    branch=None, conversation="conv-020", turn=1, how="2/5 neighbours, Edit", share=0.4, agreed_to=None, made=False
)


def why_lines(line, level, *answers, last=None, commit=SESSION_COMMIT, **fields):
    return WhyLines(
        file="src/session.py", line=line, last_line=last or line, commit=commit, level=level, answers=answers, **fields
    )


WHY = (
    why_lines(147, "certain", YES, last=152, also=(2, 4), candidates=(WEAK,)),
    why_lines(153, "other-session", EARLIER),
    why_lines(154, "commit-only", FORMATTED),
    why_lines(155, "commit-only", FORMATTED._replace(command=None, how="no edit has the line", share=0.25, made=False)),
    why_lines(156, "near", YES._replace(how="5/6 neighbours, Edit", share=0.833)),
    why_lines(
        157, "likely", YES._replace(turn=0, prompt=None, agreed_to=None, seconds_before=10.0, made=False), commit=None
    ),
    why_lines(158, "none", last=170),
    why_lines(171, "unsure", WEAK, WEAK._replace(conversation="conv-012", turn=3)),
)
CHANGES = (
    change("participants", "APPEND", None, "planner"),
    change(
        "messages",
        "APPEND",
        None,
        {"id": CALL.id, "kind": "answer", "from": "planner", "to": [], "subject": CALL.subject},
    ),
    change(f"messages[{PROMPT.id}]", "DELETE", {"id": PROMPT.id}, None, cause="user:carol"),
    change(
        f"branches.{SECURITY}",
        "CREATE",
        None,
        {"tip": oid("root"), "purpose": "analysis"},
        cause="system",
        source="create",
    ),
)

_MAIN, _FIX = (DiffSide(name=name, revision=Revision(CONVERSATION, name, oid(name))) for name in ("main", "fix"))
DIFFERENCE = Difference(
    left=_MAIN,
    right=_FIX,
    only_left=(PROMPT,),
    only_right=(SECURE, LONG),
    changed=(ChangedMessage(head=CALL, left=body(PROMPT), right=CALL_BODY),),
    claims=(
        ChangedClaim(key="analyses/login/risk", agent="planner", left=None, right="high", in_left=False, in_right=True),
        ChangedClaim(
            key="decisions/data%2Fbase", agent=None, left="one table for all", right="one table each",
            in_left=True, in_right=True,
        ),
        ChangedClaim(
            key="files/src/app.py", agent=None, left={"operation": "edit", "unknown": PROMPT.id},
            right={"both": [{"content": "sha256:0123456789abcdef", "operation": "edit"}, {"operation": "delete"}]},
            in_left=True, in_right=True,
        ),
        ChangedClaim(
            key="decisions/cookies", agent=None, left="Lax", right="Strict",
            in_left=True, in_right=True,
        ),
    ),
)  # fmt: skip


def numbered(number, of):
    """Return a message of a range."""
    return NumberedMessage(number, of, of.subject, body(of), read_content(body(of)))


RANGES = RangeDifference(
    old=RangeSide("main..fix@{1}", CONVERSATION, oid("old"), 3),
    new=RangeSide("main..fix", CONVERSATION, oid("fix"), 3),
    pairs=(
        RangePair(equal=True, old=numbered(1, PROMPT), new=numbered(1, PROMPT), similarity=1.0),
        RangePair(old=numbered(2, SECURE)),
        RangePair(
            old=numbered(3, CALL), new=numbered(2, CALL), similarity=0.75,
            lines=("@@ -1,2 +1,2 @@", " same", "-old [bold]line", "+new line"),
        ),
        RangePair(new=numbered(3, LONG)),
    ),
)  # fmt: skip

_START, _PROMPT, _CALL, _LONG = (
    BisectPoint(CONVERSATION, oid("root") if head is None else head.oid, head) for head in (None, PROMPT, CALL, LONG)
)
BISECTION = Bisection(
    conversation=CONVERSATION, good=_START, bad=_LONG, first_bad=CALL, candidates=(), skipped=(),
    steps=(
        BisectStep(_START, "good", 0, "good"), BisectStep(_LONG, "bad", 1, "bad"), BisectStep(_PROMPT, "good", 0),
        BisectStep(_CALL, "bad", 1),
    ),
)  # fmt: skip

STATS = Stats(
    conversation=CONVERSATION, conversations=None, branches=3, messages=1200, characters=45_678, files=12, files_changed=0, tool_calls=1,
    authors={"carol": 1000, "planner": 200}, kinds={"prompt": 1200}, models={}, tools={"Bash": 1}, tool_errors={}, tool_refusals={}, tokens_by_model={},
    first="2025-12-31T22:30:00Z", last="2026-01-01T00:00:00Z", duration_seconds=5400, active_seconds=None,
)  # fmt: skip

EXPENSIVE = UsageRow(
    "2026-01-05", None, None, None, None, 225, 13_818, 24_013_662, 1_618_146, 20_000, 70_618, 0, 24_300_123, 0
)
CHEAP = UsageRow("2025-12-30", None, None, None, None, 3, 900, 0, 0, 0, 70, 12, 4_321, 0)
UNPRICED = UsageRow("2025-12-31", None, None, None, None, 1, 1_300, 0, 0, 0, 9, 0, None, 1)
ALL_USAGE = UsageRow(
    None, None, None, None, None, 229, 16_018, 24_013_662, 1_618_146, 20_000, 70_697, 12, 24_304_444, 1
)
USAGE = Usage(
    by=("day",), rows=(CHEAP, UNPRICED, EXPENSIVE), total=ALL_USAGE, days=(CHEAP, UNPRICED, EXPENSIVE), conversations=2,
    prices=PriceSource("USD", "2026-01-01", "a price list", None),
)  # fmt: skip
USAGE_BY_TWO = replace(
    USAGE, by=("month", "model"),
    rows=(
        CHEAP._replace(period="2025-12", model="gpt-5.4"), UNPRICED._replace(period="2025-12", model=None),
        EXPENSIVE._replace(period="2026-01", model="claude-opus-4-5-20251101"),
    ),
)  # fmt: skip
STATUS_LINE = UsageStatus(
    currency="USD", model="claude-opus-4-5-20251101", today=Spent(0, 0, None, 0), week=Spent(12, 34_567, 1_234_567, 1),
    month=Spent(225, 25_716_244, 24_304_444, 0),
)  # fmt: skip

WHOLE = SourceVerification(
    path="/home/carol/.codex/run.jsonl", format="codex", native_id="s1", part=None, size=90_100, stored_size=90_100,
    equal_bytes=90_100, message_bytes=80_000, state_bytes=10_000, unparsed_bytes=100, messages=24, away=0, findings=(),
)  # fmt: skip

DISAGREED = Conflict(
    id="da2d0db79666",
    type="decision-disagreement",
    key="decisions/auth%20flow",
    base=(),
    source=(Position("server-side sessions\nwith a short life", SECURE.id, "reviewer", 0.55),),
    target=(Position("JWT", CALL.id, "planner", 0.85),),
)
BEFORE = EarlierResolution(
    "3c1f00aa9911", "target", ("JWT",), "lead", "it needs no store", format_seconds(NOW_SECONDS - 86_400)
)
RESOLVED_BEFORE = replace(DISAGREED, earlier=(BEFORE,))
CONTRADICTED = replace(DISAGREED, earlier=(BEFORE, EarlierResolution("77aa00aa9911", None, (30, "JWT"), "carol", "")))
COMPETING = Conflict(
    id="b34443c322fd",
    type="competing-proposals",
    key="proposals/service/auth/timeout",
    status="escalated",
    base=(Position(10),),
    source=(Position(5, SECURE.id, "reviewer", 0.1), Position({"seconds": 7}, COVERAGE.id, "tester")),
    target=(Position(30, CALL.id, "planner", 0.6),),
)
EDITED = Conflict(
    id="0ffc49afc026",
    type="edit-edit",
    key=f"messages/{PROMPT.id}",
    status="debate",
    base=(Position(PROMPT.subject, PROMPT.id, "carol"),),
    source=(Position("Why does it fail? " * 12, SECURE.id, "reviewer"),),
    target=(Position({"retracted": True}, CALL.id, "planner"),),
)
AUTO_RESOLVED = Conflict(
    id="5e771ed00000",
    type="resource-contention",
    key="files/src/app.py",
    base=(),
    status="resolved",
    automatic_resolution="both",
    source=(Position({"operation": "edit", "content": "sha256:0123456789abcdef"}, SECURE.id, "reviewer"),),
    target=(Position({"operation": "delete"}, CALL.id, "planner"),),
    resolution=Resolution("automatic", "both", "", "scopes"),
)
_EDITED = FileSide(agents=("planner",), messages=(CALL.id,))
_ALSO_EDITED = FileSide(agents=("reviewer", "tester"), messages=(SECURE.id, COVERAGE.id))
_LINES = (LineRange((38, 41), (40, 52), (38, 39)), LineRange((60, 60), (71, 71), (58, 58)))
FILE_COMPARISONS = (
    FileComparison(
        key="files/docs/notes.md",
        path="docs/notes.md",
        outcome="unknown",
        target=_EDITED,
        note="content not recorded: Bash sed -i (source)",
        source=FileSide(agents=("reviewer",), messages=(SECURE.id,), unknown="content not recorded: Bash sed -i"),
    ),
    FileComparison(
        key="files/src/app.py", path="src/app.py", outcome="overlap", target=_EDITED, source=_ALSO_EDITED, ranges=_LINES
    ),
    FileComparison(
        key="files/src/gone.py",
        path="src/gone.py",
        outcome="overlap",
        target=_EDITED,
        source=replace(_ALSO_EDITED, deleted=True),
        note="the source deleted it",
    ),
    FileComparison(
        key="files/src/log.py", path="src/log.py", outcome="compatible", target=_EDITED, source=_ALSO_EDITED
    ),
)
FILE_CHANGES = FileChanges(
    comparison=FILE_COMPARISONS[1],
    target_patch="--- base/src/app.py\n+++ target/src/app.py\n@@ -38,2 +38,2 @@\n a\n-b\n+main\n",
    source_patch="--- base/src/app.py\n+++ source/src/app.py\n@@ -38,2 +38,2 @@\n a\n-b\n+alt\n" + "+more\n" * 70,
)
DECIDED_OTHERWISE = replace(
    DISAGREED,
    status="resolved",
    resolution=Resolution(
        "intervention", "value", "the audit is next week", "carol", ("JWT", "server-side sessions"), "ask the audit"
    ),
)
CONFLICT_ROWS = tuple(
    ConflictRow(
        number=number,
        conversation=CONVERSATION,
        branch=RESOLUTION,
        source=SECURITY,
        target="main",
        since=format_seconds(NOW_SECONDS - 7200),
        conflict=conflict,
        resolved=format_seconds(NOW_SECONDS - 3600) if conflict.status == "resolved" else None,
    )
    for number, conflict in enumerate((DISAGREED, COMPETING, EDITED, DECIDED_OTHERWISE), 1)
)
REUSED_ROW = replace(
    CONFLICT_ROWS[0],
    conflict=replace(
        DISAGREED,
        status="resolved",
        resolution=Resolution(
            "reused", "target", "it needs no store", "scopes", ("server-side sessions",),
            reused=Reused("3c1f00aa9911", "lead", "it needs no store"),
        ),
    ),
)  # fmt: skip
FILE_ROW = replace(CONFLICT_ROWS[3], conflict=AUTO_RESOLVED)
ENDED_ROW = replace(
    CONFLICT_ROWS[3],
    branch="main",
    source="",
    kind="branch",
    recorded_at=format_seconds(NOW_SECONDS - 7000),
    conflict=replace(
        DISAGREED,
        status="resolved",
        resolution=Resolution("manual", "source", "it is faster", "carol", ("JWT",)),
    ),
)
RECORDED_TEXTS = {
    CALL.id: "I decided for JWT, since it needs no session store. " * 4,
    SECURE.id: "Sessions can be revoked.",
}
MOVED = (Rewrite(CALL.id, CALL.oid, oid("callit, moved")), Rewrite(SECURE.id, SECURE.oid, oid("secure, moved")))
REBASE = {"kind": "rebase", "conversation": CONVERSATION, "moved_branch": SECURITY, "onto": "main"}
PICKED = {"kind": "cherry-pick", "conversation": CONVERSATION, "moved_branch": "main"}
STOPPED = {"branch": RESOLUTION, "tip": oid("strife"), "replayed": MOVED[:1], "stopped": SECURE.id, "remaining": 4}
KEPT = Note(
    "these branches keep the former messages: idea",
    f"rebase one of them: scopes rebase {CONVERSATION} --branch idea",
)
MERGE = {"conversation": CONVERSATION, "source": SECURITY, "target": "main"}
CONTEXT = Context(
    context_id="ctx-8ee16b966731191081b2d2c5", conversation=CONVERSATION, max_tokens=8000, tokens_used=7321, method="exact",
    formatted_history="# Context of conv-001/main\n\n### 7. User (carol), 2025-12-31T22:30:00Z\n\nWhy does the login fail?\n\n",
    mark="7" * 30,
    messages=(
        ContextMessage(
            PROMPT.id, PROMPT.oid, CONVERSATION, 7, "User", "carol", "2025-12-31T22:30:00Z", "Why does the login fail?", 24,
            truncated=False, relevance=None, lanes=(ContextLane(0, "fix", "## Parallel branch fix, 1 message\n\n", "## End of branch fix\n\n"),),
        ),
    ),
    files_text="### File src/login.py (last touched in message 6)\n\n```\nlogin()\n```\n\n",
    files_embedded=(ContextFile("src/login.py", 1200, 6),), files_skipped=(SkippedFile("logo.png", "binary"),),
    summary="They looked for the cause.", metadata={"mode": "history", "all": False, "utilisation": 0.9151}, filtered_count=2,
    average_relevance=None, conversations_included=1, conversations_excluded=2, turns_included=1, turns_excluded=6,
    left_out={"before_compaction": 0, "over_budget": 6},
    warnings=("Session history limited: 2 older sessions excluded due to token budget",),
    explained=(
        Explained("turn", "7", 0.8123, 24, kept=True, reason="fits", subject="Why does the login fail?", lane="fix"),
        Explained("turn", "1", None, None, kept=False, reason="older than what fits", subject="Hello"),
        Explained("file", "logo.png", None, None, kept=False, reason="binary"),
    ),
    notes=(Note("Session history limited: 2 older sessions excluded due to token budget"),),
)  # fmt: skip

DECIDED_CONTEXT = replace(
    CONTEXT,
    decisions=(
        ContextDecision("db", "SQLite", "planner", CONVERSATION, 6, "carol", "it is faster", kept=True),
        ContextDecision("session", "JWT", "planner", CONVERSATION, 2),
    ),
    decisions_text="## Decisions in effect\n\n- db: SQLite (message 6, by planner; resolved by carol: it is faster)\n\n",
    explained=(
        Explained("decision", "6", None, None, kept=True, reason="in effect", subject="db: SQLite"),
        Explained("decision", "2", None, None, kept=False, reason="in effect, but the share of decisions is used up"),
    ),
)

CANDIDATE = DecisionCandidate(
    id=f"{PROMPT.id}.1",
    text="We decided to set Secure on all cookies.",
    branch="main",
    why="states a decision",
    head=PROMPT,
)
REQUEST = MergeRequest(
    id=message_id("request"), number=2, source="fix", target="main", title="Safari keeps its session",
    message="All findings are fixed.\nTests passed.", requester="carol", source_tip=CALL.oid, opened="2025-12-31T22:40:00Z",
)  # fmt: skip
REQUEST_ROW = MergeRequestRow(conversation=CONVERSATION, request=REQUEST, state="open")
CLOSED_ROW = MergeRequestRow(
    conversation=CONVERSATION,
    request=replace(
        REQUEST, number=1, message="", state="closed", ended="2025-12-31T22:50:00Z", ended_by="dave", reason="done on main",
        merge=None,
    ),
    state="closed",
)  # fmt: skip

SUMMARIZED = Summarized(
    id=SUMMARY.id, oid=SUMMARY.oid, conversation=CONVERSATION, branch="main", messages=12, earlier=None, method="textrank",
    original_tokens=1234, summary_tokens=240, counted="exact",
    text="The form sets a cookie.\nWe will use SameSite=Lax.", compact=False, operation=OPERATION,
)  # fmt: skip

HOST = HostConfigured(
    host="claude-code",
    file="/home/carol/.claude.json",
    state="added",
    text='{\n  "mcpServers": {\n    "scopes": {\n      "command": "scopes"\n    }\n  }\n}',
    advice="start it again",
)
RESUMED = Resumption(
    conversation=CONVERSATION, branch="main", agent="claude-code", session="own",
    session_id="11111111-2222-4333-8444-555555555555", reason=None, directory="/home/carol/shop",
    command=("claude", "--resume", "11111111-2222-4333-8444-555555555555"),
    shell="cd /home/carol/shop && claude --resume 11111111-2222-4333-8444-555555555555",
)  # fmt: skip
CHECKED_OUT = CheckedOut(
    conversation=CONVERSATION, branch="main", agent="codex", new_branch="codex/1", state="written",
    session_id="11111111-2222-4333-8444-555555555555",
    file="/home/carol/.codex/sessions/2026/03/01/rollout-2026-03-01T10-00-00-11111111-2222-4333-8444-555555555555.jsonl",
    directory="/home/carol/shop", command=("codex", "resume", "11111111-2222-4333-8444-555555555555"),
    shell="cd /home/carol/shop && codex resume 11111111-2222-4333-8444-555555555555",
    messages=12, tokens=3456, total=12, left_out=0, before_compaction=0, operation=OPERATION,
)  # fmt: skip
SKILL = SkillChanged(
    agent="codex", file="/home/carol/.agents/skills/scopes/SKILL.md", state="added", text="---\nname: scopes\n---\n",
    advice="start it again",
)  # fmt: skip
HOOK_FILE = "/home/carol/.codex/hooks.json"
HOOKS = HooksChanged(
    target="codex", changes=(FileChange(HOOK_FILE, "added", '{\n  "hooks": {}\n}'),), advice="trust them: /hooks"
)
SERVER_STATES = (
    InstallState("claude-code", "installed", "/home/carol/.claude.json"),
    InstallState(
        "codex", "outdated", "/home/carol/.codex/config.toml",
        "it serves /home/carol/old.git, not the store of the agent's directory", "scopes setup codex --only mcp",
    ),
    InstallState("gemini", "missing", "/home/carol/.gemini/settings.json", "a server of another program has the name scopes"),
    InstallState("vscode", "unreadable", "/home/carol/shop/.vscode/mcp.json", "it is not plain JSON", in_project=True),
)  # fmt: skip
SKILL_STATES = (
    InstallState("agents", "missing", "/home/carol/.agents/skills/scopes/SKILL.md"),
    InstallState(
        "claude-code", "outdated", "/home/carol/.claude/skills/scopes/SKILL.md", "it is of another version of scopes",
        "scopes setup claude-code --only skill",
    ),
    InstallState(
        "claude-code", "installed", "/home/carol/shop/.claude/skills/scopes/SKILL.md",
        "it was edited after scopes had written it", in_project=True,
    ),
)  # fmt: skip
HOOK_STATES = (
    HookState("claude-code", "installed", "/home/carol/.claude/settings.json", last="2025-12-31T23:58:00.5Z"),
    HookState(
        "codex",
        "outdated",
        HOOK_FILE,
        "it records into /home/carol/old.git, not the store of the agent's directory",
        cure="scopes setup codex --only hooks",
        store="/home/carol/old.git",
    ),
    HookState(
        "gemini", "installed", "/home/carol/.gemini/settings.json", last="2025-12-31T22:00:00Z",
        problem="cannot write the store: No space left on device", cure="scopes import",
    ),
    HookState("opencode", "missing", "/home/carol/.config/opencode/plugins/scopes.js"),
    HookState("git", "installed", "/home/carol/shop/.git/hooks", trailers=True),
)  # fmt: skip
AGENT = Agent(
    number=1, name="reviewer", description="reads every change before it is merged", capabilities=("review", "security"),
    dependencies=("requirements",), metadata={"model": "gpt-5"}, registered=format_seconds(NOW_SECONDS - 86_400),
    updated=format_seconds(NOW_SECONDS - 3600),
)  # fmt: skip


def received(text):
    """Return a message of carol."""
    return Message(id=PROMPT.id, author=Author("carol", "human"), parts=(Part("text", {"text": text}),))


INBOX_ENTRY = InboxEntry(
    sequence=7, message=PROMPT.id, oid=PROMPT.oid, conversation=CONVERSATION, branch="main", sender="carol",
    sent=format_seconds(NOW_SECONDS - 60),
)  # fmt: skip
PROPOSAL = Proposal(
    id=PROMPT.id, oid=PROMPT.oid, agent="planner", time=format_seconds(NOW_SECONDS - 86_400), entity_type="task", entity_id="42",
    changes=(FieldChange("status", "update", "todo", "done"), FieldChange("labels", "append", ["ui"], "login")),
    details={
        "rationale": "all tests pass", "confidence": 0.85, "category": "bug-fix", "request_type": "review",
        "impact_assessment": {"risk_level": "low", "reversible": True, "affected_entities": ["task/43", "task/44"]},
        "context": "the release is on Friday", "alternative_options": ["wait a week"], "required_approvals": ["carol", "bob"],
        "expires_at": "2026-02-01T00:00:00Z",
    },
    approvals=("carol",),
)  # fmt: skip
SUPERSEDED_PROPOSAL = replace(PROPOSAL, state="superseded", superseded_by=CALL.id, details={}, approvals=())
NEW_STATUS = ValueChange("status", "todo", "todo", "done", False)
PROPOSED = ProposalEvent(PROMPT.id, None, "create", "pending", "planner", format_seconds(NOW_SECONDS - 86_400), {})
LONG_NAME, WIDE_NAME = "agent-generated-from-a-template-" + "0123456789" * 4, "設計レビュー担当エージェント"
TEAM = tuple(
    replace(
        AGENT, number=number, name={1: LONG_NAME, 2: WIDE_NAME}.get(number, f"worker-{number}"), available=number % 5 > 0,
        type="human" if number % 7 == 0 else "ai", capabilities=("review", "security", "performance-analysis")[: number % 4],
    )
    for number in range(1, 31)
)  # fmt: skip
SECRET = "3f2a91c05d7e4b68a1c2d3e4f5061728"
SECRET_RULE = SecretRule(
    "github-token", "ghp_, gho_ and what has to follow", "the checksum in classic tokens (CRC-32)", 1
)
SECRET_ROWS = (
    SecretRow(SECRET, "github-token", CONVERSATION, PROMPT.id, "parts[0].output.text", 12, allowed=False),
    SecretRow(SECRET[::-1], "jwt", CONVERSATION, None, "title", 1, allowed=True),
)
MANY_SECRETS = SECRET_ROWS[:1] * 12 + tuple(
    SECRET_ROWS[0]._replace(id=f"{number:02}" + SECRET[2:]) for number in range(22)
)
ALLOWED_SECRET = AllowedSecret(SECRET, "github-token", "carol", "2026-01-01T00:00:00Z", "revoked")

CROWDED_INBOX = Inbox(
    agent=TEAM[1],
    messages=tuple(
        ReceivedMessage(
            entry=replace(INBOX_ENTRY, sequence=number, sender=(LONG_NAME, WIDE_NAME)[number % 2]),
            message=received(("認証のリファクタリングについて、" if number % 3 == 0 else "look at the session store ") * (1 + number % 5)),
        )
        for number in range(1, 201)
    ),
)  # fmt: skip
CROWDED_PROPOSAL = replace(
    PROPOSAL, agent=WIDE_NAME, entity_id="ログイン画面",
    changes=(FieldChange("description", "create", None, "とても長い説明 " * 12), *PROPOSAL.changes),
    details={
        **PROPOSAL.details, "rationale": "All tests pass. " * 10, "required_approvals": [LONG_NAME, WIDE_NAME],
        "impact_assessment": {
            "risk_level": "high", "estimated_time": "2 hours", "affected_entities": [f"task/{LONG_NAME}", "task/43"],
            "reversible": False, "dependencies": ["the review"], "potential_side_effects": ["a new build of everything"],
        },
    },
)  # fmt: skip
TO_DO = ActionItem("memory22222222222222222222.1", "test it on Safari 17")
REMEMBERED = MemoryEntry(
    id=message_id("memory"), agent="planner", time=format_seconds(NOW_SECONDS - 3600), importance=6, conversation=CONVERSATION,
    uuid=UUID, branch="main", summary="The form sets a cookie.\nSafari blocks it.", topics=("cookie", "login"),
    decisions=("cookies: SameSite=Lax",), action_items=(TO_DO, TO_DO._replace(id=TO_DO.id[:-1] + "2", done=True)),
    sources=Sources((PROMPT.id, CALL.id), CALL.oid),
)  # fmt: skip
ADDED = MemoryEntry(
    id=message_id("added"), agent="carol", time="2025-12-01T08:00:00.000Z", summary="Reset every Monday."
)
MEMORY = {
    "updated": MemoryUpdated(entries=(REMEMBERED,), waiting=1, operation=OPERATION),
    "nothing-new": MemoryUpdated(entries=(), waiting=0, operation=None),
    "added": MemoryAdded(entry=ADDED, operation=OPERATION),
    "list": MemoryList(entries=(REMEMBERED, ADDED)),
    "empty-list": MemoryList(entries=()),
    "show": MemoryView(entry=REMEMBERED),
    "partly-withdrawn": MemoryView(entry=replace(REMEMBERED, withdrawn=(PROMPT.id,))),
    "show-added": MemoryView(entry=ADDED),
    "hits": MemoryHits(query="cookie", hits=(MemoryHit(entry=REMEMBERED, score=6, fields=("topic", "summary")),)),
    "no-hits": MemoryHits(query="ferret", hits=()),
    "context": write_context([REMEMBERED, ADDED], 8192, mark="7" * 30),
    "context-without-room": write_context([REMEMBERED, ADDED], 320, mark="7" * 30),
    "no-context": write_context([], 8192),
    "stats": MemoryStats(
        total=2, this_week=1, open_actions=1, agents={"carol": 1, "planner": 1}, oldest=ADDED.time, newest=REMEMBERED.time
    ),
    "no-stats": MemoryStats(total=0, this_week=0, open_actions=0, agents={}, oldest=None, newest=None),
    "actions": ActionList(actions=tuple(ActionRow(item=item, entry=REMEMBERED) for item in REMEMBERED.action_items)),
    "no-actions": ActionList(actions=()),
    "done": ActionDone(item=TO_DO._replace(done=True), operation=OPERATION),
    "done-before": ActionDone(item=TO_DO._replace(done=True), operation=None),
    "pruned": MemoryPruned(removed=(ADDED.id,), remaining=1, dry_run=False, operation=OPERATION),
    "prune-dry-run": MemoryPruned(removed=(ADDED.id,), remaining=1, dry_run=True, operation=None),
}  # fmt: skip

HIT = SearchHit(
    conversation=CONVERSATION, branch="main", head=PROMPT, part="text", score=3.25, after=(Neighbor(CALL, None),),
    snippet=(Piece("…Why does the\n\n  "), Piece("login", found=True), Piece(" fail on Safari, "), Piece("Login", found=True), Piece(" again?")),
)  # fmt: skip
FOUND = SearchCoverage(
    query="login", shown=2, hits=12, conversation=None,
    searched=IndexStatus(state="fresh", read=0, conversations=14, branches=20, messages=1234, damaged=0, unreadable=0),
)  # fmt: skip
TITLED = replace(FOUND, titles=(TitleHit(CONVERSATION, "Login fails on Safari"),))
DEEP = SearchHit(
    conversation="login-bug", branch=SECURITY, head=SECURE, part="tool_result", before=(Neighbor(CALL, None),), also=(CONVERSATION,),
    snippet=(Piece("…"), Piece("so the flow goes on and on, " * 8), Piece("login", found=True), Piece("…")),
)  # fmt: skip
RULE = RuleRow(
    id="run/empty", level="error", summary="The run has an answer or a tool call", explanation="It may end with nothing.",
    parameters=(ParameterRow("min_calls", 0, "the least number of tool calls"), ParameterRow("max_usd", None, "the most")),
    place="scopes-check.toml:3", attempts="A refused call is one level less severe.",
)  # fmt: skip
CHECKED = Checked(
    policy="scopes-check.toml",
    runs=(
        CheckedRun(
            name="agent.jsonl", conversation=CONVERSATION, title="Login fails on Safari", calls=12,
            verdicts=(
                Verdict(
                    "order/tests-passed", "error", "fail",
                    findings=(
                        CheckFinding(
                            "order/tests-passed", "error", "the last test run failed with exit code 1",
                            (Event(7, "k3x9q2mf5a7b2c4d6e2f3g4h5i", "cd app && pytest -q", "agent.jsonl", 12), Event(3, "sd7mnkyn5a7b2c4d6e2f3g4h5i", "app.py")),
                            match="pytest -q", wrapper="bash -c", file="app.py", file_line=3, cure="make the tests pass",
                            fingerprint="5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8",
                        ),
                    ),
                ),
                Verdict(
                    "order/push-after-tests", "warning", "fail",
                    findings=(
                        CheckFinding("order/push-after-tests", "note", "pushed", attempted=True, suppressed="it is a fork"),
                    ),
                ),
                Verdict("order/tests-after-last-edit", "error", "unknown", "no session file"),
                Verdict("run/empty", "error", "pass"),
            ),
        ),
    ),
)  # fmt: skip
COMPARED = RunComparison(
    old="before.jsonl", new="conv-042", mode="strict", differs=True,
    amounts=(Amount("calls", 2, 12), Amount("cost in USD", None, 0.125), Amount("seconds", 61.0, 3600)),
    tools=(Use("Bash", 2, 4), Use("Edit", 1, 1)), files=(Use("src/app.py", 0, 1),), commands=(Use("git push", 1, 0),),
    order=("@@ -1,2 +1,2 @@", " Bash: pytest -q", "-Bash: git push", "+Edit {\"file_path\": \"./src/app.py\"}"),
    only_old=("Bash: git push",), only_new=('Edit {"file_path": "./src/app.py"}',),
    tests_old=(), tests_new=("failed", "passed"),
    about_old=RunSide("add a test for resume", "claude", ("opus-4-6",), "Two tests still fail because of the clock."),
    about_new=RunSide("add a test for resume", "codex", ("gpt-5.4",), "All tests pass.", "conv-042"),
)  # fmt: skip
ACP_FAILED = AgentSessions(
    agent="gemini", sessions=2, new=2, resumed=0, loaded=0, forked=0, injected=1, failures={"load-failed": 1},
    problems={"recording-off": 1},
)  # fmt: skip
ACP_WORKS = AgentSessions(
    agent="opencode", sessions=4, new=1, resumed=2, loaded=1, forked=0, injected=0, failures={}, problems={}
)
LOGGED = LoggedEvent(
    time="2026-01-01T12:00:00.000Z", event="load-failed", agent="gemini", pid=77,
    details={"session": "s-1", "error": "no previous sessions found", "code": -32603},
)  # fmt: skip

SAMPLES = {
    "acp_events": {
        "stats": AcpStats(agents=(ACP_WORKS, ACP_FAILED)),
        "no-stats": AcpStats(agents=()),
        "log": AcpLog(events=(LOGGED,)),
        "no-log": AcpLog(events=()),
    },
    "diff": {
        "diff": DIFFERENCE,
        "stat": replace(DIFFERENCE, stat=True),
        "equal": replace(DIFFERENCE, only_left=(), only_right=(), changed=(), claims=()),
    },
    "range_diff": {
        "range-diff": RANGES,
        "no-patch": replace(RANGES, pairs=tuple(replace(pair, lines=()) for pair in RANGES.pairs)),
        "equal": replace(RANGES, pairs=RANGES.pairs[:1]),
        "empty": replace(RANGES, pairs=()),
    },
    "bisect": {
        "bisect": BISECTION,
        "undecided": replace(BISECTION, first_bad=None, candidates=(PROMPT, CALL), skipped=(PROMPT,)),
    },
    "blame": {
        "blame": BlameList(
            revision=Revision(CONVERSATION, "main", oid("main")),
            rows=(
                BlameRow(key="analyses/login/risk", agent="planner", value="high", head=SECURE),
                BlameRow(key="decisions/cookies", agent=None, value="SameSite=Lax", head=DECIDED),
            ),
        ),
    },
    "list": {
        "list": ConversationList(conversations=SUMMARIES, projects={"/work/shop/src": "shop"}),
        "shared-list": ConversationList(
            conversations=(SUMMARIES[0]._replace(ahead=2, behind=1), SUMMARIES[1]._replace(ahead=0, behind=0), SUMMARIES[2])
        ),
        "list-with-copy": ConversationList(conversations=SUMMARIES[:1], copies={SUMMARIES[0].id: "conv-009"}),
        "limited-list": ConversationList(conversations=SUMMARIES[:1], filtered=True, more=2),
        "no-match": ConversationList(conversations=(), filtered=True),
        "empty-list": ConversationList(conversations=()),
        "deleted-list": DeletedList(
            deleted=(
                DeletedRow("conv-008", "Tea shop", 2, "2025-12-31T23:00:00Z", "o" * 26),
                DeletedRow("conv-009", None, 1, "2025-12-30T23:00:00Z", "p" * 26),
            )
        ),
        "empty-trash": DeletedList(deleted=()),
        "damaged-list": ConversationList(conversations=SUMMARIES[:1], damaged=("conv-007",)),
    },
    "show": {
        "stale": replace(VIEW, branches=(branch("main", 12, 12, newer=5),)),
        "diverged": replace(VIEW, branches=(branch("main", 12, 12, remotes=(RemoteState("origin/main", 2, 1234),)),)),
        "behind": replace(VIEW, branches=(branch("main", 12, 12, remotes=(RemoteState("origin/main", 0, 1),)),)),
        "summarized": replace(VIEW, branches=(branch("main", 12, 12, newer=0, active=True),)),
        "show": VIEW,
        "shared": replace(
            VIEW, branches=(branch("main", 3, 3, remotes=(RemoteState("origin/main", 0, 0), RemoteState("b/main", 2, 0))),)
        ),
        "show-empty": EMPTY_VIEW,
        "show-signed": replace(VIEW, recent=tuple(
            replace(each, signature=signature)
            for each, signature in zip(VIEW.recent, (None, SIGNED, Signature("unknown key", None, "SHA256:q2")), strict=True)
        )),
        "show-redacted": replace(EMPTY_VIEW, redacted=RedactedCopy("conv-002", "conv-001")),
        "show-continued": replace(EMPTY_VIEW, native_id="s1", continues=Continued("conv-001", PROMPT.id)),
        "show-in-progress": replace(
            EMPTY_VIEW, in_progress=(OpenMerge("merge", "fix", "main", RESOLUTION, 1, "3f2a" * 10),)
        ),
    },
    "conversation": {
        "new": ConversationCreated(
            id=CONVERSATION, uuid=UUID, branch="main", title="Login fails", participants=("planner",), operation=OPERATION
        ),
        "new-without-title": ConversationCreated(
            id=CONVERSATION, uuid=UUID, branch="main", title=None, participants=(), operation=OPERATION
        ),
        "title": Renamed(conversation=CONVERSATION, what="title", old=None, new="Login fails", operation=OPERATION),
        "title-removed": Renamed(conversation=CONVERSATION, what="title", old="Login", new=None, operation=OPERATION),
        "title-as-before": Renamed(conversation=CONVERSATION, what="title", old="Login", new="Login", operation=None),
        "conversation-renamed": Renamed(conversation="login-bug", what="conversation", old=CONVERSATION, new="login-bug", operation=OPERATION),
        "branch-renamed": Renamed(conversation=CONVERSATION, what="branch", old="fix", new="fix-2", operation=OPERATION),
        "deleted": ConversationDeleted(conversation=CONVERSATION, branches=3, operation=OPERATION),
        "delete-dry-run": ConversationDeleted(
            conversation=CONVERSATION, branches=2, operation=None, dry_run=True, branch_names=("fix", "main")
        ),
        "branch-deleted": BranchDeleted(conversation=CONVERSATION, branch="fix", tip=oid("fix"), operation=OPERATION),
        "delete-branch-dry-run": BranchDeleted(
            conversation=CONVERSATION, branch="fix", tip=oid("fix"), operation=None, dry_run=True
        ),
    },
    "branch": {
        "created": BranchCreated(
            conversation=CONVERSATION, name=SECURITY, tip=oid("root"), parent="main", purpose="analysis", agent="code-analyzer",
            active=True, operation=OPERATION,
        ),
        "created-aside": BranchCreated(
            conversation=CONVERSATION, name="try", tip=oid("root"), parent="main", purpose=None, agent=None, active=False,
            operation=OPERATION,
        ),
        "list": BranchList(conversation=CONVERSATION, branches=BRANCHES),
        "switched": BranchSwitched(conversation=CONVERSATION, branch="main", previous=SECURITY, operation=OPERATION),
        "switched-already": BranchSwitched(conversation=CONVERSATION, branch="main", previous="main", operation=None),
        "abandoned": BranchAbandoned(conversation=CONVERSATION, branch="fix", status="abandoned", active_branch="main", operation=OPERATION),
        "revived-already": BranchAbandoned(conversation=CONVERSATION, branch="fix", status="active", active_branch="main", operation=None),
        "rewound": BranchRewound(
            conversation=CONVERSATION, branch="main", messages=2, old=oid("callit"), new=oid("prompt"), message=PROMPT.id, operation=OPERATION
        ),
        "rewound-to-nothing": BranchRewound(
            conversation=CONVERSATION, branch="main", messages=1, old=oid("prompt"), new=oid("root"), message=None, operation=OPERATION
        ),
        "rewind-dry-run": BranchRewound(
            conversation=CONVERSATION, branch="main", messages=2, old=oid("callit"), new=oid("root"), message=None,
            operation=None, dry_run=True, heads=(CALL, PROMPT),
        ),
        "rewound-nowhere": BranchRewound(
            conversation=CONVERSATION, branch="main", messages=0, old=oid("prompt"), new=oid("prompt"), message=PROMPT.id, operation=None
        ),
    },
    "message": {
        "appended": MessageAppended(id=CALL.id, oid=CALL.oid, conversation=CONVERSATION, branch="main"),
        "appended-to-new-branch": MessageAppended(
            id=CALL.id, oid=CALL.oid, conversation=CONVERSATION, branch=SECURITY, parent="main", operation=OPERATION
        ),
        "appended-line": WithOptions(
            MessageAppended(id=CALL.id, oid=CALL.oid, conversation=CONVERSATION, branch="main"), ViewOptions(lines=True)
        ),
        "amended": MessageAmended(
            id=CALL.id, oid=CALL.oid, conversation=CONVERSATION, branch="main", target=PROMPT.id, retracted=False
        ),
        "retracted": MessageAmended(
            id=CALL.id, oid=CALL.oid, conversation=CONVERSATION, branch="main", target=PROMPT.id, retracted=True
        ),
        "cat": MessageView(
            conversation=CONVERSATION, branch="main", head=CALL, message=CALL_BODY, stored=encode(CALL_BODY)
        ),
        "cat-summary": MessageView(
            conversation=CONVERSATION, branch="main", head=SUMMARY, message=body(SUMMARY), stored=encode(body(SUMMARY)), newer=3,
        ),
        "cat-retracted": MessageView(
            conversation=CONVERSATION, branch="main", head=PROMPT, message=body(PROMPT), stored=encode(body(PROMPT)), retracted=True,
        ),
        "cat-raw": WithOptions(
            MessageView(conversation=CONVERSATION, branch=None, head=PROMPT, message=body(PROMPT), stored=encode(body(PROMPT))),
            ViewOptions(raw=True),
        ),
        "cat-signed": WithOptions(
            MessageView(
                conversation=CONVERSATION, branch=None, head=DECIDED, message=DECIDED_BODY, stored=encode(DECIDED_BODY), signature=SIGNED,
            ),
            ViewOptions(signatures=True),
        ),
        "cat-unsigned": WithOptions(
            MessageView(conversation=CONVERSATION, branch=None, head=PROMPT, message=body(PROMPT), stored=encode(body(PROMPT))),
            ViewOptions(signatures=True),
        ),
        "cat-decision": MessageView(
            conversation=CONVERSATION, branch=None, head=DECIDED, message=DECIDED_BODY, stored=encode(DECIDED_BODY)
        ),
    },
    "log": {
        "log": Log(items=ENTRIES, conversation=CONVERSATION),
        "stale": replace(ENTRIES[0], head=SUMMARY, message=body(SUMMARY), newer=2),
        "retracted": replace(ENTRIES[0], retracted=True),
        "oneline": WithOptions(Log(items=ENTRIES, conversation=CONVERSATION), ViewOptions(oneline=True)),
        "graph": WithOptions(Log(items=ENTRIES, conversation=CONVERSATION), ViewOptions(graph=True)),
        "graph-oneline": WithOptions(Log(items=ENTRIES, conversation=CONVERSATION), ViewOptions(graph=True, oneline=True)),
        "entry": ENTRIES[2],
        "of-commit": replace(
            ENTRIES[2],
            commit_turn=CommitTurn(CONVERSATION, "main", "4f" * 20, (TurnLink("made", "certain", 2),), ("conv-007",)),
        ),
        "lanes": Log(items=MERGED_ENTRIES, conversation=CONVERSATION),
        "lanes-oneline": WithOptions(Log(items=MERGED_ENTRIES, conversation=CONVERSATION), ViewOptions(oneline=True)),
        "session": Log(items=SESSION, conversation=CONVERSATION),
        "session-full": WithOptions(Log(items=SESSION, conversation=CONVERSATION), ViewOptions(full=True)),
        "session-oneline": WithOptions(Log(items=SESSION, conversation=CONVERSATION), ViewOptions(oneline=True)),
        "graph-session": WithOptions(Log(items=SESSION, conversation=CONVERSATION), ViewOptions(graph=True)),
    },
    "operations": {
        "list": OperationList(operations=(UNDO, CREATE)),
        "empty-list": OperationList(operations=()),
        "show": OperationView(operation=CREATE, commit=oid("commit")),
        "show-undo": OperationView(operation=UNDO, commit=oid("commit2")),
        "undo": Undone(target=CREATE, redo=False, operation=OPERATION, actor="carol"),
        "redo": Undone(
            target=replace(UNDO, changes=tuple(RefChange(each.ref, each.new, each.old) for each in CREATE.changes)),
            redo=True, operation=OPERATION, actor="carol",
        ),
        "undo-append": Undone(target=APPENDED, redo=False, operation=OPERATION, actor="carol"),
        "undo-command": Undone(
            target=CREATE, also=(UNDO, CREATE), redo=False, operation=OPERATION, actor="carol", active_branch="main"
        ),
        "undo-dry-run": Undone(target=CREATE, redo=False, operation=None, actor="bob", dry_run=True),
    },
    "import_": {
        "sample": SampleImported(conversation=CONVERSATION, messages=24, new_messages=24, branches=3, operation=OPERATION),
        "sample-again": SampleImported(conversation=CONVERSATION, messages=24, new_messages=0, branches=3, operation=None),
        "sources": IMPORTED,
        "sources-report": replace(IMPORTED, operation=None, dry_run=True, skipped=(), notes=()).reported(),
        "list": FoundTranscripts(
            agents=(
                FoundAgent(
                    agent="Claude Code", folders=("/home/carol/.claude/projects",), files=40, size=9_100_000, newest=CHANGED, new=2
                ),
                FoundAgent(
                    agent="Codex", folders=("/home/carol/.codex/sessions", "/srv/archived"), files=3, size=900, newest=CHANGED,
                    unknown=1, problems=("/srv/archived: cannot be read: Permission denied",),
                ),
            )
        ),
        "sources-dry-run": replace(IMPORTED, operation=None, dry_run=True, unchanged=2, skipped=(), notes=()),
    },
    "verify_source": {
        "whole": WHOLE,
        "grown": replace(
            WHOLE, size=1_090_101, part="helper", findings=(Finding("warning", "s1", "1000001 bytes came after", "import again"),)
        ),
        "cut": replace(
            WHOLE, size=80_000, equal_bytes=80_000, state_bytes=0, unparsed_bytes=0, away=2,
            findings=(Finding("warning", "s1", "2 of its messages were deleted or rewound here"),),
        ),
        "damaged": replace(
            WHOLE, equal_bytes=1000, message_bytes=900, state_bytes=100, unparsed_bytes=0, messages=1,
            findings=(Finding("error", "s1/helper", "its segments do not cover its bytes once each", "restore it"),),
        ),
    },
    "check": {
        "rules": RuleList(rules=(RULE, replace(RULE, id="ours/x", level="off", own=True, parameters=()))),
        "rule": RuleExplained(rule=RULE),
        "compared": COMPARED,
        "compared-equal": replace(
            COMPARED, differs=False, mode="superset", order=(), only_old=(), only_new=(), files=(), tools=(), commands=()
        ),
        "tests": RuleTests(
            tests=("push", "quiet"),
            cases=(
                Case("push", "shell/force-push", 12, "ruleid", "pass", "pushes with force"),
                Case("push", "order/tests-passed", 7, None, "fail", "not expected: the last test run failed with exit code 1"),
                Case("quiet", "run/empty", None, "todook", "todo", "no longer found, write ok"),
            ),
            uncovered=(Uncovered("ours/x", ("failing", "passing")),),
        ),
        "tests-passed": RuleTests(tests=("quiet",), cases=()),
        "failed": CHECKED,
        "passed": replace(CHECKED, runs=(replace(CHECKED.runs[0], verdicts=CHECKED.runs[0].verdicts[2:]),), policy=None),
    },
    "export": {
        "notes": NOTED,
        "site": SiteSaved(path="site", conversations=26, messages=1204, size_bytes=12_582_912),
        "traces": ExportSaved(conversation=CONVERSATION, path="t.jsonl", format="agent-trace", messages=None, size_bytes=512),
        "file": ExportSaved(conversation=CONVERSATION, path="login.md", format="markdown", messages=24, size_bytes=6465),
        "original": ExportSaved(conversation=CONVERSATION, path="a.jsonl", format="original", messages=None, size_bytes=12_582_912),
        "directory": ExportSaved(
            conversation=CONVERSATION, path="backup", format="original", messages=None, size_bytes=512, files=("s1.jsonl", "s1.helper.jsonl")
        ),
    },
    "why": {
        "why": Why(file="src/session.py", items=WHY),
        "file": Why(file="src/session.py", items=WHY, whole=True),
        "line": WHY[0],
        "unsure": WHY[-1],
    },
    "changes": {
        "changes": ChangeLog(conversation=CONVERSATION, items=CHANGES),
        "change": CHANGES[1],
    },
    "conflicts": {
        "list": ConflictList(conversation=CONVERSATION, conflicts=CONFLICT_ROWS),
        "list-of-all": ConflictList(
            conversation=None,
            conflicts=(*CONFLICT_ROWS[:1], replace(CONFLICT_ROWS[2], conversation="conv-002", source="conv-001/main")),
        ),
        "empty-list": ConflictList(conversation=CONVERSATION, conflicts=()),
        "show": ConflictView(row=CONFLICT_ROWS[0], texts=RECORDED_TEXTS, talk=(COVERAGE, PROMPT), sides=SIDES[:3]),
        "show-argued": ConflictView(
            row=replace(CONFLICT_ROWS[0], conflict=replace(CONFLICT_ROWS[0].conflict, status="escalated")), texts={},
            talk=(COVERAGE, PROMPT), sides=SIDES[:3], escalated_to="lead", escalated_at="2025-12-01T09:00:00Z",
            positions=(
                StatedPosition(author=COVERAGE.author, time="2025-12-01T08:00:00Z", message=COVERAGE.id, argument=Argument(
                    about=CONFLICT_ROWS[0].conflict.id, position="Measure first", reasoning=("nobody knows",), confidence=0.8,
                    evidence=(Evidence(type="best-practice", description="RFC 7519", source="rfc-editor.org", weight=0.5),),
                )),
            ),
        ),
        "show-several": ConflictView(row=CONFLICT_ROWS[1], texts={}, talk=(), sides=SIDES),
        "show-resolved": ConflictView(row=CONFLICT_ROWS[3], texts={}, talk=()),
        "show-file": ConflictView(row=FILE_ROW, texts={}, talk=(), file=FILE_CHANGES),
        "show-ended": ConflictView(row=ENDED_ROW, texts={}, talk=(), escalated_to="lead"),
        "list-resolved-before": ConflictList(
            conversation=CONVERSATION, conflicts=(replace(CONFLICT_ROWS[0], conflict=CONTRADICTED),)
        ),
        "show-resolved-before": ConflictView(row=replace(CONFLICT_ROWS[0], conflict=RESOLVED_BEFORE), texts={}, talk=()),
        "show-contradicted": ConflictView(row=replace(CONFLICT_ROWS[0], conflict=CONTRADICTED), texts={}, talk=()),
        "show-reused": ConflictView(row=REUSED_ROW, texts={}, talk=()),
        "show-edit": ConflictView(row=CONFLICT_ROWS[2], texts={}, talk=(), sides=SIDES[:3]),
        "resolved": ConflictResolved(
            conversation=CONVERSATION, branch=RESOLUTION, number=1, conflict=CONFLICT_ROWS[3].conflict, message=message_id("settle"),
            remaining=0, operation=OPERATION,
        ),
        "resolved-continued": ConflictResolved(
            conversation=CONVERSATION, branch=RESOLUTION, number=1, conflict=CONFLICT_ROWS[3].conflict, message=message_id("settle"),
            remaining=0, operation=OPERATION,
            continued=Merged(
                **MERGE, branch="main", tip=oid("joined"), messages=(SECURE.id,), operation=OPERATION, message=message_id("joined")
            ),
        ),
        "escalated": ConflictResolved(
            conversation=CONVERSATION, branch=RESOLUTION, number=2, conflict=CONFLICT_ROWS[1].conflict, message=message_id("handed"),
            remaining=3, operation=OPERATION, escalated_to="lead",
        ),
    },
    "merge": {
        "up-to-date": UpToDate(**MERGE, branch="main", tip=oid("callit")),
        "fast-forward": FastForwarded(**MERGE, branch="main", tip=oid("secure"), messages=(SECURE.id,), operation=OPERATION),
        "fast-forward-dry-run": FastForwarded(**MERGE, branch="main", tip=None, messages=(SECURE.id,), dry_run=True),
        "merged": Merged(
            **MERGE, branch="main", tip=oid("joined"), messages=(SECURE.id, COVERAGE.id), operation=OPERATION, message=message_id("joined")
        ),
        "merged-active": Merged(
            **MERGE, branch="main", tip=oid("joined"), messages=(SECURE.id,), operation=OPERATION, message=message_id("joined"),
            active_branch="main",
        ),
        "merged-resolved": Merged(
            **MERGE, branch="main", tip=oid("joined"), messages=(SECURE.id,), conflicts=(AUTO_RESOLVED,), operation=OPERATION,
            message=message_id("joined"),
        ),
        "merged-files": Merged(
            **MERGE, branch="main", tip=oid("joined"), messages=(SECURE.id,), conflicts=(AUTO_RESOLVED,), files=FILE_COMPARISONS,
            operation=OPERATION, message=message_id("joined"),
        ),
        "merged-dry-run": Merged(**MERGE, branch="main", tip=None, messages=(SECURE.id,), conflicts=(AUTO_RESOLVED,), dry_run=True),
        "conflict": MergeConflicted(
            **MERGE, branch=RESOLUTION, tip=oid("strife"), messages=(SECURE.id,), conflicts=(DISAGREED, COMPETING, AUTO_RESOLVED),
            operation=OPERATION,
        ),
        "conflict-resolved-before": MergeConflicted(
            **MERGE, branch=RESOLUTION, tip=oid("strife"), messages=(SECURE.id,), conflicts=(RESOLVED_BEFORE, CONTRADICTED, REUSED_ROW.conflict),
            operation=OPERATION,
        ),
        "conflict-files": MergeConflicted(
            **MERGE, branch=RESOLUTION, tip=oid("strife"), conflicts=(DISAGREED,), files=FILE_COMPARISONS * 5, operation=OPERATION,
        ),
        "conflict-dry-run": MergeConflicted(**MERGE, branch="main", tip=None, conflicts=(DISAGREED,), dry_run=True),
        "many-conflicts": MergeConflicted(**MERGE, branch=RESOLUTION, tip=oid("strife"), conflicts=(DISAGREED,) * 23, operation=OPERATION),
        "aborted": MergeAborted(conversation=CONVERSATION, branch=RESOLUTION, active_branch="main", operation=OPERATION),
    },
    "rebase": {
        "up-to-date": ReplayUpToDate(**REBASE, branch=SECURITY, tip=oid("callit")),
        "rebased": Replayed(**REBASE, branch=SECURITY, tip=MOVED[1].new, replayed=MOVED, operation=OPERATION, notes=(KEPT,)),
        "rebased-resolved": Replayed(**REBASE, branch=SECURITY, tip=MOVED[0].new, replayed=MOVED[:1], conflicts=(AUTO_RESOLVED,), operation=OPERATION),
        "rebased-dry-run": Replayed(**REBASE, branch=SECURITY, tip=None, replayed=MOVED, conflicts=(AUTO_RESOLVED,), dry_run=True),
        "many-dry-run": Replayed(**REBASE, branch=SECURITY, tip=None, replayed=MOVED[:1] * 23, dry_run=True),
        "conflict": ReplayConflicted(**REBASE, **STOPPED, conflicts=(DECIDED_OTHERWISE, COMPETING), operation=OPERATION),
        "conflict-resolved-before": ReplayConflicted(
            **REBASE, **STOPPED, conflicts=(CONTRADICTED, REUSED_ROW.conflict), operation=OPERATION
        ),
        "conflict-dry-run": ReplayConflicted(**REBASE, **(STOPPED | {"branch": SECURITY, "tip": None}), conflicts=(DISAGREED,), dry_run=True),
        "many-conflicts": ReplayConflicted(**REBASE, **STOPPED, conflicts=(DISAGREED,) * 23, operation=OPERATION),
        "aborted": ReplayAborted(
            kind="rebase", conversation=CONVERSATION, moved_branch=SECURITY, branch=RESOLUTION, active_branch="main", operation=OPERATION
        ),
    },
    "cherry_pick": {
        "up-to-date": ReplayUpToDate(**PICKED, branch="main", tip=oid("callit"), notes=(Note("conv-001/main already contains: callit22"),)),
        "picked": Replayed(**PICKED, branch="main", tip=MOVED[1].new, replayed=MOVED, conflicts=(AUTO_RESOLVED,), operation=OPERATION),
        "picked-dry-run": Replayed(**PICKED, branch="main", tip=None, replayed=MOVED, dry_run=True),
        "conflict": ReplayConflicted(**PICKED, **STOPPED, conflicts=(DISAGREED,), operation=OPERATION),
        "conflict-resolved-before": ReplayConflicted(
            **PICKED, **STOPPED, conflicts=(CONTRADICTED, REUSED_ROW.conflict), operation=OPERATION
        ),
        "conflict-dry-run": ReplayConflicted(**PICKED, **(STOPPED | {"branch": "main", "tip": None}), conflicts=(DISAGREED,), dry_run=True),
        "aborted": ReplayAborted(
            kind="cherry-pick", conversation=CONVERSATION, moved_branch="main", branch=RESOLUTION, active_branch="main", operation=OPERATION
        ),
    },
    "files": {
        "files": FileList(
            conversation=CONVERSATION,
            files=(
                FileRow(
                    path="src/login.py", operations={"edit": 2, "read": 1}, messages=(PROMPT.id, CALL.id),
                    last_touch=format_seconds(CALL.time), last_author="planner", last_operation="edit",
                ),
            ),
        ),
        "no-files": FileList(conversation=CONVERSATION, files=()),
    },
    "decisions": {
        "decisions": DecisionList(
            conversation=CONVERSATION,
            decisions=(
                DecisionRow(topic="cookies", decision="SameSite=Strict", head=SECURE, current=False),
                DecisionRow(topic="cookies", decision="SameSite=Lax,\nand no other.", head=DECIDED, current=True),
            ),
        ),
        "decisions-withdrawn": DecisionList(
            conversation=CONVERSATION,
            branch="fix",
            decisions=(DecisionRow(topic="db", decision="SQLite", head=SECURE, current=False, withdrawn=True),),
        ),
        "decisions-spelled": DecisionList(
            conversation=CONVERSATION,
            decisions=(DecisionRow(topic="db", decision="SQLite", head=SECURE, current=True),),
        ),
        "decisions-elsewhere": DecisionList(
            conversation=CONVERSATION,
            decisions=(
                DecisionRow(topic="db", decision="SQLite", head=SECURE, current=False, branches=("fix",)),
            ),
        ),
        "withdrawn": DecisionWithdrawn(
            id=CALL.id, oid=CALL.oid, conversation=CONVERSATION, branch="main", topic="auth flow", decisions=("JWT",)
        ),
        "withdrawn-dry-run": DecisionWithdrawn(
            id=None, oid=None, conversation=CONVERSATION, branch="main", topic="auth flow", decisions=("JWT", "sessions"), dry_run=True
        ),
        "no-decisions": DecisionList(conversation=CONVERSATION, decisions=()),
    },
    "search": {
        "found": WithOptions(Search(items=(HIT, DEEP, TITLED), hits=(HIT, DEEP), coverage=TITLED), ViewOptions(around=True)),
        "hit": HIT,
        "coverage": replace(FOUND, searched=FOUND.searched._replace(state="updated", read=3)),
        "nothing": Search(
            items=(), hits=(), coverage=replace(
                FOUND, shown=0, hits=0, conversation=CONVERSATION,
                searched=FOUND.searched._replace(state="in-memory", read=1300, damaged=1),
            ),
            notes=(Note("the search index cannot be kept: attempt to write a readonly database", "it would be in /nowhere"),),
        ),
    },
    "usage": {
        "usage": USAGE,
        "two-keys": USAGE_BY_TWO,
        "unpriced": replace(USAGE, rows=(UNPRICED,), days=(UNPRICED,), total=UNPRICED._replace(period=None)),
        "nothing": replace(USAGE, rows=(), days=(), total=UsageRow(None, None, None, None, None, 0, 0, 0, 0, 0, 0, 0, None, 0)),
    },
    "statusline": {"statusline": STATUS_LINE, "no-model": replace(STATUS_LINE, model=None, currency="CHF")},
    "stats": {
        "stats": STATS,
        "tokens": replace(
            STATS, tool_calls=220, tools={"Bash": 200, "Read": 20}, tool_errors={"Bash": 12}, tool_refusals={"Bash": 1, "Read": 2}, files_changed=7, active_seconds=1800,
            tokens_by_model={
                "claude-opus-4-5-20251101": Tokens(225, 13_818, 24_013_662, 1_618_146, 70_618),
                "gpt-5.4": Tokens(291, 2_083_546, 36_680_704, None, 145_638, 37_397),
            },
        ),
        "one-model": replace(STATS, tokens_by_model={"m1": Tokens(1, 13, None, None, 9)}),
        "store": replace(STATS, conversation=None, conversations=40),
        "nothing": Stats(
            conversation=CONVERSATION, conversations=None, branches=1, messages=0, characters=0, files=0, files_changed=0, tool_calls=0,
            authors={}, kinds={}, models={}, tools={}, tool_errors={}, tool_refusals={}, tokens_by_model={}, first=None, last=None, duration_seconds=None,
            active_seconds=None,
        ),
    },
    "summarize": {
        "summarized": SUMMARIZED,
        "compacted": replace(SUMMARIZED, compact=True, earlier=SUMMARY.id, method="command", messages=1, counted="estimate"),
        "dry-run": replace(SUMMARIZED, id=None, oid=None, operation=None),
        "list": SummaryList(
            conversation=CONVERSATION, branch="main", uncovered=3,
            summaries=(
                SummaryRow(head=SUMMARY, method="textrank", messages=12, newer=0, changed=()),
                SummaryRow(head=SUMMARY, method="textrank", messages=12, newer=7, changed=()),
                SummaryRow(head=SUMMARY._replace(kind="compaction"), method="command", messages=4, newer=1, changed=(CALL.id,)),
            ),
        ),
        "empty-list": SummaryList(conversation=CONVERSATION, branch="main", summaries=(), uncovered=0),
    },
    "memory": MEMORY,
    "context": {
        "context": CONTEXT,
        "messages": WithOptions(CONTEXT, ViewOptions(layout="messages")),
        "as-json": WithOptions(CONTEXT, ViewOptions(layout="json")),
        "explain": WithOptions(replace(CONTEXT, method="estimate"), ViewOptions(explain=True)),
        "decided": WithOptions(DECIDED_CONTEXT, ViewOptions(explain=True)),
        "stats": WithOptions(replace(CONTEXT, average_relevance=0.25), ViewOptions(stats=True)),
        "history": HistoryBlock(
            conversation=CONVERSATION, branch="main", text="<conversation_history>\nUser: hello\n\n</conversation_history>\n",
            messages=1, total=9, left_out=8, truncated=0, tokens=21, method="exact", first=PROMPT.oid, last=PROMPT.oid,
        ),
        "history-preview": WithOptions(
            HistoryBlock(
                conversation=CONVERSATION, branch="main", text="<conversation_history>\nUser: hello\n\n</conversation_history>\n",
                messages=1, total=9, left_out=8, truncated=1, tokens=21, method="exact", first=PROMPT.oid, last=PROMPT.oid,
            ),
            ViewOptions(preview=True),
        ),
        "no-history": HistoryBlock(
            conversation=CONVERSATION, branch=None, text="<conversation_history>\n</conversation_history>\n",
            messages=0, total=0, left_out=0, truncated=0, tokens=11, method="estimate", first=None, last=None,
        ),
        "budget": plan_budget(200_000),
        "budget-zen": plan_budget(1_000_000, "zen", model="gpt-4.1"),
    },
    "tokens": {
        "text": TokenCount(what="notes.md", tokens=1234, characters=5678, method="exact", encoding="o200k_base"),
        "conversation": TokenCount(
            what="conv-001/main", tokens=98_765, characters=400_000, method="estimate", encoding="estimate", messages=120,
            parts={"text": 60_000, "reasoning": 0, "tool_input": 8_765, "tool_result": 30_000},
        ),
        "status": TokenStatus(
            encodings=(
                EncodingRow(
                    name="o200k_base",
                    files=(
                        RankFileRow(path="/home/carol/.cache/scopes/tokens/o200k_base.tiktoken", origin="cache", right=False),
                        RankFileRow(path="/venv/bpe_openai/data/o200k_base.tiktoken.gz", origin="carrier", right=True),
                    ),
                ),
                EncodingRow(name="cl100k_base", files=()),
            ),
        ),
        "fetched": RanksFetched(encoding="o200k_base", path="/home/carol/.cache/scopes/tokens/o200k_base.tiktoken", size=3_613_922),
    },
    "decision_candidates": {
        "list": CandidateList(conversation=CONVERSATION, candidates=(CANDIDATE,)),
        "empty-list": CandidateList(conversation=CONVERSATION, candidates=(), branch="fix"),
        "accepted": DecisionAccepted(
            id=DECIDED.id, oid=DECIDED.oid, conversation=CONVERSATION, branch="main", topic="cookies", candidate=CANDIDATE
        ),
        "dismissed": CandidateDismissed(conversation=CONVERSATION, candidate=CANDIDATE, operation=OPERATION),
    },
    "checkout": {
        "written": CHECKED_OUT,
        "dry_run": replace(CHECKED_OUT, operation=None, dry_run=True),
        "unchanged": replace(CHECKED_OUT, state="unchanged", operation=None),
        "continued": replace(CHECKED_OUT, state="continued", operation=None),
        "in_a_database": replace(CHECKED_OUT, agent="opencode", new_branch="opencode/1", file=None),
        "left_out": replace(
            CHECKED_OUT, total=90, left_out=78, before_compaction=70,
            notes=(Note("78 of 90 messages are shortened or left out", "take more: --full, --max-tokens N"),),
        ),
    },
    "resume": {
        "own": RESUMED,
        "new": replace(
            RESUMED,
            agent="codex",
            session="new",
            session_id=None,
            reason="the session belongs to claude-code",
            command=("codex", "--", "<conversation_history>\n</conversation_history>\n"),
            shell='cd /home/carol/shop && codex -- "$(scopes history conv-001/main --for-prompt --max-tokens 20000)"',
            messages=12,
            tokens=3456,
        ),
    },
    "skills": {
        "added": SKILL,
        "replaced": replace(SKILL, state="replaced"),
        "unchanged": replace(SKILL, state="unchanged"),
        "removed": replace(SKILL, state="removed", advice=None),
        "kept": replace(SKILL, state="kept", advice="it stays for agents"),
        "absent": replace(SKILL, state="absent", text="", advice=None),
        "shown": replace(SKILL, state="shown", advice=None),
    },
    "mcp": {
        "added": HOST,
        "replaced": replace(HOST, state="replaced", backup="/home/carol/.claude.json.before-scopes"),
        "unchanged": replace(HOST, state="unchanged"),
        "shown": replace(HOST, state="shown"),
        "removed": replace(HOST, state="removed", text="", backup="/home/carol/.claude.json.before-scopes"),
        "absent": replace(HOST, state="absent", text=""),
        "serving": McpServer(address="http://127.0.0.1:8321/mcp", token="k3x9k3x9k3x9k3x9"),
        "serving-known": McpServer(address="http://127.0.0.1:8321/mcp"),
    },
    "install_states": {
        "servers": McpStatus(servers=SERVER_STATES),
        "skills": SkillsStatus(skills=SKILL_STATES),
    },
    "watch": {
        "recorded": SourceRecorded(
            time="2025-12-31T23:59:58.5Z", conversation=CONVERSATION, messages=2,
            source="/home/carol/.claude/projects/-home-carol-shop/0a1b2c3d.jsonl",
        ),
        "at-the-start": SourceRecorded(time="2025-12-31T23:59:58Z", conversation=CONVERSATION, messages=1204),
    },
    "hooks": {
        "added": HOOKS,
        "replaced": replace(
            HOOKS, changes=(FileChange(HOOK_FILE, "replaced", "{}", f"{HOOK_FILE}.before-scopes-hooks"),), advice=None
        ),
        "unchanged": replace(HOOKS, changes=(FileChange(HOOK_FILE, "unchanged", "{}"),)),
        "shown": replace(HOOKS, changes=(FileChange(HOOK_FILE, "shown", HOOKS.changes[0].text),), shown=True),
        "removed": replace(HOOKS, changes=(FileChange(HOOK_FILE, "removed"),), advice=None),
        "absent": replace(HOOKS, changes=(FileChange(HOOK_FILE, "absent"),), advice=None),
        "status": HooksStatus(hooks=HOOK_STATES),
    },
    "secrets": {
        "scanned": SecretsScanned(conversations=3, unchanged=1, messages=40, size_bytes=90_000, secrets=SECRET_ROWS),
        "many-found": SecretsScanned(conversations=1, unchanged=0, messages=40, size_bytes=90_000, secrets=MANY_SECRETS),
        "nothing-found": SecretsScanned(conversations=1, unchanged=1, messages=0, size_bytes=0, secrets=()),
        "list": SecretList(
            secrets=(
                SecretGroup(
                    SECRET, "github-token", 2, 1, CONVERSATION, PROMPT.id,
                    place="message", cure=(f"scopes redact {CONVERSATION}",),
                ),
                SecretGroup(
                    SECRET[::-1], "jwt", 1, 1, CONVERSATION, None, "carol", "the sample of the documentation", "title",
                ),
                SecretGroup("0" * 32, "stripe-key", 0, 0, None, None, "carol"),
            )
        ),
        "empty-list": SecretList(secrets=()),
        "rules": SecretRules(rules=(SECRET_RULE, SecretRule("stripe-key", "sk_live_ and what has to follow", None, 0))),
        "explained": SecretExplained(id=SECRET, rule=SECRET_RULE, places=SECRET_ROWS[:1] * 2, allowed=None),
        "explained-allowed": SecretExplained(id=SECRET, rule=SECRET_RULE, places=(), allowed=ALLOWED_SECRET),
        "allowed": SecretAllowed(secret=ALLOWED_SECRET, change="allowed", operation=OPERATION),
        "removed": SecretAllowed(secret=ALLOWED_SECRET, change="removed", operation=OPERATION),
        "unchanged": SecretAllowed(secret=ALLOWED_SECRET, change="unchanged"),
    },
    "agents": {
        "list": AgentList(
            agents=(
                AgentRow(AGENT.name, AGENT, 3),
                AgentRow("carol", replace(AGENT, number=12, name="carol", type="human", available=False, capabilities=()), 1),
                AgentRow("claude-code", None, 1204),
            ),
        ),
        "crowded-list": AgentList(agents=tuple(AgentRow(each.name, each, each.number * 40) for each in TEAM)),
        "empty-list": AgentList(agents=()),
        "crowded-agent": AgentView(row=AgentRow(WIDE_NAME, TEAM[1], 3)),
        "agent": AgentView(row=AgentRow(AGENT.name, AGENT, 3)),
        "participant": AgentView(row=AgentRow("claude-code", None, 1)),
        "registered": AgentChanged(agent=AGENT, change="registered", operation=OPERATION),
        "away": AgentChanged(agent=replace(AGENT, available=False), change="away", operation=OPERATION),
        "unchanged": AgentChanged(agent=AGENT, change="unchanged"),
        "sent": Routed(
            message=PROMPT.id, oid=PROMPT.oid, conversation=CONVERSATION, branch="main", delivered_to=("reviewer", "carol"),
            queued_for=("planner",), operation=OPERATION,
        ),
        "inbox": Inbox(agent=AGENT, messages=(ReceivedMessage(entry=INBOX_ENTRY, message=received("Look at it.\nIs it safe?")), ReceivedMessage(entry=INBOX_ENTRY, message=None)), waiting=2),
        "inbox-with-ended": Inbox(
            agent=AGENT, ended=1,
            messages=(ReceivedMessage(entry=INBOX_ENTRY, message=received("Join us"), ended="the collaboration is closed"),),
        ),
        "acknowledged": Inbox(agent=AGENT, messages=(ReceivedMessage(entry=INBOX_ENTRY, message=received("Thanks")),), operation=OPERATION),
        "crowded-inbox": CROWDED_INBOX,
        "empty-inbox": Inbox(agent=AGENT, messages=()),
        "delivered": Delivered(agent=AGENT, messages=(PROMPT.id,)),
        "not-delivered": Delivered(agent=AGENT, messages=(), failed=PROMPT.id, problem="failed with exit code 1: no (tried 3 times)"),
        "card": AgentCard(card={"name": "reviewer", "skills": [{"id": "review", "tags": ["review"]}]}),
    },
    "proposals": {
        "created": ProposalCreated(
            id=PROMPT.id, oid=PROMPT.oid, conversation=CONVERSATION, branch="main", entity_type="task", entity_id="42",
            changes=PROPOSAL.changes,
        ),
        "sent": ProposalCreated(
            id=PROMPT.id, oid=PROMPT.oid, conversation=CONVERSATION, branch="main", entity_type="task", entity_id="42",
            changes=(FieldChange("owner", "delete", "bob", None),), supersedes=(CALL.id,), delivered_to=("reviewer",),
            queued_for=("carol",),
        ),
        "list": ProposalList(
            conversation=CONVERSATION, proposals=(ProposalRow(PROPOSAL, "main"), ProposalRow(SUPERSEDED_PROPOSAL, "fix")),
        ),
        "empty-list": ProposalList(conversation=CONVERSATION, proposals=()),
        "accepted": ProposalReviewed(
            conversation=CONVERSATION, branch="main", proposal=replace(PROPOSAL, state="accepted"), decision="accept",
            messages=(CALL.id,), operation=OPERATION,
        ),
        "approved": ProposalReviewed(
            conversation=CONVERSATION, branch="main", proposal=PROPOSAL, decision="approve", messages=(CALL.id,),
            operation=OPERATION, waiting_for=("bob",),
        ),
        "accepted-and-applied": ProposalReviewed(
            conversation=CONVERSATION, branch="main", proposal=replace(PROPOSAL, state="applied"), decision="accept",
            messages=(CALL.id, SECURE.id), operation=OPERATION, values=(NEW_STATUS,), expired=(PROMPT.id,),
        ),
        "rolled-back": ProposalReviewed(
            conversation=CONVERSATION, branch="main", proposal=replace(PROPOSAL, state="applied", rolled_back=True),
            decision="rollback", messages=(CALL.id,), operation=OPERATION, values=(ValueChange("status", "done", "done", None, False),),
        ),
        "tested": ProposalTested(conversation=CONVERSATION, branch="main", proposal=PROPOSAL, values=(NEW_STATUS,), expired=(CALL.id,)),
        "tested-conflict": ProposalTested(
            conversation=CONVERSATION, branch="main", proposal=PROPOSAL,
            values=(NEW_STATUS, ValueChange("owner", "bob", "carol", None, True)),
        ),
        "pending": ProposalView(conversation=CONVERSATION, branch="main", proposal=PROPOSAL, history=(PROPOSED,)),
        "crowded": ProposalView(
            conversation=CONVERSATION, branch="main", proposal=CROWDED_PROPOSAL, history=(PROPOSED._replace(author=LONG_NAME),)
        ),
        "superseded": ProposalView(
            conversation=CONVERSATION, branch="main", proposal=SUPERSEDED_PROPOSAL, history=(PROPOSED,)
        ),
        "applied": ProposalView(
            conversation=CONVERSATION, branch="main", proposal=replace(PROPOSAL, state="applied"), rollback_version=CALL.oid,
            history=(
                PROPOSED,
                ProposalEvent(CALL.id, PROMPT.oid, "accept", "accepted", "carol", format_seconds(NOW_SECONDS - 60), {"rating": 4, "feedback": "well found"}),
                ProposalEvent(CALL.id, CALL.oid, "apply", "applied", "carol", format_seconds(NOW_SECONDS - 60), {}),
            ),
        ),
    },
    "collaborations": COLLABORATIONS,
    "purge": PURGE_SAMPLES,
    "purge-offers": OFFER_SAMPLES,
    "redact": REDACT_SAMPLES,
    "remotes": REMOTE_SAMPLES,
    "facts": FACTS,
    **COMMIT_SAMPLES,
    "merge_requests": {
        "opened": MergeRequestChanged(row=REQUEST_ROW, change="opened", operation=OPERATION),
        "closed": MergeRequestChanged(row=CLOSED_ROW, change="closed", operation=OPERATION),
        "list": MergeRequestList(merge_requests=(REQUEST_ROW, CLOSED_ROW)),
        "empty-list": MergeRequestList(merge_requests=()),
        "ready": MergeRequestView(row=REQUEST_ROW, outcome="merged", messages=2),
        "conflicts": MergeRequestView(
            row=REQUEST_ROW, outcome="conflict", messages=2, conflicts=(DISAGREED, AUTO_RESOLVED),
            in_progress="conflict-resolution/fix-into-main",
        ),
        "gone": MergeRequestView(row=REQUEST_ROW, gone=("fix",), problem="branch fix does not exist"),
        "ended": MergeRequestView(row=CLOSED_ROW),
    },
    "tag": {
        "tagged": Tagged(conversation=CONVERSATION, tag="good", oid=CALL.oid, operation=OPERATION),
        "removed": Tagged(conversation=CONVERSATION, tag="good", oid=None, operation=OPERATION),
        "list": TagList(conversation=CONVERSATION, tags=(TagRow("good", CALL), TagRow("v1", PROMPT))),
        "empty-list": TagList(conversation=CONVERSATION, tags=()),
    },
    "store": {
        "init": StoreCreated(path="/home/carol/store.git", created=True),
        "init-again": StoreCreated(path="/home/carol/store.git", created=False),
        "sound": Verification(path="/s.git", conversations=2, branches=1, messages=1234, findings=()),
        "signatures": SignatureCheck(
            path="/s.git", commits=1234,
            signatures=(
                SignedCommit("ab" * 20, "Merge 2 messages", "good", "carol@example.com", "SHA256:q1", "carol", CALL.id),
                SignedCommit("ab" * 20, "took \x1b[2Jsource", "unknown key", None, "SHA256:q2", "d\x1b[2Jave"),
            ),
        ),
        "signatures-good": SignatureCheck(
            path="/s.git", commits=3,
            signatures=(SignedCommit("ab" * 20, "Merge 2 messages", "good", "carol@example.com", "SHA256:q1", "carol", CALL.id),),
        ),
        "no-signatures": SignatureCheck(path="/s.git", commits=3, signatures=()),
        "signatures-missing": SignatureCheck(
            path="/s.git", commits=3, signatures=(), required=True,
            unsigned=(UnsignedCommit("ab" * 20, "Merge \x1b[2J messages", "merge", "2026-05-06T07:08:09Z", "carol"),),
            notes=(Note("not signed, although scopes signs such commits where git does: 1 merge", "let git sign"),),
        ),
        "damaged": Verification(
            path="/s.git", conversations=2, branches=3, messages=9,
            findings=(
                Finding("error", "conv-001/main", "its history breaks off", "restore it from a backup"),
                Finding("warning", "conv-002/main", "no operation created it: a git command did"),
            ),
        ),
        "repaired": Repaired(
            path="/s.git", dry_run=False,
            repairs=(Repair("conv-001/main", "set it to " + "1" * 40), Repair("packed-refs", "write it again")),
            remaining=(Finding("error", "conv-001/main", "its history breaks off", "restore it from a backup"),),
            quarantine="/s.git/scopes-quarantine/20260101T000000000Z-000001",
        ),
        "repair-dry-run": Repaired(
            path="/s.git", dry_run=True, repairs=(Repair("a.lock", "remove it"),), remaining=(), quarantine=None
        ),
        "repair-nothing": Repaired(path="/s.git", dry_run=False, repairs=(), remaining=(), quarantine=None),
        "gc": GarbageCollected(path="/s.git", bytes_before=12_582_912, bytes_after=900, expired_operations=0, expired_refs=0),
        "gc-dry-run": GarbageCollected(
            path="/s.git", bytes_before=2048, bytes_after=None, expired_operations=1, expired_refs=1, dry_run=True,
            loose_objects=12, records=(CREATE,), refs=("refs/scopes/trash/conv-002/op/heads/main",),
        ),
        "gc-expired": GarbageCollected(
            path="/s.git", bytes_before=2048, bytes_after=1024, expired_operations=1, expired_refs=2,
            notes=(Note("git deletes later", "wait"), Note("only so")),
        ),
        "doctor": Diagnosis(
            checks=(
                Check("scopes", "ok", "1.0"),
                Check("loose objects", "warning", "about 20000", "scopes gc"),
                Check("format", "failed", "2, newer than 1", "update scopes"),
            )
        ),
    },
    "config": {
        "get": ConfigValue(key="scopes.author", value="carol", origin="user", written=False),
        "set": ConfigValue(key="scopes.author", value="carol", origin="store", written=True),
        "set-again": ConfigValue(key="scopes.author", value="carol", origin="store", written=True, before="Carol B."),
        "unset": ConfigValue(key="scopes.author", value=None, origin="user", written=True, before="carol"),
        "list": ConfigList(settings=(Setting("scopes.author", "carol", "user"), Setting("scopes.hints", "false", "flag"))),
        "list-origins": WithOptions(
            ConfigList(settings=(Setting("scopes.author", "carol", "user"),)), ViewOptions(show_origin=True)
        ),
        "list-nothing": ConfigList(settings=()),
    },
}  # fmt: skip
