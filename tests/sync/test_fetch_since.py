"""`fetch --since` takes the conversations whose last message is not older, and asks for manifests only to know."""

from __future__ import annotations

import pytest

from scopes.errors import NotFound
from scopes.sync.fetch import fetch
from scopes.sync.git_transport import GitTransport
from scopes.sync.local_conversations import Selection, make_selection
from scopes.sync.pull import pull
from scopes.sync.remotes import resolve_remote
from tests.support.forged_remotes import Forger
from tests.support.git_servers import serve_http
from tests.support.history import history, say, texts
from tests.support.recalled import recalled
from tests.support.remotes import add, connection, machine, push_to
from tests.support.store import assert_sound, git

TIMES = ("2024-03-01T10:00:00Z", "2025-03-01T10:00:00Z", "2026-03-01T10:00:00Z")


@pytest.fixture
@recalled
def three(repository, bare):
    """A remote with three conversations, of three years."""
    add(repository, bare)
    for number, time in enumerate(TIMES, 1):
        history(repository, "main: a")
        say(repository, f"conv-{number:03d}/main", f"in {time[:4]}", time=time)
    push_to(repository)
    return repository


@pytest.fixture
@recalled
def other(three, bare, tmp_path):
    """A store that has nothing yet."""
    return machine(tmp_path / "other", bare)


def since(when, **more):
    """Return a selection by the time of the last message."""
    return make_selection((), **{"everything": False, "project": None, "year": None, "since": when, **more})


def fetch_since(repository, when, remote=None, **more):
    """Fetch what has messages since a time, and return the texts of the newest messages that are here then."""
    fetched = fetch(repository, resolve_remote(repository, remote), since(when, **more), connection())
    return sorted(texts(repository, f"{row.conversation}/main")[-1] for row in fetched.conversations)


@pytest.mark.parametrize(
    ("when", "found"),
    [
        ("2023-01-01", ["in 2024", "in 2025", "in 2026"]),
        ("2025-01-01", ["in 2025", "in 2026"]),
        ("2026-03-01T10:00:00Z", ["in 2026"]),
        ("2026-03-01T10:00:01Z", []),
    ],
)
def test_the_time_of_the_last_message_counts(other, when, found):
    assert fetch_since(other, when) == found
    assert_sound(other)


def test_a_conversation_whose_last_message_is_on_another_branch_counts(three, other):
    from scopes.conversation.branch import branch

    branch(three, "conv-001", name="idea")
    say(three, "conv-001/idea", "late", time="2026-05-01T10:00:00Z")
    push_to(three)
    assert fetch_since(other, "2026-04-01") == ["in 2024"]


def test_all_conditions_have_to_be_met(other):
    assert fetch_since(other, "2999-01-01", year="2026") == []
    with pytest.raises(NotFound, match="no conversation of 1999"):
        fetch_since(other, "2025-01-01", year="1999")


def test_only_new_ones_are_taken_afterwards(three, other):
    fetch_since(other, "2026-01-01")
    say(three, "conv-002/main", "news", time="2026-06-01T10:00:00Z")
    push_to(three)
    assert fetch_since(other, "2026-05-01") == ["news"]


def test_the_manifests_come_without_messages(other, monkeypatch):
    sizes = []
    list_times = GitTransport.list_times

    def measured(transport, specs):
        found = list_times(transport, specs)
        names = git(transport._quarantine.path, "rev-list", "--objects", "--no-object-names", "--all")
        sizes.append(len(names.split()))
        return found

    monkeypatch.setattr(GitTransport, "list_times", measured)
    fetch_since(other, "2999-01-01")
    assert 0 < sizes[0] <= 3 * 10  # a commit, its tree, the manifest and the metadata of each


def test_it_works_over_http(other, bare):
    with serve_http(bare.rpartition("/")[0]) as server:
        add(other, f"{server.address}/bare.git", "web")
        assert fetch_since(other, "2026-01-01", "web") == ["in 2026"]


def test_a_bad_conversation_that_is_old_is_left_alone(three, bare, other):
    for ref in git(bare, "for-each-ref", "--format=%(refname)").split()[1:]:
        git(bare, "update-ref", "-d", ref)
    forger = Forger(bare)
    forger.publish(meta=forger.meta_tree(b"evil"))
    assert fetch_since(other, "2999-01-01") == []


def test_a_pull_takes_it_too(three, other):
    pulled = pull(other, resolve_remote(other, None), since("2025-01-01"), connection())
    assert len(pulled.fetched.conversations) == 2
    assert len(pull(other, resolve_remote(other, None), Selection(), connection()).fetched.conversations) == 1
