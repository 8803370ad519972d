"""Run every verb on a real store and render its Result as text and JSON."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scopes.check.check import check
from scopes.check.explain import explain_rule, list_rules
from scopes.check.policy import Policy
from scopes.context.context import context
from scopes.context.context_diff import diff_contexts
from scopes.context.count import count_conversation
from scopes.context.history_block import HistoryRequest, history
from scopes.context.request import Request
from scopes.conversation.append import amend, append, retract
from scopes.conversation.branch import abandon, branch, delete_tag, list_branches, list_tags, rewind, switch, tag
from scopes.conversation.changes import changes
from scopes.conversation.conflicts import escalate_conflict, list_conflicts, resolve_conflict, show_conflict
from scopes.conversation.decisions import decisions, withdraw_decision
from scopes.conversation.diff import range_diff
from scopes.conversation.list import list_conversations
from scopes.conversation.log import bisect, log
from scopes.conversation.merge import (
    close_merge_request,
    continue_merge,
    list_merge_requests,
    merge,
    open_merge_request,
    show_merge_request,
)
from scopes.conversation.new_rename_delete import (
    delete,
    delete_branch,
    new,
    rename_branch,
    rename_conversation,
    rename_title,
)
from scopes.conversation.show import cat, show
from scopes.conversation.stats import files, stats
from scopes.conversation.store import gc, list_settings, set_setting
from scopes.conversation.undo import list_operations, redo, show_operation, undo
from scopes.conversation.verify import doctor, repair, verify
from scopes.history.handles import resolve_scope
from scopes.history.messages import plain_message
from scopes.importers.import_sample import import_sample
from scopes.live.event_log import EventLog
from scopes.memory.actions import done, list_actions
from scopes.memory.add import add
from scopes.memory.context import context as memory_context
from scopes.memory.decision_candidates import accept_candidate, dismiss_candidate, list_candidates
from scopes.memory.list import list_memory, show_memory
from scopes.memory.prune import prune
from scopes.memory.search import search as search_memory
from scopes.memory.stats import stats as memory_stats
from scopes.memory.summaries import list_summaries
from scopes.memory.summarize import summarize
from scopes.memory.uncompact import uncompact
from scopes.memory.update import update
from scopes.model.message import Author
from scopes.proposals.list import list_proposals
from scopes.render.view_options import ViewOptions
from scopes.search.run import search
from scopes.secrets.list import explain_rules, list_secrets
from scopes.secrets.scan import scan as scan_secrets
from scopes.server.acp.acp_events import acp_log, acp_stats
from scopes.tokens.count import RankFilePaths, choose_tokenizer
from scopes.usage.prices import read_prices
from scopes.usage.usage import UsageRequest, usage
from tests.render.hostile import forbidden
from tests.render.rendering import document, draw_mermaid, piped, seen
from tests.render.with_options import WithOptions

SAMPLE, MERGED = "conv-001", "login-bug"


def estimated(repo):
    """A tokenizer without rank files, which estimates."""
    return choose_tokenizer(RankFilePaths(repo.path + ".cache"))


COUNTER = SimpleNamespace(method="exact", count=len, prepare=list)


def log_event(repo):
    """Write a line into an `acp.log` and return its directory."""
    EventLog(repo.path, agent="stub").write("session", way="new")
    return repo.path


READS = {
    "list": list_conversations,
    "show": lambda repo: show(repo, SAMPLE, include_hidden=True),
    "mermaid": lambda repo: draw_mermaid(repo, SAMPLE),
    "branch": lambda repo: list_branches(repo, SAMPLE),
    "log": lambda repo: log(repo, SAMPLE, all_branches=True),
    "log --oneline": lambda repo: WithOptions(
        log(repo, SAMPLE, all_branches=True, bodies=False), ViewOptions(oneline=True)
    ),
    "log --graph": lambda repo: WithOptions(log(repo, SAMPLE, all_branches=True, graph=True), ViewOptions(graph=True)),
    "cat": lambda repo: cat(repo, SAMPLE),
    "cat --raw": lambda repo: WithOptions(cat(repo, SAMPLE), ViewOptions(raw=True)),
    "tag": lambda repo: list_tags(repo, SAMPLE),
    "files": lambda repo: files(repo, SAMPLE),
    "decisions": lambda repo: decisions(repo, SAMPLE),
    "proposals": lambda repo: list_proposals(repo, SAMPLE, include_closed=True),
    "bisect": lambda repo: bisect(repo, SAMPLE, lambda point: int(point.oid > "7"), verify=False),
    "range-diff": lambda repo: range_diff(repo, ["main", "analysis/security-review"], conversation=SAMPLE),
    "usage": lambda repo: usage(repo, UsageRequest(by=("day", "model")), read_prices()),
    "stats": lambda repo: stats(repo, SAMPLE),
    "search": lambda repo: search(repo, "login OR security", index_directory=repo.path + "-index", context=1),
    "changes": lambda repo: changes(repo, SAMPLE),
    "operations list": list_operations,
    "operations show": lambda repo: show_operation(repo, list_operations(repo).operations[0].id),
    "config list": lambda repo: list_settings(repo.config),
    "tokens count": lambda repo: count_conversation(repo, SAMPLE, estimated(repo), repo.path + ".cache"),
    "context": lambda repo: context(
        repo, Request(where=SAMPLE, max_tokens=900, project=repo.path), estimated(repo), repo.path + ".cache"
    ),
    "context --diff": lambda repo: diff_contexts(
        repo, Request(max_tokens=900), estimated(repo), repo.path + ".cache", (SAMPLE, "main~2..main")
    ),
    "history": lambda repo: history(repo, HistoryRequest(where=SAMPLE), estimated(repo)),
    "secrets scan": lambda repo: scan_secrets(repo, index_directory=repo.path + "-index"),
    "secrets list": lambda repo: list_secrets(repo, index_directory=repo.path + "-index"),
    "secrets explain": lambda repo: explain_rules(repo, index_directory=repo.path + "-index"),
    "verify": verify,
    "check --list": lambda _: list_rules(Policy()),
    "check --explain": lambda _: explain_rule(Policy(), "run/empty"),
    "check": lambda repo: check(repo, [(SAMPLE, resolve_scope(repo, SAMPLE))], Policy()),
    "repair": repair,
    "doctor": doctor,
}
WRITES = {
    "import --sample": import_sample,
    "append": lambda repo: append(repo, SAMPLE, plain_message("carol", "hello")),
    "amend": lambda repo: amend(repo, SAMPLE, SAMPLE, "better", author=Author("carol")),
    "say a decision": lambda repo: append(
        repo, SAMPLE, plain_message("carol", "We decided to use SQLite. We agreed on tabs.")
    ),
    "decisions --candidates": lambda repo: list_candidates(repo, SAMPLE),
    "decisions accept": lambda repo: accept_candidate(
        repo, SAMPLE, list_candidates(repo, SAMPLE).candidates[-1].id, author=Author("carol")
    ),
    "decisions dismiss": lambda repo: dismiss_candidate(
        repo, SAMPLE, list_candidates(repo, SAMPLE).candidates[-1].id, author=Author("carol")
    ),
    "decisions withdraw": lambda repo: withdraw_decision(
        repo, SAMPLE, "cookies", author=Author("carol"), branch="analysis/security-review", dry_run=True
    ),
    "retract": lambda repo: retract(repo, SAMPLE, f"{SAMPLE}~1", "", author=Author("carol")),
    "summarize --dry-run": lambda repo: summarize(repo, SAMPLE, COUNTER, dry_run=True),
    "summarize": lambda repo: summarize(repo, SAMPLE, COUNTER),
    "compact": lambda repo: summarize(repo, SAMPLE, COUNTER, include_all=True, compact=True),
    "uncompact": lambda repo: uncompact(repo, SAMPLE, author=Author("carol")),
    "summarize --status": lambda repo: list_summaries(repo, SAMPLE),
    "memory update": update,
    "memory add": lambda repo: add(repo, "Reset every Monday.", agent="carol", actions=["tell them"]),
    "memory list": list_memory,
    "memory show": lambda repo: show_memory(repo, list_memory(repo).entries[0].id),
    "memory search": lambda repo: search_memory(repo, "monday"),
    "memory context": memory_context,
    "memory stats": memory_stats,
    "acp stats": lambda repo: acp_stats(log_event(repo)),
    "acp log": lambda repo: acp_log(log_event(repo)),
    "memory actions": list_actions,
    "memory done": lambda repo: done(repo, list_actions(repo).actions[0].item.id),
    "memory prune": lambda repo: prune(repo, max_entries=0),
    "new": lambda repo: new(repo, title="another"),
    "new branch": lambda repo: branch(repo, SAMPLE, name="try"),
    "switch": lambda repo: switch(repo, SAMPLE, "main"),
    "rewind": lambda repo: rewind(repo, SAMPLE),
    "rename the title": lambda repo: rename_title(repo, SAMPLE, "another title"),
    "rename the branch": lambda repo: rename_branch(repo, SAMPLE, "try", "tried"),
    "abandon": lambda repo: abandon(repo, SAMPLE, "tried"),
    "undo": undo,
    "redo": redo,
    "tag it": lambda repo: tag(repo, SAMPLE, "v1"),
    "delete the tag": lambda repo: delete_tag(repo, SAMPLE, "v1"),
    "delete-branch": lambda repo: delete_branch(repo, SAMPLE, "tried", force=True),
    "delete": lambda repo: delete(repo, "conv-002"),
    "rename": lambda repo: rename_conversation(repo, SAMPLE, "login-bug"),
    "config set": lambda repo: set_setting(repo, "/nowhere", "scopes.hints", "false", level="store"),
    "gc": gc,
    "merge": lambda repo: merge(repo, MERGED, "analysis/security-review", target="main"),
    "merge that stops": lambda repo: merge(repo, MERGED, "alternative-solution/general-purpose", target="main"),
    "merge dry-run": lambda repo: merge(repo, MERGED, "analysis/security-review", target="main", dry_run=True),
    "conflicts list": lambda repo: list_conflicts(repo, MERGED),
    "merge-requests open": lambda repo: open_merge_request(
        repo, MERGED, "alternative-solution/general-purpose", title="Another way", requester=Author("carol")
    ),
    "merge-requests list": list_merge_requests,
    "merge-requests show": lambda repo: show_merge_request(repo, MERGED, "1"),
    "merge-requests close": lambda repo: close_merge_request(repo, MERGED, "1", author=Author("carol")),
    "conflicts show": lambda repo: show_conflict(repo, MERGED, "1"),
    "conflicts escalate": lambda repo: escalate_conflict(repo, MERGED, "1", to="carol", author=Author("erin", "human")),
    "conflicts resolve": lambda repo: resolve_conflict(
        repo, MERGED, "1", take="source", author=Author("erin", "human")
    ),
    "merge --continue": lambda repo: continue_merge(repo, MERGED),
}


@pytest.fixture
def sample(repository):
    """A store with the sample in it."""
    import_sample(repository)
    return repository


def show_in_every_way(perform):
    """Render the result of `perform` on two terminals, in a pipe and as JSON."""
    shown = [seen(perform(), 80), seen(perform(), 200, color=False), piped(perform())]
    for text in shown:
        assert forbidden(text.replace("\t", "")) == []
    assert document(perform())["scopes"] == 1
    return shown


@pytest.mark.parametrize("verb", READS)
def test_what_is_read_can_be_shown_in_every_way(verb, sample):
    shown = show_in_every_way(lambda: READS[verb](sample))
    if verb not in {"verify", "repair", "config list", "secrets scan", "secrets list"}:
        assert all(shown)


def test_what_is_written_can_be_shown_in_every_way(sample):
    for perform in WRITES.values():
        result = perform(sample)
        assert all(show_in_every_way(lambda result=result: result))


def test_a_script_can_feed_one_command_with_the_output_of_another(repository):
    """S4-1, S4-2: id=$(scopes new); branch=$(scopes branch $id fix); message=$(scopes append ...)."""
    conversation = piped(new(repository)).strip()
    name = piped(branch(repository, conversation, name="fix")).strip()
    message = piped(append(repository, f"{conversation}", plain_message("carol", "hi"), branch=name)).strip()
    assert "hi" in piped(cat(repository, message))
    assert piped(log(repository, f"{conversation}/{name}")).startswith(f"{message}\t")
    rename_title(repository, conversation, "a title")
    operation = piped(list_operations(repository)).split("\t")[0]
    undo(repository, operation)
    assert show(repository, conversation).title is None
