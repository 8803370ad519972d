"""scopes: git for agent conversations.

One message is one commit in a real git object database; branches, merges and history walks are git's own.

    import scopes

    with scopes.open_store(create=True, author="alice") as store:
        conversation = store.new("Login fails on Safari")
        conversation.append("The cookie is set twice.")
        for message in conversation.log():
            print(message.author.name, message.text)

`open_store` returns a `Store`, whose methods return handles (`Conversation`, `Branch`), values (`Message`, `Revision`)
and results (`Merged`, `MergeConflicted`, ...). All exceptions are `ScopesError`. The `hint` of an exception tells a
user of the command line what to do: it names commands and options, not methods.

The names below are loaded at first use (PEP 562): the command line, which lives in `scopes.cli`, has to start quickly.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scopes.agents.agent import Agent, AgentType
    from scopes.agents.inbox import Inbox
    from scopes.agents.list import AgentList, AgentRow
    from scopes.agents.received import InboxEntry, ReceivedMessage
    from scopes.agents.register import AgentChanged
    from scopes.agents.send import Routed
    from scopes.api.conversation import Branch, Conversation, MessageFields
    from scopes.api.store import Store, open_store
    from scopes.collaboration.collaboration import (
        Collaboration,
        CollaborationChanged,
        CollaborationReport,
        CollaborationStarted,
        CollaborationType,
    )
    from scopes.context.result import Context
    from scopes.conversation.append import MessageAmended, MessageAppended
    from scopes.conversation.branch import BranchCreated, BranchRewound, BranchSwitched, Tagged, TagList
    from scopes.conversation.changes import Change
    from scopes.conversation.conflicts import ConflictList, ConflictResolved, ConflictView
    from scopes.conversation.decisions import DecisionList, DecisionRow, DecisionWithdrawn
    from scopes.conversation.diff import Difference, RangeDifference, RangePair
    from scopes.conversation.list import ConversationList
    from scopes.conversation.log import Bisection, BisectPoint, LogFilter
    from scopes.conversation.merge import (
        FastForwarded,
        MergeAborted,
        MergeConflicted,
        Merged,
        MergeOutcome,
        MergeRequestChanged,
        MergeRequestList,
        MergeRequestRow,
        MergeRequestView,
        UpToDate,
    )
    from scopes.conversation.rebase import ReplayAborted, ReplayConflicted, Replayed, ReplayOutcome, ReplayUpToDate
    from scopes.conversation.show import BranchRow, ConversationView, MessageView
    from scopes.conversation.stats import FileList, FileRow
    from scopes.conversation.undo import Undone
    from scopes.errors import (
        Ambiguous,
        BudgetExhausted,
        Busy,
        CannotImport,
        Conflicted,
        Corrupt,
        Inaccessible,
        Invalid,
        NoAvailableAgents,
        NotFound,
        Refused,
        ScopesError,
        TooNew,
    )
    from scopes.exporters.export import Exported, ExportFormat
    from scopes.facts.cycle import Cycle
    from scopes.facts.decide import FactDecided, FactPromoted
    from scopes.facts.fact import Fact, HumanDecision, ProposedFact, Provenance, Question
    from scopes.facts.list import (
        FactList,
        FactRow,
        FactView,
        ProposedFactList,
        ProposedFactView,
        ProposedRow,
        QuestionRow,
    )
    from scopes.facts.propose import FactProposed
    from scopes.facts.run import FactRun
    from scopes.facts.validation import ValidationError
    from scopes.handover.checkout import CheckedOut
    from scopes.history.messages import MessageHeader
    from scopes.history.metadata import Metadata
    from scopes.history.names import Revision
    from scopes.importers.results import ConversationImported, Imported, SourceImported
    from scopes.index.caches import ConversationRow
    from scopes.memory.decision_candidates import CandidateList, DecisionAccepted, DecisionCandidate
    from scopes.merge.conflicts import ConflictRow
    from scopes.merge.resolve import MergeStrategy
    from scopes.model.conflicts import ConflictSide
    from scopes.model.conversation import BranchEntry, MergeRequest
    from scopes.model.message import Argument, Author, Evidence, Message, MessageKind, Part, Position
    from scopes.proposals.list import ProposalEvent, ProposalList, ProposalRow, ProposalView
    from scopes.proposals.proposal import FieldChange, Proposal
    from scopes.proposals.review import ProposalCreated, ProposalReviewed, ValueChange
    from scopes.result import Note, Result
    from scopes.search.run import Search, SearchCoverage, SearchHit
    from scopes.usage.usage import Usage, UsageRow

__version__ = "0.1.0"
_MODULES = {
    "scopes.agents.agent": "Agent AgentType",
    "scopes.agents.inbox": "Inbox",
    "scopes.agents.list": "AgentList AgentRow",
    "scopes.agents.received": "InboxEntry ReceivedMessage",
    "scopes.agents.register": "AgentChanged",
    "scopes.agents.send": "Routed",
    "scopes.api.conversation": "Branch Conversation MessageFields",
    "scopes.api.store": "open_store Store",
    "scopes.collaboration.collaboration": "Collaboration CollaborationChanged CollaborationReport CollaborationStarted "
    "CollaborationType",
    "scopes.context.result": "Context",
    "scopes.conversation.append": "MessageAmended MessageAppended",
    "scopes.conversation.branch": "BranchCreated BranchRewound BranchSwitched Tagged TagList",
    "scopes.conversation.changes": "Change",
    "scopes.conversation.conflicts": "ConflictList ConflictResolved ConflictView",
    "scopes.conversation.decisions": "DecisionList DecisionRow DecisionWithdrawn",
    "scopes.conversation.diff": "Difference RangeDifference RangePair",
    "scopes.conversation.list": "ConversationList",
    "scopes.conversation.log": "Bisection BisectPoint LogFilter",
    "scopes.conversation.merge": "FastForwarded MergeAborted MergeConflicted Merged MergeOutcome MergeRequestChanged "
    "MergeRequestList MergeRequestRow MergeRequestView UpToDate",
    "scopes.conversation.show": "BranchRow ConversationView MessageView",
    "scopes.conversation.stats": "FileList FileRow",
    "scopes.conversation.undo": "Undone",
    "scopes.errors": (
        "Ambiguous BudgetExhausted Busy CannotImport Conflicted Corrupt Inaccessible Invalid "
        "NoAvailableAgents NotFound Refused ScopesError TooNew"
    ),
    "scopes.exporters.export": "Exported ExportFormat",
    "scopes.facts.cycle": "Cycle",
    "scopes.facts.decide": "FactDecided FactPromoted",
    "scopes.facts.fact": "Fact HumanDecision ProposedFact Provenance Question",
    "scopes.facts.list": "FactList FactRow FactView ProposedFactList ProposedFactView ProposedRow QuestionRow",
    "scopes.facts.propose": "FactProposed",
    "scopes.facts.run": "FactRun",
    "scopes.facts.validation": "ValidationError",
    "scopes.handover.checkout": "CheckedOut",
    "scopes.history.messages": "MessageHeader",
    "scopes.history.metadata": "Metadata",
    "scopes.history.names": "Revision",
    "scopes.importers.results": "ConversationImported Imported SourceImported",
    "scopes.index.caches": "ConversationRow",
    "scopes.memory.decision_candidates": "CandidateList DecisionAccepted DecisionCandidate",
    "scopes.merge.conflicts": "ConflictRow",
    "scopes.conversation.rebase": "ReplayAborted ReplayConflicted Replayed ReplayOutcome ReplayUpToDate",
    "scopes.merge.resolve": "MergeStrategy",
    "scopes.model.conflicts": "ConflictSide",
    "scopes.model.conversation": "BranchEntry MergeRequest",
    "scopes.model.message": "Argument Author Evidence Message MessageKind Part Position",
    "scopes.proposals.list": "ProposalEvent ProposalList ProposalRow ProposalView",
    "scopes.proposals.proposal": "FieldChange Proposal",
    "scopes.proposals.review": "ProposalCreated ProposalReviewed ValueChange",
    "scopes.result": "Note Result",
    "scopes.search.run": "Search SearchCoverage SearchHit",
    "scopes.usage.usage": "Usage UsageRow",
}
__all__ = [
    "Agent",
    "AgentChanged",
    "AgentList",
    "AgentRow",
    "AgentType",
    "Ambiguous",
    "Argument",
    "Author",
    "BisectPoint",
    "Bisection",
    "Branch",
    "BranchCreated",
    "BranchEntry",
    "BranchRewound",
    "BranchRow",
    "BranchSwitched",
    "BudgetExhausted",
    "Busy",
    "CandidateList",
    "CannotImport",
    "Change",
    "CheckedOut",
    "Collaboration",
    "CollaborationChanged",
    "CollaborationReport",
    "CollaborationStarted",
    "CollaborationType",
    "ConflictList",
    "ConflictResolved",
    "ConflictRow",
    "ConflictSide",
    "ConflictView",
    "Conflicted",
    "Context",
    "Conversation",
    "ConversationImported",
    "ConversationList",
    "ConversationRow",
    "ConversationView",
    "Corrupt",
    "Cycle",
    "DecisionAccepted",
    "DecisionCandidate",
    "DecisionList",
    "DecisionRow",
    "DecisionWithdrawn",
    "Difference",
    "Evidence",
    "ExportFormat",
    "Exported",
    "Fact",
    "FactDecided",
    "FactList",
    "FactPromoted",
    "FactProposed",
    "FactRow",
    "FactRun",
    "FactView",
    "FastForwarded",
    "FieldChange",
    "FileList",
    "FileRow",
    "HumanDecision",
    "Imported",
    "Inaccessible",
    "Inbox",
    "InboxEntry",
    "Invalid",
    "LogFilter",
    "MergeAborted",
    "MergeConflicted",
    "MergeOutcome",
    "MergeRequest",
    "MergeRequestChanged",
    "MergeRequestList",
    "MergeRequestRow",
    "MergeRequestView",
    "MergeStrategy",
    "Merged",
    "Message",
    "MessageAmended",
    "MessageAppended",
    "MessageFields",
    "MessageHeader",
    "MessageKind",
    "MessageView",
    "Metadata",
    "NoAvailableAgents",
    "NotFound",
    "Note",
    "Part",
    "Position",
    "Proposal",
    "ProposalCreated",
    "ProposalEvent",
    "ProposalList",
    "ProposalReviewed",
    "ProposalRow",
    "ProposalView",
    "ProposedFact",
    "ProposedFactList",
    "ProposedFactView",
    "ProposedRow",
    "Provenance",
    "Question",
    "QuestionRow",
    "RangeDifference",
    "RangePair",
    "ReceivedMessage",
    "Refused",
    "ReplayAborted",
    "ReplayConflicted",
    "ReplayOutcome",
    "ReplayUpToDate",
    "Replayed",
    "Result",
    "Revision",
    "Routed",
    "ScopesError",
    "Search",
    "SearchCoverage",
    "SearchHit",
    "SourceImported",
    "Store",
    "TagList",
    "Tagged",
    "TooNew",
    "Undone",
    "UpToDate",
    "Usage",
    "UsageRow",
    "ValidationError",
    "ValueChange",
    "__version__",
    "open_store",
]


def __getattr__(name: str) -> object:
    """Load a name of the API."""
    module = next((module for module, names in _MODULES.items() if name in names.split()), None)
    if module is None:
        raise AttributeError(f"module 'scopes' has no attribute {name!r}")
    __import__(module)
    return getattr(sys.modules[module], name)


def __dir__() -> list[str]:
    """List the API."""
    return sorted(__all__)
