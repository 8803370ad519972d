"""An event stream and the session file of one run, when other things happen in between."""

from __future__ import annotations

import os

import pytest

from scopes.conversation.append import append
from scopes.conversation.new_rename_delete import delete
from scopes.conversation.undo import undo
from scopes.history.messages import plain_message
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.importers.formats.registry import FORMATS
from scopes.importers.streams import KnownCalls, content_key, is_stream_part
from scopes.importers.verify_source import verify_source
from scopes.model.message import Part
from tests.check.runs import judge, verdict_of
from tests.importers.formats.claude_code.test_stream import RUN, answer, call, end, init, result, session_file, stream
from tests.importers.reading import real_transcript
from tests.importers.streams import calls_of, import_paths, runs_of

CALLS = [("Bash", "denied", None), ("Bash", "ok", None)]


@pytest.fixture
def paths(tmp_path):
    """Write a stream and the session file of the same run."""
    (tmp_path / "out.jsonl").write_bytes(stream(*RUN))
    (tmp_path / "session.jsonl").write_bytes(session_file(*RUN))
    return tmp_path / "out.jsonl", tmp_path / "session.jsonl"


def test_main_stays_where_the_user_has_moved_it_and_calls_still_count_once(repository, paths):
    import_paths(repository, paths[0])
    append(repository, "conv-001", plain_message("carol", "Looks fine."))
    tip = list_branch_tips(repository, "conv-001")["main"]
    import_paths(repository, paths[1])
    assert list_branch_tips(repository, "conv-001")["main"] == tip
    (run,) = runs_of(repository)
    assert calls_of(run) == CALLS
    assert "Looks fine." in [text.text for text in run.texts]


def test_a_dry_run_of_the_session_file_changes_nothing(repository, paths):
    import_paths(repository, paths[0])
    before = repository.list_refs()
    done = import_paths(repository, paths[1], dry_run=True)
    assert [each.id for each in done.conversations] == ["conv-001"]
    assert repository.list_refs() == before


def test_an_undo_brings_the_stream_back(repository, paths):
    import_paths(repository, paths[0])
    before = list_branch_tips(repository, "conv-001")
    import_paths(repository, paths[1])
    undo(repository)
    assert list_branch_tips(repository, "conv-001") == before
    assert calls_of(runs_of(repository)[0]) == CALLS
    import_paths(repository, *paths)
    assert calls_of(runs_of(repository)[0]) == CALLS


def test_a_deleted_run_stays_deleted_when_its_session_file_comes(repository, paths):
    import_paths(repository, paths[0])
    delete(repository, "conv-001")
    done = import_paths(repository, paths[1])
    assert (list(conversation_ids(repository)), len(done.notes)) == ([], 1)
    import_paths(repository, *paths, again=True)
    assert calls_of(runs_of(repository)[0]) == CALLS


def test_a_session_file_that_grows_goes_on(repository, paths):
    import_paths(repository, *paths)
    later = [answer("msg_5", call("toolu_5", "make")), result("toolu_5", "made")]
    paths[1].write_bytes(session_file(*RUN, *later))
    import_paths(repository, paths[1])
    (run,) = runs_of(repository)
    assert calls_of(run) == [*CALLS, ("Bash", "ok", None)]
    assert list(list_branch_tips(repository, "conv-001")) == ["main"]


def test_a_stream_counts_no_more_once_its_session_file_has_caught_up(repository, paths):
    paths[1].write_bytes(session_file(RUN[1], RUN[3]))
    import_paths(repository, *paths)
    assert calls_of(runs_of(repository)[0]) == CALLS
    paths[1].write_bytes(session_file(*RUN))
    import_paths(repository, paths[1])
    assert calls_of(runs_of(repository)[0]) == CALLS
    import_paths(repository, *paths)
    assert calls_of(runs_of(repository)[0]) == CALLS
    assert import_paths(repository, *paths).operation is None


def test_a_stream_alone_is_lossy_until_its_session_file_comes(repository, paths):
    import_paths(repository, paths[0])
    assert verdict_of(judge(repository, "conv-001"), "run/lossy")[0] == "fail"
    import_paths(repository, paths[1])
    assert verdict_of(judge(repository, "conv-001"), "run/lossy") == ("pass", "")


def test_a_shorter_copy_of_a_stream_is_recognized(repository, paths, tmp_path):
    import_paths(repository, paths[0])
    (tmp_path / "copy.jsonl").write_bytes(stream(*RUN[:4]))
    assert import_paths(repository, tmp_path / "copy.jsonl").operation is None


def test_the_bytes_of_a_contained_stream_are_verified(repository, paths):
    import_paths(repository, *paths)
    found = verify_source(repository, str(paths[0]), FORMATS)
    assert (found.whole, found.message_bytes, found.unparsed_bytes) == (True, 0, 0)
    paths[0].write_bytes(stream(*RUN, end()))
    assert verify_source(repository, str(paths[0]), FORMATS).comparison == "grown"


def test_the_runs_of_two_sessions_in_one_stream_join_their_session_files(repository, paths):
    other = [{**record, "session_id": "other"} for record in (init(), answer("msg_8", call("toolu_8", "df")))]
    paths[0].write_bytes(stream(*RUN, *other))
    import_paths(repository, *paths)
    assert sorted(map(calls_of, runs_of(repository))) == [
        [("Bash", "denied", None), ("Bash", "ok", None)],
        [("Bash", "open", None)],
    ]
    assert import_paths(repository, *paths).operation is None


@pytest.mark.slow
def test_all_real_runs_at_once_are_one_conversation_each(repository):
    folder = real_transcript("headless")
    found = [os.path.join(top, name) for top, _, names in os.walk(folder) for name in names if name != "MANIFEST.tsv"]
    import_paths(repository, *sorted(found))
    runs = runs_of(repository)
    sessions = {(run.sources[0].format, os.path.dirname(run.sources[0].path)) for run in runs if len(run.sources) > 1}
    assert len(sessions) == 26
    assert len(runs) == 26 + 5 + 3
    assert import_paths(repository, *sorted(found)).operation is None


def part(name, call_id=None, **given):
    return Part("tool_call", {"name": name, "input": given} | ({} if call_id is None else {"call_id": call_id}))


@pytest.mark.parametrize(
    ("call_of_a_tool", "key"),
    [
        (part("Bash", command=" make test \n"), ("run", "make test")),
        (part("run_shell_command", command="make test"), ("run", "make test")),
        (part("exec_command", cmd=["bash", "-lc", "make test"]), ("run", "make test")),
        (part("Write", file_path="/p/a.py", content="x"), ("edit", "a.py")),
        (part("edit", filePath="/other/a.py", oldString="x", newString="y"), ("edit", "a.py")),
        (part("Read", file_path="/p/a.py"), ("tool", "Read")),
        (part("Bash"), ("tool", "Bash")),
        (part("Bash", command=7), ("tool", "Bash")),
        (Part("tool_call", {"name": "Write", "input_text": "{broken"}), ("tool", "Write")),
        (Part("tool_call", {}), ("tool", "None")),
    ],
)
def test_calls_of_two_records_are_equal_by_command_changed_files_or_tool(call_of_a_tool, key):
    assert content_key(call_of_a_tool) == key


@pytest.mark.parametrize(
    ("of_the_file", "of_the_stream", "taken"),
    [
        ([part("Bash", "c1", command="make")], [part("Bash", "c1", command="make")], [True]),
        ([part("Bash", "c1", command="make")], [part("Bash", "c1", command="other")], [True]),
        ([part("Bash", "c1", command="make")], [part("Bash", "x1", command="make")], [True]),
        ([part("Bash", "c1", command="make")], [part("Bash", command="make")], [True]),
        ([part("Bash", "c1", command="make")], [part("Bash", "x1", command="df")], [False]),
        ([part("Bash", "c1", command="make")], [part("Bash", "x1", command="make")] * 2, [True, False]),
        ([part("Bash", "c1", command="make"), part("Bash", "c2", command="make")], [part("Bash", "x", command="make")] * 2, [True, True]),
        ([part("Bash", "c1", command="make")], [part("Bash", "c1", command="make"), part("Bash", "c1", command="make")], [True, False]),
        ([part("Bash", "c1", command="make")], [part("Bash", "c1", command="df"), part("Bash", "x1", command="make")], [True, False]),
        ([part("Read", "c1")], [part("Read", "x1"), part("Grep", "x2")], [True, False]),
        ([], [part("Bash", "c1", command="make")], [False]),
    ],
)  # fmt: skip
def test_each_call_of_a_file_is_equal_to_one_call_of_its_stream(of_the_file, of_the_stream, taken):
    known = KnownCalls()
    for each in of_the_file:
        known.add(each)
    assert [known.take(each) for each in of_the_stream] == taken


def test_a_call_with_the_id_of_the_file_is_known_until_it_is_taken():
    known = KnownCalls()
    known.add(part("Bash", "c1", command="make"))
    known.add(part("Bash", command="df"))
    assert (known.has_id(part("Bash", "c1")), known.has_id(part("Bash", "c2")), known.has_id(part("Bash"))) == (
        True,
        False,
        False,
    )
    known.take(part("Bash", "c1", command="make"))
    assert (known.has_id(part("Bash", "c1")), known.had_id(part("Bash", "c1"))) == (False, True)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("stream", True), ("stream-1a2b", True), ("streams", False), ("agent-1", False), ("", False), (None, False)],
)
def test_a_stored_stream_is_recognized_by_its_sub_file(name, expected):
    assert is_stream_part(name) is expected
