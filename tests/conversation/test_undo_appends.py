"""`undo` takes back the newest thing of the same actor, appends included (findings G1 and R9)."""

from __future__ import annotations

import pytest

from scopes.conversation.append import append_to
from scopes.conversation.branch import branch, list_tags, rewind, tag
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import delete, new, rename_branch, rename_conversation
from scopes.conversation.rebase import rebase
from scopes.conversation.store import gc
from scopes.conversation.undo import list_operations, redo, undo
from scopes.errors import NotFound, Refused
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.history.names import conversation_ids
from scopes.history.transaction import APPEND, walk_history
from scopes.importers.import_sample import import_sample
from tests.importers.demo_format import write_transcript
from tests.importers.stores import import_demo
from tests.support.history import history, say, texts
from tests.support.store import git, move, open_store, refs
from tests.support.tool_calls import call_tool


@pytest.fixture
def two(repository):
    """Make two conversations with the messages a and b, by carol."""
    history(repository, "main: a b")
    new(repository, title="B")
    return repository


def as_actor(repository, actor):
    return open_store(repository, actor=actor)


def test_undo_after_an_append_takes_back_the_message(two):
    """G1: it undid `create conv-002`."""
    before = refs(two)
    message = say(two, "conv-001", "oops")
    done = undo(two)
    assert done.target.summary == "append to conv-001/main by carol: 'oops' (1 message)"
    assert (done.target.kind, done.target.id, done.target.details["messages"]) == (APPEND, message.id, [message.id])
    assert refs(two) == before
    assert texts(two, "conv-001") == ["a", "b"]


def test_the_undo_of_an_append_is_an_operation_of_its_own(two):
    message = say(two, "conv-001", "oops")
    done = undo(two)
    record = list_operations(two, limit=1).operations[0]
    assert (record.id, record.kind, record.undoes, record.actor) == (done.operation, "undo", message.id, "carol")
    assert record.summary == "undo append to conv-001/main by carol: 'oops' (1 message)"
    [change] = record.changes
    assert (change.ref, change.old) == ("refs/heads/conv-001/main", message.oid)


def test_a_message_whose_process_was_killed_between_reflog_and_ref_was_never_appended(two):
    """libgit2 writes the line of the reflog first; undo said for ever that the branch was moved since."""
    kept = say(two, "conv-001", "kept")
    say(two, "conv-001", "killed")
    with open(f"{two.path}/refs/heads/conv-001/main", "w", encoding="ascii") as ref:
        ref.write(f"{kept.oid}\n")
    assert undo(two).target.details["messages"] == [kept.id]
    assert texts(two, "conv-001") == ["a", "b"]


def test_undo_again_goes_back_over_appends_and_operations_in_the_order_in_which_they_were_done(two):
    seen = [refs(two)]
    for act in (
        lambda: say(two, "conv-001", "one"),
        lambda: say(two, "conv-002", "two"),
        lambda: tag(two, "conv-001", "v1"),
        lambda: say(two, "conv-001", "three"),
        lambda: rewind(two, "conv-001", count=2),
        lambda: say(two, "conv-001", "four"),
    ):
        act()
        seen.append(refs(two))
    for before in reversed(seen[:-1]):
        undo(two)
        assert refs(two) == before
    for after in seen[1:]:
        redo(two)
        assert refs(two) == after
    for before in reversed(seen[:-1]):
        undo(two)
        assert refs(two) == before


def test_redo_puts_the_message_back_if_nothing_happened_on_its_branch(two):
    say(two, "conv-001", "oops")
    undo(two)
    say(two, "conv-002", "elsewhere")
    assert redo(two).target.kind == "undo"
    assert texts(two, "conv-001") == ["a", "b", "oops"]
    assert undo(two).target.summary.startswith("append to conv-002/main")
    assert undo(two).target.summary.startswith("append to conv-001/main")
    say(two, "conv-001", "other")
    with pytest.raises(Refused, match="conv-001/main has new messages since 'undo append to conv-001/main"):
        redo(two)
    assert texts(two, "conv-001") == ["a", "b", "other"]


def test_the_messages_of_one_command_are_taken_back_together(two):
    first = None
    for number in range(40):
        done = append_to(
            StoreHandle(two).branch("conv-001", "main"), plain_message("dave", f"line {number}"), first=first
        )
        first = first or done.id
    say(two, "conv-001", "afterwards")
    assert undo(two).target.summary.endswith("'afterwards' (1 message)")
    assert undo(two).target.summary == "append to conv-001/main by dave, appended by carol: 'line 0' (40 messages)"
    assert texts(two, "conv-001") == ["a", "b"]
    redo(two)
    assert len(texts(two, "conv-001")) == 42


def test_another_actors_work_is_taken_back_only_on_request(two):
    """G1: SCOPES_AUTHOR=bob undid what agent1 had done."""
    bob = as_actor(two, "bob")
    before = refs(two)
    with pytest.raises(NotFound, match="there is nothing to undo for bob") as refusal:
        undo(bob)
    assert "scopes undo -a" in refusal.value.hint
    say(bob, "conv-002", "of bob")
    assert undo(bob).target.actor == "bob"
    assert refs(two) == before
    assert undo(bob, any_actor=True).target.actor == "carol"
    with pytest.raises(NotFound):
        redo(two)
    assert redo(bob).target.actor == "bob"
    assert refs(two) == before


def test_the_actor_is_the_caller_and_not_the_author_of_the_message(two):
    say(as_actor(two, "bob"), "conv-001", "in the name of carol", author="carol")
    say(two, "conv-002", "mine", author="bob")
    assert undo(as_actor(two, "bob")).target.summary.startswith("append to conv-001/main by carol, appended by bob")
    assert undo(two).target.summary.startswith("append to conv-002/main by bob, appended by carol")


def test_an_append_under_newer_messages_is_refused_and_the_hint_names_the_commands(two):
    message = say(two, "conv-001", "mine")
    say(as_actor(two, "bob"), "conv-001", "of bob")
    before = refs(two)
    with pytest.raises(Refused, match="conv-001/main has newer messages than 'append to conv-001/main by carol") as r:
        undo(two)
    assert r.value.hint.startswith(f"scopes retract conv-001/main {message.id[:12]}; or take back")
    assert "scopes rewind conv-001/main " in r.value.hint
    assert refs(two) == before
    rewind(two, "conv-001/main", to=r.value.hint.rpartition(" ")[2])
    assert texts(two, "conv-001") == ["a", "b"]


def test_messages_with_others_between_them_are_refused(two):
    first = append_to(StoreHandle(two).branch("conv-001", "main"), plain_message("carol", "one")).id
    say(as_actor(two, "bob"), "conv-001", "of bob")
    append_to(StoreHandle(two).branch("conv-001", "main"), plain_message("carol", "two"), first=first)
    with pytest.raises(Refused, match=r"other messages between those of 'append to .* \(2 messages\)'"):
        undo(two)
    assert len(texts(two, "conv-001")) == 5


def test_undo_of_one_conversation_does_not_stop_at_others(two):
    """R9."""
    tag(two, "conv-001", "v1")
    say(two, "conv-001", "one")
    for number in range(20):
        say(two, "conv-002", f"busy {number}")
    say(as_actor(two, "bob"), "conv-002", "of bob")
    assert undo(two, "conv-001").target.summary.endswith("'one' (1 message)")
    assert undo(two, conversation="conv-001").target.kind == "tag"
    assert undo(two, conversation="conv-001").target.summary.endswith("'b' (1 message)")
    assert redo(two, conversation="conv-001").target.summary.endswith("'b' (1 message)")
    assert len(texts(two, "conv-002")) == 21


def test_undo_of_one_conversation_refuses_what_also_changed_others(two):
    tips = {name: value for name, value in refs(two).items() if name.startswith("refs/heads/")}
    done = move(two, *((name, value, None) for name, value in tips.items()))
    with pytest.raises(Refused, match="'of a test' also changed conv-002") as refusal:
        undo(two, conversation="conv-001")
    assert refusal.value.hint.startswith("undo it everywhere: scopes undo ")
    assert undo(two).target.kind == "test"
    assert two.has(done)


def test_undo_of_one_of_many_imported_conversations_does_not_suggest_to_undo_the_import(two, tmp_path):
    """Following such a hint would take away the others."""
    before = set(conversation_ids(two))
    record = {"id": "a", "parent": None, "by": "user", "say": "hello"}
    files = [write_transcript(tmp_path / f"{name}.jsonl", {"session": name}, record) for name in ("s1", "s2", "s3")]
    import_demo(two, *files)
    ids = sorted(set(conversation_ids(two)) - before)
    with pytest.raises(Refused, match="also changed") as refusal:
        undo(two, conversation=ids[0])
    assert "scopes undo" not in refusal.value.hint
    assert refusal.value.hint.endswith(f"to remove this one alone: scopes delete {ids[0]}")
    delete(two, ids[0])
    assert set(ids[1:]) <= set(conversation_ids(two))


def test_an_unknown_name_is_an_unknown_operation(two):
    with pytest.raises(NotFound, match="there is no operation 'conv-009'"):
        undo(two, "conv-009")


def test_a_deleted_conversation_is_restored_by_its_id(two):
    delete(two, "conv-001")
    new(two)
    assert undo(two, "conv-001").target.kind == "delete"
    assert "conv-001" in conversation_ids(two)


def test_an_append_is_named_by_the_id_of_its_message(two):
    message = say(two, "conv-001", "one")
    say(two, "conv-002", "two")
    assert undo(two, message.id[:12]).target.id == message.id
    assert texts(two, "conv-001") == ["a", "b"]


def test_a_dry_run_returns_the_same_and_changes_nothing(two):
    say(two, "conv-001", "oops")
    before, log = refs(two), list_operations(two)
    planned = undo(two, dry_run=True)
    assert (planned.operation, planned.dry_run, refs(two), list_operations(two)) == (None, True, before, log)
    assert undo(two).target == planned.target
    before = refs(two)
    assert redo(two, dry_run=True).operation is None
    assert refs(two) == before


@pytest.mark.parametrize("rename", ["conversation", "branch", "below"])
def test_appends_before_a_rename_are_still_known(two, rename):
    branch(two, "conv-001", name="x", switch=False)
    before = texts(two, "conv-001/x")
    say(two, "conv-001/x", "one")
    if rename == "conversation":
        rename_conversation(two, "conv-001", "login")
    else:
        rename_branch(two, "conv-001", "x", "y" if rename == "branch" else "x/y")
    where = {"conversation": "login/x", "branch": "conv-001/y", "below": "conv-001/x/y"}[rename]
    appended = [record.changes[0].ref for record in walk_history(two) if record.kind == APPEND]
    assert f"refs/heads/{where}" in appended
    say(two, where, "two")
    assert [undo(two).target.kind for _ in range(3)] == ["append", "rename", "append"]
    assert texts(two, "conv-001/x") == before


def test_appends_are_still_known_after_a_deletion_was_undone(two):
    say(two, "conv-001", "one")
    delete(two, "conv-001")
    undo(two)
    assert undo(two).target.summary.endswith("'one' (1 message)")


def test_after_an_expire_undo_says_why_it_stops_and_an_older_operation_is_named_by_its_id(two):
    done = tag(two, "conv-001", "v1")
    gc(two, expire_before="2026-01-01T00:00:04Z")
    with pytest.raises(Refused, match=r"gc --expire cannot be undone: delete [0-9]+ operation") as refusal:
        undo(two)
    assert "scopes undo OPERATION" in refusal.value.hint
    with pytest.raises(Refused, match="gc --expire cannot be undone"):
        undo(two, dry_run=True)
    undo(two, done.operation)
    assert list_tags(two, "conv-001").tags == ()
    assert undo(two).target.kind in ("new", "append")


def test_a_merge_an_import_and_a_deletion_are_undone_like_an_append(repository):
    drawn = history(repository, "main: a", "fix: b c")
    say(repository, "conv-001/main", "d")
    states = [refs(repository)]
    for act in (
        lambda: merge(repository, "conv-001", "fix", target="main"),
        lambda: import_sample(repository),
        lambda: delete(repository, drawn.conversation),
    ):
        act()
        states.append(refs(repository))
    kinds = []
    for before in reversed(states[:-1]):
        kinds.append(undo(repository).target.kind)
        assert refs(repository) == before
    assert kinds == ["delete", "import", "merge"]
    assert undo(repository).target.summary.endswith("'d' (1 message)")
    assert git(repository, "fsck", "--strict") == ""


def test_a_rebase_that_stopped_is_undone_with_its_state(repository):
    history(repository, "main: a", "fix: b")
    decide(repository, "main", "SQLite")
    decide(repository, "fix", "Postgres")
    before = refs(repository)
    stopped = rebase(repository, "conv-001", branch="fix", onto="main")
    assert stopped.exit_code == 3
    assert undo(repository).target.kind == "rebase-conflict"
    assert refs(repository) == before
    assert redo(repository).target.kind == "undo"


def decide(repository, name, value):
    document = {"topic": "db", "decision": value}
    say(repository, f"conv-001/{name}", value, author=f"agent-{name}", kind="decision", decision=document)


def test_the_history_has_every_append_between_the_operations(two):
    say(two, "conv-001", "one")
    tag(two, "conv-001", "v1")
    say(two, "conv-001", "two")
    kinds = [record.kind for record in walk_history(two)]
    assert kinds == ["append", "tag", "append", "new", "append", "append", "new"]


def test_the_undo_of_messages_with_tool_calls_only_names_the_calls(repository):
    history(repository, "main: a")
    call_tool(repository, "conv-001/main", "Bash", {"command": "make test"}, agent=repository.caller.actor)
    assert "'result of → Bash make test' (1 message)" in undo(repository, any_actor=True).summary
    assert "'→ Bash make test' (1 message)" in undo(repository, any_actor=True).summary


def test_redo_names_who_undid_last_if_it_was_somebody_else(two):
    """The name of the caller may have been set only after the undo."""
    undo(two)
    bob = as_actor(two, "bob")
    with pytest.raises(NotFound, match="there is nothing to redo for bob") as refusal:
        redo(bob)
    assert "the last is by carol" in refusal.value.hint
    assert "scopes redo -a" in refusal.value.hint
    assert redo(bob, any_actor=True).target.actor == "carol"
