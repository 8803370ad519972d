"""`changes`: the change log of a conversation, derived from commits and operations (S4-49 to S4-52)."""

from __future__ import annotations

import itertools

import pytest

from scopes.conversation.append import amend, retract
from scopes.conversation.branch import abandon, branch, delete_tag, rewind, switch, tag
from scopes.conversation.changes import changes
from scopes.conversation.new_rename_delete import delete_branch, new, rename_branch, rename_title
from scopes.conversation.undo import undo
from scopes.errors import Invalid, NotFound
from scopes.model.message import Author
from tests.support.history import history, say
from tests.support.store import files_of, git, open_store

CONV = "conv-001"


def found(repository, **options):
    """Return field path, operation, before, after and cause of each change."""
    log = changes(repository, "conv-001", **options).items
    return [(c.field_path, c.operation, c.before, c.after, c.cause) for c in log]


def fields(repository, **options):
    return [(c.field_path, c.operation) for c in changes(repository, "conv-001", **options).items]


def test_the_change_log_starts_with_the_creation(repository):
    """S4-50."""
    made = new(repository, title="Login")
    assert found(repository) == [
        ("title", "CREATE", None, "Login", "user:carol"),
        ("branches.main", "CREATE", None, {"tip": git(repository, "rev-parse", "conv-001/main").strip()}, "user:carol"),
        ("active_branch", "CREATE", None, "main", "user:carol"),
    ]
    assert {change.source for change in changes(repository, "conv-001").items} == {made.operation}


@pytest.mark.parametrize(
    ("author", "cause"),
    [({"name": "dave", "kind": "agent"}, "agent:dave"), ({"name": "carol", "kind": "human"}, "user:carol"),
     ({"name": "bash", "kind": "tool"}, "system"), ({"name": "scopes", "kind": "system"}, "system")],
)  # fmt: skip
def test_every_message_is_a_change_with_its_own_time_and_cause(repository, author, cause):
    """S4-49."""
    new(repository)
    time = "2026-03-01T10:00:00.250+01:00"
    appended = say(repository, "conv-001", "hello", author=author, to=["erin"], time=time)
    [change] = changes(repository, "conv-001", field="messages").items
    assert (change.operation, change.before, change.time, change.cause, change.source) == (
        "APPEND",
        None,
        time,
        cause,
        appended.id,
    )
    assert change.after == {
        "id": appended.id,
        "kind": "plain",
        "from": author["name"],
        "to": ["erin"],
        "subject": "hello",
    }


def test_a_participant_is_added_by_the_first_message(repository):
    new(repository)
    for author in ("dave", "erin", "dave"):
        say(repository, "conv-001", "x", author=author)
    say(repository, "conv-001", "x", author={"name": "bash", "kind": "tool"})
    assert [c[3] for c in found(repository, field="participants")] == ["dave", "erin"]


def test_a_branch_creation_includes_purpose_and_agent(repository):
    """S4-50."""
    drawn = history(repository, "main: a")
    branch(repository, "conv-001", purpose="analysis", agent="dave", name="x")
    tip = {"tip": drawn.oids["a"], "purpose": "analysis", "agent": "dave", "parent": "main"}
    assert found(repository, field="branches.x") == [("branches.x", "CREATE", None, tip, "agent:dave")]
    assert found(repository, field="active_branch")[-1][1:4] == ("UPDATE", "main", "x")


def test_rewind_is_an_update_and_deletion_and_rename_delete_the_branch(repository):
    """S4-50."""
    drawn = history(repository, "main: a b", "fix: c", "old: d")
    rewind(repository, "conv-001")
    delete_branch(repository, "conv-001", "fix", force=True)
    rename_branch(repository, "conv-001", "old", "newer")
    branches = [change[:4] for change in found(repository, field="branches")[3:]]
    assert branches == [
        ("branches.main", "UPDATE", {"tip": drawn.oids["b"]}, {"tip": drawn.oids["a"]}),
        ("branches.fix", "DELETE", {"tip": drawn.oids["c"]}, None),
        ("branches.old", "DELETE", {"tip": drawn.oids["d"]}, None),
        ("branches.newer", "CREATE", None, {"tip": drawn.oids["d"], "parent": "main"}),
    ]


def test_amending_and_retracting_change_the_message(repository):
    """S4-50."""
    drawn = history(repository, "main: a b")
    better = amend(repository, "conv-001", "main~1", "better", author=Author("dave"))
    retract(repository, "conv-001", "main~1", "no", author=Author("dave"))
    a, b = (f"messages[{drawn.ids[word]}]" for word in "ab")
    assert found(repository, field=a) == [
        (a, "UPDATE", {"id": drawn.ids["a"]}, {"amended_by": better.id}, "agent:dave")
    ]
    assert found(repository, field=b) == [(b, "DELETE", {"id": drawn.ids["b"]}, None, "agent:dave")]


def test_title_tags_and_branch_status_are_separate_fields(repository):
    drawn = history(repository, "main: a", "fix: b")
    rename_title(repository, "conv-001", "one")
    rename_title(repository, "conv-001", "two")
    rename_title(repository, "conv-001", "")
    tag(repository, "conv-001", "v1")
    delete_tag(repository, "conv-001", "v1")
    abandon(repository, "conv-001", "fix")
    abandon(repository, "conv-001", "fix", revive=True)
    assert [c[1:4] for c in found(repository, field="title")] == [
        ("CREATE", None, "one"), ("UPDATE", "one", "two"), ("DELETE", "two", None),
    ]  # fmt: skip
    assert [c[:4] for c in found(repository, field="tags")] == [
        ("tags.v1", "CREATE", None, drawn.oids["a"]), ("tags.v1", "DELETE", drawn.oids["a"], None),
    ]  # fmt: skip
    assert [c[2:4] for c in found(repository, field="branches.fix.status")] == [
        ("active", "abandoned"),
        ("abandoned", "active"),
    ]


def test_undo_is_a_change_like_any_other(repository):
    """S4-51: no earlier row is removed."""
    history(repository, "main: a", "fix:")
    switch(repository, "conv-001", "fix")
    undo(repository)
    assert [c[2:4] for c in found(repository, field="active_branch")] == [
        (None, "main"),
        ("main", "fix"),
        ("fix", "main"),
    ]


def test_the_changes_of_one_operation_share_time_and_cause(repository):
    """S4-52."""
    history(repository, "main: a")
    made = branch(repository, "conv-001", purpose="analysis", agent="dave")
    batch = [change for change in changes(repository, "conv-001").items if change.source == made.operation]
    assert [change.field_path for change in batch] == ["branches.analysis/dave", "active_branch"]
    assert {(change.time, change.cause) for change in batch} == {(batch[0].time, "agent:dave")}


def test_the_user_who_moves_an_agents_branch_is_the_cause(repository):
    """S4-50: the agent is the cause of the creation only."""
    history(repository, "main: a")
    branch(repository, "conv-001", purpose="analysis", agent="dave", name="x", switch=False)
    rename_branch(open_store(repository.path, actor="erin"), "conv-001", "x", "y")
    undo(open_store(repository.path, actor="zoe"), any_actor=True)
    after = [(c.operation, c.field_path, c.cause) for c in changes(repository, "conv-001", field="branches").items][2:]
    assert sorted(after) == [
        ("CREATE", "branches.x", "user:zoe"), ("CREATE", "branches.y", "user:erin"),
        ("DELETE", "branches.x", "user:erin"), ("DELETE", "branches.y", "user:zoe"),
    ]  # fmt: skip


def test_a_message_on_several_branches_is_one_change(repository):
    """S4-52: an exact duplicate is not recorded twice."""
    history(repository, "main: a b", "one:", "two@a:", "three: c")
    assert [c[3]["subject"] for c in found(repository, field="messages")] == ["a", "b", "c"]


def test_new_messages_and_operations_only_append_to_the_change_log(repository):
    """S4-51: append-only."""
    history(repository, "main: a", "fix: b")
    steps = (
        lambda: say(repository, "conv-001", "c"), lambda: tag(repository, "conv-001", "v1"), lambda: undo(repository),
        lambda: amend(repository, "conv-001", "main", "d", author=Author("dave")), lambda: abandon(repository, "conv-001", "fix"),
        lambda: rename_branch(repository, "conv-001", "fix", "x"), lambda: rename_title(repository, "conv-001", "t"),
    )  # fmt: skip
    before = changes(repository, "conv-001").items
    for step in steps:
        step()
        after = changes(repository, "conv-001").items
        assert after[: len(before)] == before
        assert len(after) > len(before)
        before = after


def test_the_change_log_is_the_same_every_time_and_in_a_mirror(repository, tmp_path):
    """S4-51: derived from git data only; reading it writes nothing."""
    drawn = history(repository, "main: a b", "fix: c", "old: d")
    rewind(repository, "conv-001")
    amend(repository, "conv-001", drawn.ids["a"], "x", author=Author("dave"))
    delete_branch(repository, "conv-001", "old", force=True)
    before = files_of(repository.path)
    log = changes(repository, "conv-001").items
    for number in range(2):
        mirror = str(tmp_path / f"{number}.git")
        git(repository, "clone", "-q", "--mirror", repository.path, mirror)
        git(mirror, "config", "scopes.formatVersion", "2")
        assert changes(open_store(mirror), "conv-001").items == log
    assert changes(open_store(repository.path), "conv-001").items == log
    assert files_of(repository.path) == before


FILTERS = {
    "since": ("2026-03-02T00:00:00Z", {"messages", "participants"}),
    "field": ("branches", {"branches.main", "branches.fix"}),
    "cause": ("agent", {"messages", "participants"}),
    "operation": ("append", {"messages", "participants"}),
}


@pytest.fixture
def varied(repository):
    """Create a change log with several fields, causes, operations and times."""
    history(repository, "main: a", "fix: b")
    for day, author in ((1, "dave"), (2, "erin"), (3, {"name": "zoe", "kind": "human"})):
        say(repository, "conv-001", "x", author=author, time=f"2026-03-{day:02}T00:00:00Z")
    return repository


@pytest.mark.parametrize("names", [c for n in range(5) for c in itertools.combinations(FILTERS, n)], ids="-".join)
def test_filters_are_combined_with_and(varied, names):
    """S4-51."""
    whole = changes(varied, "conv-001").items
    each = [changes(varied, "conv-001", **{name: FILTERS[name][0]}).items for name in names]
    together = changes(varied, "conv-001", **{name: FILTERS[name][0] for name in names}).items
    assert list(together) == [change for change in whole if all(change in some for some in each)]


@pytest.mark.parametrize("name", FILTERS)
def test_each_filter_selects_the_matching_rows(varied, name):
    """S4-51."""
    value, expected = FILTERS[name]
    chosen = changes(varied, "conv-001", **{name: value}).items
    assert {change.field_path for change in chosen} == expected
    assert 0 < len(chosen) < len(changes(varied, "conv-001").items)


@pytest.mark.parametrize(
    ("option", "count"),
    [({"cause": "agent:dave"}, 2), ({"cause": "agent:da"}, 0), ({"cause": "user"}, 5), ({"cause": "user:zoe"}, 2), ({"cause": "system"}, 0),
     ({"field": "branch"}, 0), ({"field": "branches.main"}, 1), ({"operation": "CREATE"}, 3), ({"field": ""}, 0)],
)  # fmt: skip
def test_a_field_filter_matches_a_field_or_the_fields_below_it(varied, option, count):
    assert len(changes(varied, "conv-001", **option).items) == count


def test_a_filter_that_matches_nothing_tells_what_there_is(varied):
    (note,) = changes(varied, "conv-001", cause="agent:nobody").notes
    assert note.text == "no change has the cause 'agent:nobody'"
    assert "agent:dave" in note.hint
    (note,) = changes(varied, "conv-001", field="branch").notes
    assert "branches, messages, participants" in note.hint
    assert changes(varied, "conv-001", cause="agent", field="branches").notes == ()


def test_an_unknown_kind_of_cause_is_refused(varied):
    with pytest.raises(Invalid, match="'foo' is not a valid cause") as refusal:
        changes(varied, "conv-001", cause="foo")
    assert refusal.value.hint == "causes: user, agent, system, remote, or with a name: agent:reviewer"


def test_an_invalid_date_or_conversation_is_refused(repository):
    history(repository, "main: a")
    with pytest.raises(Invalid, match="is not a valid time") as refusal:
        changes(repository, "conv-001", since="soon")
    assert refusal.value.hint
    with pytest.raises(NotFound):
        changes(repository, "nope")


def test_a_change_names_the_tools_that_a_message_calls(repository):
    history(repository, "main: a")
    calls = [{"type": "tool_call", "name": name, "call_id": str(n)} for n, name in enumerate(("Bash", "Edit", "Bash"))]
    say(repository, "conv-001", "", kind="answer", parts=calls)
    assert [c.tools for c in changes(repository, "conv-001", field="messages").items] == [(), ("Bash", "Edit")]


def participants(repository):
    return [
        (each.operation, each.before or each.after) for each in changes(repository, CONV, field="participants").items
    ]


def test_who_wrote_other_messages_too_still_takes_part_after_an_undo(repository):
    history(repository, "main: a")
    say(repository, CONV, "one", author="tester")
    branch(repository, CONV, name="other", purpose="analysis")
    say(repository, CONV, "two", author="tester")
    rewind(repository, CONV)
    assert [operation for operation, name in participants(repository) if name == "tester"] == ["APPEND"]
