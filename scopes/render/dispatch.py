"""Write a Result as text: by the function for its class, otherwise as its class describes it (see `table`).

A module of `text` is imported when one of its Results is first shown. The functions are found by the name of the class,
so that this module does not import those which define the Results.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from scopes.result import Result

if TYPE_CHECKING:
    from scopes.render.view import View

# The function for each class of Results, and for its subclasses, as `module.function`.
VIEWS: dict[str, str] = {
    "Checked": "check.render_checked",
    "RuleExplained": "check.render_rule_explained",
    "RuleTests": "check.render_rule_tests",
    "RunComparison": "check.render_run_comparison",
    "BlameList": "claims.render_blame_list",
    "CollaborationReport": "collaborations.render_collaboration_report",
    "ConflictList": "conflicts.render_conflict_list",
    "ConflictResolved": "conflicts.render_conflict_resolved",
    "ConflictView": "conflicts.render_conflict_view",
    "Budget": "context.render_budget",
    "Context": "context.render_context",
    "HistoryBlock": "context.render_history_block",
    "ContextDifference": "context_diff.render_context_difference",
    "ConversationView": "conversation.render_conversation_view",
    "Difference": "diff.render_difference",
    "CommitAccount": "diff_commit.render_commit_account",
    "ConversationList": "list.render_conversation_list",
    "Log": "log.render_log",
    "LogEntry": "log.render_log_entry",
    "FastForwarded": "merge.render_fast_forwarded",
    "MergeAborted": "merge.render_aborted",
    "MergeConflicted": "merge.render_conflicted",
    "Merged": "merge.render_merged",
    "UpToDate": "merge.render_up_to_date",
    "MessageAmended": "message.render_message_amended",
    "MessageAppended": "message.render_message_appended",
    "MessageView": "message.render_message_view",
    "RangeDifference": "range_diff.render_range_difference",
    "ReplayAborted": "replay.render_replay_aborted",
    "ReplayConflicted": "replay.render_replay_conflicted",
    "ReplayUpToDate": "replay.render_replay_up_to_date",
    "Replayed": "replay.render_replayed",
    "Search": "search.render_search",
    "SearchCoverage": "search.render_search_coverage",
    "SearchHit": "search.render_search_hit",
    "UsageStatus": "statusline.render_usage_status",
    "Usage": "usage.render_usage",
    "Why": "why.render_why",
    "WhyLines": "why.render_why_lines",
}


def render_text(result: Result, view: View) -> None:
    """Write a result as text into a view.

    Raises:
        TypeError: there is no function for its class, and it says nothing about itself.
    """
    place = next((VIEWS[kind.__name__] for kind in type(result).__mro__ if kind.__name__ in VIEWS), None)
    if place is None:
        from scopes.render.table import write_result

        write_result(result, view)
        return
    module, _, function = place.partition(".")
    getattr(import_module(f"scopes.render.text.{module}"), function)(result, view)
