"""Read-only verbs do not change a byte of the store (S1-27)."""

from __future__ import annotations

import pytest

from scopes.check.check import check
from scopes.check.policy import Policy
from scopes.conversation.branch import branch, list_branches, list_tags, tag
from scopes.conversation.changes import changes
from scopes.conversation.commits import show_commits
from scopes.conversation.decisions import decisions
from scopes.conversation.diff import range_diff
from scopes.conversation.list import list_conversations
from scopes.conversation.log import LogFilter, bisect, log
from scopes.conversation.merge import list_merge_requests, open_merge_request, show_merge_request
from scopes.conversation.show import cat, show
from scopes.conversation.stats import files, stats
from scopes.conversation.store import list_settings
from scopes.conversation.undo import list_operations, show_operation
from scopes.history.handles import resolve_scope
from scopes.memory.decision_candidates import list_candidates
from scopes.model.message import Author
from scopes.proposals.list import list_proposals
from scopes.secrets.list import list_secrets
from scopes.secrets.scan import scan as scan_secrets
from scopes.store import transactions as recovery
from scopes.store.transactions import exclusive_write
from scopes.usage.prices import read_prices
from scopes.usage.usage import UsageRequest, usage
from tests.support.history import history, say
from tests.support.kills import dying_after_commit
from tests.support.store import files_of, git, open_store

READERS = {
    "list": list_conversations,
    "show": lambda r: show(r, "conv-001", include_hidden=True),
    "show --commits": lambda r: show_commits(r, "conv-001", directory="/", index_directory=r.path + "-lines"),
    "log": lambda r: tuple(log(r, "conv-001", all_branches=True, only=LogFilter(author="carol")).items),
    "range": lambda r: tuple(log(r, "conv-001/main...fix").items),
    "cat": lambda r: cat(r, "conv-001/v1"),
    "branches": lambda r: list_branches(r, "conv-001"),
    "tags": lambda r: list_tags(r, "conv-001"),
    "files": lambda r: files(r, "conv-001"),
    "decisions": lambda r: decisions(r, "conv-001"),
    "check": lambda r: check(r, [("conv-001", resolve_scope(r, "conv-001"))], Policy()),
    "bisect": lambda r: bisect(r, "conv-001", lambda point: int(point.oid > "7"), verify=False),
    "range-diff": lambda r: range_diff(r, ["main", "fix"], conversation="conv-001"),
    "usage": lambda r: usage(r, UsageRequest(), read_prices()),
    "stats": lambda r: stats(r, "conv-001"),
    "changes": lambda r: changes(r, "conv-001"),
    "decision candidates": lambda r: list_candidates(r, "conv-001"),
    "merge requests": lambda r: list_merge_requests(r, state="all"),
    "merge request": lambda r: show_merge_request(r, "conv-001", "1"),
    "proposals": lambda r: list_proposals(r, "conv-001", include_closed=True),
    "secrets": lambda r: scan_secrets(r, index_directory=r.path + "-index").secrets,
    "list of secrets": lambda r: list_secrets(r, index_directory=r.path + "-index"),
    "operations": list_operations,
    "operation": lambda r: show_operation(r, list_operations(r).operations[0].id),
    "settings": lambda r: list_settings(r.config),
}
every_reader = pytest.mark.parametrize("read", READERS.values(), ids=READERS)


@pytest.fixture
def populated(repository):
    """Create a conversation for which every read-only verb has a result."""
    history(repository, "main: a b", "fix: c")
    say(
        repository,
        "conv-001",
        "x",
        kind="decision",
        decision={"topic": "t", "decision": "d"},
        files=[{"path": "p", "op": "edit"}],
    )
    tag(repository, "conv-001", "v1")
    open_merge_request(repository, "conv-001", "fix", title="Fix", requester=Author("carol", "human"))
    return repository


@every_reader
def test_reading_changes_no_byte_of_the_store(populated, read):
    """S1-27."""
    before = files_of(populated.path)
    first = read(populated)
    assert read(open_store(populated.path)) == first
    assert files_of(populated.path) == before


@every_reader
def test_a_packed_store_reads_the_same(populated, read):
    before = read(populated)
    git(populated, "gc", "-q")
    assert read(open_store(populated.path)) == before
    assert read(populated) == before


@every_reader
def test_a_store_of_a_newer_format_is_read(populated, read):
    """P17."""
    settings = read is READERS["settings"]
    before = read(populated)
    git(populated, "config", "scopes.formatVersion", "99")
    assert (read(open_store(populated.path)) == before) is not settings


@every_reader
def test_a_reader_sees_a_committed_operation_before_its_refs_have_moved(populated, read, monkeypatch):
    """P3, P6: and the reader does not complete the operation."""
    with monkeypatch.context() as fault:
        fault.setattr(recovery, "set_ref", dying_after_commit(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            branch(populated, "conv-001", name="new", start="fix")
    before = files_of(populated.path)
    seen = read(open_store(populated.path))
    assert files_of(populated.path) == before
    with exclusive_write(populated):
        assert read(populated) == seen
