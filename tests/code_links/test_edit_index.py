"""The index of code lines: filled from a store, kept up to date, and asked for lines, turns and commit calls."""

from __future__ import annotations

import os

import pytest

from scopes.code_links.edit_index import open_edit_index
from scopes.code_links.line_hash import hash_line
from scopes.conversation.new_rename_delete import delete, rename_conversation
from scopes.index.sqlite_files import delete_files
from tests.support.history import say
from tests.support.store import remove_object

LINE = "print('the branches are these')"
LATER = 4_000_000_000.0


def session(world, name="one", line=LINE, file="app.py"):
    world.project.write(file, "begin = 1\n")
    return (
        world.claude(name)
        .prompt(f"please print the branches, {name}")
        .edit(file, "begin = 1\n", f"begin = 1\n{line}\n")
    )


def found(index, line=LINE, file="app.py", before=LATER):
    value = hash_line(line)
    return [(edit.conversation, edit.call_id) for edit in index.find_edits({value}, file, before).get(value, ())]


def progress_of(world):
    """Return the conversations that opening the index reads, as `on_progress` is told them."""
    calls = []
    with open_edit_index(world.index_directory, world.repository, lambda done, total: calls.append((done, total))):
        pass
    return calls


def test_an_edit_is_found_by_a_line_and_the_name_of_its_file(world):
    one = session(world)
    with world.index(one) as index:
        assert found(index) == [("conv-001", one._call_id)]
        assert found(index, file="other.py") == []
        assert found(index, line="print('something else entirely')") == []


def test_only_edits_before_a_time_are_found(world):
    one = session(world)
    time = world.project.clock.now.timestamp() - 10
    with world.index(one) as index:
        assert found(index, before=time) == []
        assert len(found(index, before=time + 1)) == 1


def test_the_edits_of_a_line_are_sorted_by_time(world):
    sessions = [session(world, name) for name in ("one", "two", "three")]
    with world.index(*sessions) as index:
        assert [call for _, call in found(index)] == [each._call_id for each in sessions]


def test_a_call_that_two_conversations_have_counts_once_for_the_first(world, repository):
    """A fork repeats the calls of the session that it began as."""
    one = session(world)
    copy = session(world, "copy")
    copy.records = [{**record, "sessionId": copy.id} for record in one.records]
    copy.records[0] = {**copy.records[0], "message": {"role": "user", "content": "another first prompt, so no join"}}
    with world.index(one, copy) as index:
        assert index.conversations == 2
        assert found(index) == [("conv-001", one._call_id)]


def test_a_file_that_is_in_another_repository_is_left_out(world):
    with world.index(session(world)) as index:
        index.is_foreign = lambda path: path.endswith("app.py")
        assert found(index) == []


def test_a_second_opening_reads_nothing(world):
    world.take(session(world))
    assert progress_of(world) == [(0, 1)]
    assert progress_of(world) == []


def test_only_changed_conversations_are_read_again(world):
    one, two = session(world, "one"), session(world, "two")
    world.take(one, two)
    assert progress_of(world) == [(0, 2), (1, 2)]
    two.prompt("and that").edit("app.py", LINE, "print('that the branches are not')")
    world.take(two)
    assert progress_of(world) == [(0, 1)]
    with world.index() as index:
        assert found(index, line="print('that the branches are not')") == [("conv-002", two._call_id)]
        assert len(found(index)) == 2


def test_a_deleted_conversation_is_forgotten(world, repository):
    world.take(session(world, "one"), session(world, "two"))
    with world.index() as index:
        assert [name for name, _ in found(index)] == ["conv-001", "conv-002"]
    delete(repository, "conv-001")
    with world.index() as index:
        assert [name for name, _ in found(index)] == ["conv-002"]
        assert index.conversations == 1


def test_a_renamed_conversation_has_its_new_name(world, repository):
    world.take(session(world))
    with world.index():
        pass
    rename_conversation(repository, "conv-001", "branches")
    with world.index() as index:
        assert [name for name, _ in found(index)] == ["branches"]


def test_the_updated_index_equals_a_new_one(world, tmp_path):
    one, two = session(world, "one"), session(world, "two")
    world.take(one)
    with world.index():
        pass
    world.take(two)
    one.prompt("again").edit("app.py", LINE, "print('these are the branches again')")
    world.take(one)
    rows = []
    for directory in (world.index_directory, str(tmp_path / "cache" / "new")):
        with open_edit_index(directory, world.repository) as index:
            edits = index._connection.execute("SELECT call_id, path, time, hashes FROM edit").fetchall()
            lines = index._connection.execute("SELECT hash FROM edit_line").fetchall()
            rows.append((sorted(edits), sorted(lines)))
    assert rows[0] == rows[1]
    assert len(rows[0][0]) == 3


def test_deleting_the_index_loses_nothing(world):
    world.take(session(world))
    with world.index():
        pass
    assert delete_files(world.index_directory) == []
    with world.index() as index:
        assert len(found(index)) == 1


def test_a_damaged_conversation_is_left_out_with_a_note(world, repository):
    world.take(session(world, "one"), session(world, "two"))
    remove_object(repository, say(repository, "conv-001", "the object of this message gets lost").oid)
    with world.index() as index:
        (note,) = index.notes
        assert note.text == "conv-001 cannot be read completely and was left out"
        assert [name for name, _ in found(index)] == ["conv-002"]


def test_a_turn_is_found_by_its_row_its_prompt_and_an_edit_of_it(world):
    one = session(world)
    with world.index(one) as index:
        ((edit,),) = index.find_edits({hash_line(LINE)}, "app.py", LATER).values()
        turn = index.turn(edit.turn)
        assert (turn.number, turn.conversation) == (1, "conv-001")
        assert index.turn_of_prompt(turn.prompt) == edit.turn
        assert index.turn_of_call("conv-001", one._call_id) == edit.turn
        assert index.turn_of_call("conv-001", "unknown") is None
        assert index.turn_of_prompt("0" * 40) is None


def test_commit_calls_are_found_by_the_time_of_the_commit(world, project):
    one = session(world)
    begin = project.clock.now.timestamp()
    one.commit("Print the branches")
    with world.index(one) as index:
        (call,) = index.find_commit_calls(begin + 10)
        assert (call.conversation, call.call_id) == ("conv-001", one._call_id)
        assert call.call.printed == ((project.head[:7], "Print the branches"),)
        assert index.commit_call_messages("conv-001") == {call.oid}
        assert index.find_commit_calls(begin - 100) == []
        assert index.find_commit_calls(begin + 1000) == []


def test_a_conversation_is_active_during_its_turns_and_for_a_while_after_them(world, project):
    begin = project.clock.now.timestamp()
    with world.index(session(world)) as index:
        assert index.is_active("conv-001", begin + 15, 60)
        assert index.is_active("conv-001", begin + 70, 60)
        assert not index.is_active("conv-001", begin + 100, 60)
        assert not index.is_active("conv-001", begin - 100, 60)


def test_the_index_knows_how_many_conversations_there_are_and_when_the_first_one_began(world, project):
    begin = int(project.clock.now.timestamp())
    with world.index(session(world, "one"), session(world, "two")) as index:
        assert (index.conversations, index.begin) == (2, begin)


def test_an_empty_store_has_an_empty_index(world):
    with world.index() as index:
        assert (index.conversations, index.begin) == (0, 0.0)


def test_the_index_knows_which_files_were_edited(world):
    with world.index(session(world)) as index:
        assert index.knows_file("app.py")
        assert not index.knows_file("other.py")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_without_a_place_for_the_file_the_index_is_in_memory(world, tmp_path):
    (tmp_path / "cache").mkdir(mode=0o500)
    with world.index(session(world)) as index:
        assert len(found(index)) == 1
        assert "cannot be kept" in index.notes[0].text


def test_a_directory_in_place_of_the_index_leaves_it_in_memory(world):
    os.makedirs(os.path.join(world.index_directory, "code-lines.sqlite"))
    with world.index(session(world)) as index:
        assert len(found(index)) == 1
