"""`list`: all conversations, most recently active first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.clock import parse_time
from scopes.conversation.append import append
from scopes.conversation.branch import abandon, list_branches, switch, tag
from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.list import ListFilter, find_cached_list, list_conversations
from scopes.conversation.merge import continue_merge, merge
from scopes.conversation.new_rename_delete import delete, new
from scopes.conversation.show import show
from scopes.conversation.undo import undo
from scopes.history.messages import plain_message, write_root_commit
from scopes.history.names import read_active_branch
from scopes.model.conversation import Root
from scopes.model.message import Author
from scopes.store.projects import find_project, read_project
from tests.support.history import history, say
from tests.support.store import git, remove_object


def test_an_empty_store_has_no_conversations(repository):
    assert list_conversations(repository).conversations == ()


def test_a_row_has_id_participants_branches_and_last_activity(repository):
    """S4-53."""
    new(repository, participants=["reviewer"])
    say(repository, "conv-001", "a", author="dave")
    say(repository, "conv-001", "b", author="carol", time="2026-03-01T10:00:00Z")
    [row] = list_conversations(repository).conversations
    assert (row.id, row.participants, row.branches) == ("conv-001", ("carol", "dave", "reviewer"), 1)
    assert row.last_activity == "2026-03-01T10:00:00Z"


def test_conversations_are_sorted_by_last_activity_then_by_id(repository):
    for name, time in (("b", "2026-03-01T10:00:00Z"), ("old", "2026-02-01T10:00:00Z"), ("a", "2026-03-01T10:00:00Z")):
        new(repository, conversation_id=name)
        say(repository, name, "x", time=time)
    assert [row.id for row in list_conversations(repository).conversations] == ["a", "b", "old"]


def test_the_last_activity_is_that_of_the_most_recent_branch(repository):
    history(repository, "main: a", "fix: b")
    say(repository, "conv-001/fix", "c", time="2026-05-01T00:00:00Z")
    assert list_conversations(repository).conversations[0].last_activity == "2026-05-01T00:00:00Z"


def test_without_a_title_the_first_prompt_is_listed(repository):
    history(repository, "main: a b")
    say(repository, new(repository).id, "(no text)")
    people = new(repository).id
    for kind, text in (("injected", "<rules>"), ("agent", "hello"), ("human", "fix it"), ("human", "thanks")):
        append(repository, people, plain_message(Author("x", kind), text))
    say(repository, new(repository, title="Login").id, "c")
    new(repository)
    rows = list_conversations(repository).conversations
    assert {row.id: row.opening for row in rows} == {
        "conv-001": "a", "conv-002": None, "conv-003": "fix it", "conv-004": None, "conv-005": None,
    }  # fmt: skip


def test_the_prompt_of_a_sub_agent_is_preferred_to_its_answer(repository):
    name = new(repository).id
    for kind, author_kind, text in (
        ("meta", "injected", "<rules>"),
        ("prompt", "injected", "Review it."),
        ("answer", "agent", "{}"),
    ):
        append(repository, name, plain_message(Author("x", author_kind), text, kind=kind))
    assert list_conversations(repository).conversations[0].heading == "Review it."


def test_the_complete_list_has_title_root_active_branch_and_message_count(repository):
    made = new(repository, title="Login")
    say(repository, "conv-001", "a")
    other = history(repository, "main: a b", "fix@a: c", "same@b:")
    switch(repository, "conv-002", "fix")
    second, first = list_conversations(repository).conversations
    assert (first.title, first.uuid, first.messages, first.active_branch) == ("Login", made.uuid, 1, "main")
    assert first.created_at == "2026-01-01T00:00:00.000Z"
    assert (second.id, second.messages, second.branches) == (other.conversation, 3, 3)
    assert (second.active_branch, second.title, second.source) == ("fix", None, None)


def test_participants_of_all_branches_are_listed_once(repository):
    names = ["a b", "日本", "x/y", "100%", ".git", "Carol", "carol"]
    history(repository, "main: m", "fix: n", author="zoe")
    for number, name in enumerate(names):
        say(repository, f"conv-001/{('main', 'fix')[number % 2]}", "x", author=name)
    assert list_conversations(repository).conversations[0].participants == tuple(sorted([*names, "zoe"]))


def test_an_abandoned_branch_and_a_deleted_conversation_are_not_counted(repository):
    """S4-8: an abandoned branch is hidden from lists, but its history is kept."""
    history(repository, "main: a", "fix: b")
    history(repository, "main: c")
    abandon(repository, "conv-001", "fix")
    delete(repository, "conv-002")
    for _ in range(2):
        [row] = list_conversations(repository).conversations
        assert (row.id, row.branches) == ("conv-001", 1)
    assert row.messages == 2


@pytest.mark.parametrize("undone", [False, True])
def test_the_branch_of_a_closed_conflict_is_not_counted_or_listed(repository, undone):
    history(repository, "main: a", "fix@a: b")
    for branch, word in (("main", "files"), ("fix", "SQLite")):
        say(repository, f"conv-001/{branch}", "", kind="decision", decision={"topic": "db", "decision": word})
    merge(repository, "conv-001", "fix", target="main")
    name = read_active_branch(repository, "conv-001")
    assert [row.branches for row in list_conversations(repository).conversations] == [3]
    resolve_conflict(repository, "conv-001", "1", take="source", author=Author("lead", "human"))
    continue_merge(repository, "conv-001")
    if undone:
        undo(repository)
    for _ in range(2):
        assert [row.branches for row in list_conversations(repository).conversations] == [2 + undone]
    view = show(repository, "conv-001")
    assert (name in [row.name for row in view.branches], view.branch_count) == (undone, 2 + undone)
    assert name in [row.name for row in list_branches(repository, "conv-001", include_hidden=True).branches]
    assert [row.name for row in show(repository, f"conv-001/{name}").branches] == [name]


def test_a_conversation_created_with_git_has_its_root(repository):
    """D-43: without metadata the root is found by walking the history."""
    drawn = history(repository, "main: a b")
    git(repository, "update-ref", "refs/heads/mine/work", drawn.oids["b"])
    first, second = list_conversations(repository).conversations
    assert {first.id, second.id} == {"conv-001", "mine"}
    assert first.uuid == second.uuid
    assert {first.active_branch, second.active_branch} == {"main", "work"}


def test_an_unreadable_conversation_is_left_out_and_reported(repository):
    """The other conversations are listed."""
    drawn = history(repository, "main: a")
    history(repository, "main: b")
    remove_object(repository, drawn.oids["a"])
    for _ in range(2):
        listed = list_conversations(repository)
        assert [row.id for row in listed.conversations] == ["conv-002"]
        assert (listed.damaged, listed.exit_code) == (("conv-001",), 7)
        assert listed.notes[0].text.startswith("conv-001 is left out: object ")
        assert listed.notes[0].hint == "see: scopes verify"


def test_a_history_without_a_root_is_left_out_of_the_complete_list(repository):
    tree = git(repository, "mktree").strip()
    commit = git(repository, "commit-tree", tree, "-m", "by hand").strip()
    git(repository, "update-ref", "refs/heads/mine/work", commit)
    assert list_conversations(repository).damaged == ("mine",)


def test_conversations_of_one_second_are_sorted_by_the_time_of_their_messages(repository):
    """S4-51: commits have whole seconds, messages have more."""
    for name, time in (("a", "10:00:00.2Z"), ("b", "10:00:00.9Z"), ("c", "10:00:00.5Z"), ("d", "10:00:01Z")):
        new(repository, conversation_id=name)
        say(repository, name, "x", time=f"2026-03-01T{time}")
    for _ in range(2):
        rows = list_conversations(repository).conversations
        assert [row.id for row in rows] == ["d", "b", "c", "a"]


def test_the_complete_list_has_directory_main_agent_newest_model_and_tags(repository, tmp_path):
    new(repository, directory=str(tmp_path / "shop"))
    for author, model in (("zoe", "old"), ("zoe", "new"), ("carol", None), ("user", None)):
        message = plain_message(Author(author, "human" if author == "user" else "agent"), "x")
        append(repository, "conv-001", replace(message, model=model))
    tag(repository, "conv-001", "good")
    listed = list_conversations(repository)
    [row] = listed.conversations
    assert (row.agent, row.model, row.tags) == ("zoe", "new", ("good",))
    assert listed.projects == {str(tmp_path / "shop"): "shop"}


@pytest.fixture
def three(repository, tmp_path):
    """Conversations in two projects, by two agents, with two models; the last has a tag."""
    for number, (project, author, model) in enumerate(
        (("shop", "ann", "m-1"), ("site", "bob", "m-2"), ("shop", "bob", "n"))
    ):
        name = new(repository, directory=str(tmp_path / project)).id
        message = replace(
            plain_message(Author(author, "agent"), "x"), model=model, time=f"2026-03-0{number + 1}T10:00:00Z"
        )
        append(repository, name, message)
    tag(repository, "conv-003", "good")
    return repository


@pytest.mark.parametrize("agent", ["codex", "Codex", "cod", "review"])
def test_the_sessions_of_an_agent_are_found_by_its_name_whoever_wrote_in_them(three, agent):
    """A review of Codex has `review` as its author."""
    root = Root("0" * 32, "2026-03-09T10:00:00Z", format="codex", native_id="r-1")
    commit = write_root_commit(three, root, {"review": "agent"})
    git(three, "update-ref", "refs/heads/conv-004/main", commit)
    append(three, "conv-004", plain_message(Author("review", "agent"), "fine"))
    listed = list_conversations(three, wanted=ListFilter(agent=agent))
    assert [row.id for row in listed.conversations] == ["conv-004"]


CONDITIONS = {
    "all": (ListFilter(), ["conv-003", "conv-002", "conv-001"], 0),
    "limit": (ListFilter(limit=1), ["conv-003"], 2),
    "since": (ListFilter(since=parse_time("2026-03-02T00:00:00Z")), ["conv-003", "conv-002"], 0),
    "agent": (ListFilter(agent="BOB", limit=1), ["conv-003"], 1),
    "project by name": (ListFilter(projects=(read_project("Shop", "/"),)), ["conv-003", "conv-001"], 0),
    "several projects": (
        ListFilter(projects=(read_project("shop", "/"), read_project("site", "/")), limit=2),
        ["conv-003", "conv-002"],
        1,
    ),
    "model": (ListFilter(model="m-"), ["conv-002", "conv-001"], 0),
    "tag": (ListFilter(tag="good"), ["conv-003"], 0),
    "two conditions": (ListFilter(agent="bob", projects=(read_project("site", "/"),)), ["conv-002"], 0),
    "nothing": (ListFilter(agent="carol"), [], 0),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_filter_selects_the_same_with_and_without_the_index(three, tmp_path, name):
    """D11."""
    wanted, expected, more = CONDITIONS[name]
    directory = str(tmp_path / "cache" / "index")
    for _ in range(2):
        listed = list_conversations(three, directory, wanted=wanted)
        assert ([row.id for row in listed.conversations], listed.more) == (expected, more)
        assert listed == list_conversations(three, wanted=wanted)
        assert find_cached_list(three.path, directory, wanted=wanted) in (None, listed)
    list_conversations(three, directory)
    assert find_cached_list(three.path, directory, wanted=wanted) == listed


def test_a_project_is_also_found_by_a_directory_in_it(three, tmp_path):
    project = find_project(str(tmp_path / "shop"), "/home/nobody")
    rows = list_conversations(three, wanted=ListFilter(projects=(project,))).conversations
    assert [row.id for row in rows] == ["conv-003", "conv-001"]
