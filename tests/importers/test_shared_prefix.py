"""Sessions that begin with the messages of another one and name no parent: a branch of its conversation, or their own."""

from __future__ import annotations

import json
import re
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes import clock
from scopes.conversation.new_rename_delete import delete
from scopes.conversation.undo import redo, undo
from scopes.conversation.verify import verify
from scopes.exporters.export import list_sources, walk_bytes
from scopes.history.messages import walk_headers_oldest_first
from scopes.history.names import list_branch_tips, resolve_revision
from scopes.importers import workers
from scopes.importers.formats.base import Source
from scopes.importers.formats.openai import OpenAIMessages
from scopes.importers.formats.registry import FORMATS
from scopes.importers.identity import MIN_TEXT
from scopes.importers.import_sources import import_sources
from scopes.store.config import Setting
from scopes.store.transactions import exclusive_write
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.reading import real_transcript, source_of
from tests.importers.stores import branch_words, count_objects, import_demo
from tests.support.examples import examples
from tests.support.random_ids import hashed_counter
from tests.support.store import FAST, assert_sound, make_store, open_store

TIME = "2026-02-01T10:00:{:02}.137Z"
LONG = "Because the cache is keyed by name, " * (MIN_TEXT // 30)


def session(tmp_path, name, words, *, timed=True, created=None, **fields):
    """Write a session; with `timed` its messages have the exact times that copies of them have too."""
    records = session_records(name, words, **({"created": created} if created else {}), **fields)
    for number, record in enumerate(records[1:]):
        record.update({"time": TIME.format(number)} if timed else {})
    return write_transcript(tmp_path / f"{name}.jsonl", *records)


def imported_refs(store):
    """Return all branches and tracking refs."""
    return store.list_refs("refs/heads/", "refs/scopes/tracking/")


def conversations(store):
    """Return the branches of every conversation."""
    refs = [ref.removeprefix("refs/heads/").partition("/") for ref in store.list_refs("refs/heads/")]
    return {name: sorted(branch for other, _, branch in refs if other == name) for name, _, _ in refs}


def joins(done):
    return [(join.session, join.conversation, join.branch, join.equal_messages) for join in done.joined]


def test_a_copy_that_was_continued_differently_is_a_branch(repository, tmp_path):
    done = import_demo(repository, session(tmp_path, "s1", "a b c d"), session(tmp_path, "s2", "a b x y"))
    assert joins(done) == [("s2", "conv-001", "fork/s2", 2)]
    assert (branch_words(repository), branch_words(repository, "fork/s2")) == ("a b c d", "a b x y")
    shared = [
        head.oid for head in walk_headers_oldest_first(repository, [list_branch_tips(repository, "conv-001")["main"]])
    ]
    other = [
        head.oid
        for head in walk_headers_oldest_first(repository, [list_branch_tips(repository, "conv-001")["fork/s2"]])
    ]
    assert shared[:2] == other[:2]
    assert_sound(repository)


def test_the_note_says_where_a_session_joined(repository, tmp_path):
    done = import_demo(repository, session(tmp_path, "s1", "a b c d"), session(tmp_path, "s2", "a b x y"))
    text = f"session s2 joined conv-001 as branch fork/s2 at message {done.joined[0].message[:8]} (2 equal messages)"
    assert [note.text for note in done.notes] == [text]
    assert "scopes undo" in done.notes[0].hint


def test_a_dry_run_says_where_sessions_would_join(repository, tmp_path):
    sources = session(tmp_path, "s1", "a b c d"), session(tmp_path, "s2", "a b x y")
    planned = import_demo(repository, *sources, dry_run=True)
    assert (planned.joined, repository.list_refs()) == (
        import_demo(make_store(tmp_path / "o.git"), *sources).joined,
        {},
    )


def test_a_copy_imported_later_joins_the_stored_conversation(repository, tmp_path):
    sources = session(tmp_path, "s1", "a b c d"), session(tmp_path, "s2", "a b x y")
    for source in sources:
        done = import_demo(repository, source)
    assert joins(done) == [("s2", "conv-001", "fork/s2", 2)]
    other = make_store(tmp_path / "o.git")
    import_demo(other, *sources)
    assert imported_refs(repository) == imported_refs(other)


@pytest.mark.parametrize(
    "second",
    [
        pytest.param({"words": "a x"}, id="only the prompt is equal"),
        pytest.param({"words": "a b x", "timed": False}, id="other times, no ids, short answers"),
        pytest.param({"words": "a b x", "part": "helper"}, id="a sub-agent"),
    ],
)
def test_equal_boilerplate_does_not_join(repository, tmp_path, second):
    import_demo(repository, session(tmp_path, "s1", "a b c d"), session(tmp_path, "s2", **second))
    assert len(conversations(repository)) == 2


def test_a_session_without_a_message_before_the_answer_does_not_join(repository, tmp_path):
    for name in ("s1", "s2"):
        record = {"id": "b", "by": "bot", "say": LONG, "time": TIME.format(1)}
        import_demo(repository, write_transcript(tmp_path / name, {"session": name}, record))
    assert len(conversations(repository)) == 2


@pytest.mark.parametrize(("text", "count"), [(LONG[: MIN_TEXT - 1], 2), (LONG[:MIN_TEXT], 1)])
def test_a_long_equal_answer_is_proof_without_times_and_ids(repository, tmp_path, text, count):
    for name in ("s1", "s2"):
        records = session_records(name, f"a b {name}")
        records[2]["say"] = text
        records[2]["time"] = f"2026-02-0{name[1]}T10:00:00.5Z"
        import_demo(repository, write_transcript(tmp_path / name, *records))
    assert len(conversations(repository)) == count


def test_times_in_whole_seconds_are_no_proof(repository, tmp_path):
    import_demo(
        repository, session(tmp_path, "s1", "a b c", timed=False), session(tmp_path, "s2", "a b x", timed=False)
    )
    assert len(conversations(repository)) == 2


def test_of_several_sessions_the_one_with_most_equal_answers_is_joined(repository, tmp_path):
    import_demo(repository, session(tmp_path, "s1", "a b c d e f"))
    import_demo(repository, session(tmp_path, "s2", "a b c2 d2 e2 f2"), join=False)
    import_demo(repository, session(tmp_path, "s3", "a b c2 d2 x y"))
    assert conversations(repository) == {"conv-001": ["main"], "conv-002": ["fork/s3", "main"]}


def test_a_session_that_has_its_conversation_stays_there(repository, tmp_path):
    sources = session(tmp_path, "s1", "a b c d"), session(tmp_path, "s2", "a b x y")
    import_demo(repository, *sources, join=False)
    before = imported_refs(repository)
    assert import_demo(repository, *sources).operation is None
    grown = import_demo(repository, sources[0], session(tmp_path, "s2", "a b x y z w"))
    assert (grown.joined, set(imported_refs(repository))) == ((), set(before))
    assert branch_words(repository, "main", "conv-002") == "a b x y z w"


def test_an_older_session_that_is_imported_later_joins_the_newer_one(repository, tmp_path):
    """The conversation that exists is not moved."""
    newer = session(tmp_path, "s2", "a b x y", created="2026-02-02T10:00:00Z")
    import_demo(repository, newer)
    before = repository.list_refs("refs/heads/")
    older = session(tmp_path, "s1", "a b c d", created="2026-02-01T10:00:00Z")
    done = import_demo(repository, older, newer)
    assert joins(done) == [("s1", "conv-001", "fork/s1", 2)]
    after = repository.list_refs("refs/heads/")
    assert {ref: after[ref] for ref in before} == before
    assert import_demo(repository, older, newer).operation is None


def test_a_joined_session_grows_on_its_branch(repository, tmp_path):
    base = session(tmp_path, "s1", "a b c d")
    import_demo(repository, base, session(tmp_path, "s2", "a b x y"))
    for options in ({}, {"join": False}):
        done = import_demo(
            repository, base, session(tmp_path, "s2", "a b x y z" if not options else "a b x y z w"), **options
        )
        assert (done.joined, done.notes) == ((), ())
    assert branch_words(repository, "fork/s2") == "a b x y z w"
    assert conversations(repository) == {"conv-001": ["fork/s2", "main"]}


def test_a_joined_session_alone_in_a_later_import_grows_on_its_branch(repository, tmp_path):
    import_demo(repository, session(tmp_path, "s1", "a b c d"), session(tmp_path, "s2", "a b x y"))
    import_demo(repository, session(tmp_path, "s2", "a b x y z w"))
    assert branch_words(repository, "fork/s2") == "a b x y z w"
    assert conversations(repository) == {"conv-001": ["fork/s2", "main"]}


def test_forks_and_sub_agents_of_a_joined_session_follow_it(repository, tmp_path):
    import_demo(
        repository,
        session(tmp_path, "s1", "a b c d"),
        session(tmp_path, "s2", "a b x y"),
        write_transcript(tmp_path / "helper", *session_records("s2", "p q", part="helper")),
        write_transcript(tmp_path / "named", *session_records("s3", "m n", base="s2")),
    )
    assert conversations(repository) == {"conv-001": ["fork/s2", "fork/s3", "main", "subagent/helper"]}


def test_a_copy_of_the_whole_session_joins_it(repository, tmp_path):
    """The copy has nothing of its own yet."""
    sources = session(tmp_path, "s1", "a b c d"), session(tmp_path, "s2", "a b")
    done = import_demo(repository, *sources)
    assert joins(done) == [("s2", "conv-001", "fork/s2", 2)]
    assert branch_words(repository, "fork/s2") == "a b"
    assert import_demo(repository, *sources).operation is None


def test_undo_separates_joined_sessions(repository, tmp_path):
    sources = session(tmp_path, "s1", "a b c d"), session(tmp_path, "s2", "a b x y")
    import_demo(repository, sources[0])
    before = repository.list_refs("refs/heads/", "refs/scopes/tracking/", "refs/scopes/sources/")
    import_demo(repository, sources[1])
    undo(repository)
    assert repository.list_refs("refs/heads/", "refs/scopes/tracking/", "refs/scopes/sources/") == before
    import_demo(repository, *sources, join=False)
    assert conversations(repository) == {"conv-001": ["main"], "conv-002": ["main"]}
    assert verify(repository).findings == ()


def test_a_deleted_conversation_is_not_joined(repository, tmp_path):
    import_demo(repository, session(tmp_path, "s1", "a b c d"))
    delete(repository, "conv-001")
    import_demo(repository, session(tmp_path, "s1", "a b c d"), session(tmp_path, "s2", "a b x y"))
    assert [branch_words(repository, "main", name) for name in conversations(repository)] == ["a b x y"]


def test_the_order_of_the_files_does_not_matter(tmp_path):
    sources = [session(tmp_path, name, f"a b {name} {name}2 {name}3") for name in ("s1", "s2", "s3")]
    found = set()
    for number, order in enumerate(permutations(sources)):
        store = make_store(tmp_path / f"{number}.git")
        import_demo(store, *order)
        found.add(tuple(sorted(imported_refs(store).items())))
    assert len(found) == 1


LONGEST = {"s1": "a b c d e f", "s2": "a b c x y z", "s3": "a b p q r s", "s4": "a b c x m n"}
STEPS = st.lists(st.tuples(*(st.integers(3, 6) for _ in LONGEST), st.sets(st.sampled_from([1, 2, 3]))), max_size=4)


@settings(max_examples=examples(20), deadline=None)
@given(STEPS)
@pytest.mark.slow
def test_any_order_of_growth_equals_one_import_of_everything(tmp_path_factory, steps):
    """P11: same set of sources, same object ids. The oldest session is in every import."""
    tmp_path = tmp_path_factory.mktemp("family")
    store, other = make_store(tmp_path / "steps.git"), make_store(tmp_path / "once.git")
    longest = dict.fromkeys(LONGEST, 3)
    for *lengths, places in [*steps, (6, 6, 6, 6, {1, 2, 3})]:
        longest = {name: max(old, new) for (name, old), new in zip(longest.items(), lengths, strict=True)}
        sources = [session(tmp_path, name, " ".join(words.split()[: longest[name]])) for name, words in LONGEST.items()]
        import_demo(store, *(sources[place] for place in sorted({0, *places})))
    import_demo(other, *sources)
    assert imported_refs(store) == imported_refs(other)
    before = count_objects(store)
    assert (import_demo(store, *sources).operation, count_objects(store)) == (None, before)


def exported(tmp_path, name, messages):
    (tmp_path / name).write_text(json.dumps(messages))
    return Source(str(tmp_path / name), (tmp_path / name).stat().st_size)


CALL = {"id": "call_Ef4JjxErSw38zQm1Lk2TnB7c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
HISTORY = [
    {"role": "user", "content": "what is here?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": CALL["id"], "content": "app.py"},
]


def test_a_list_that_was_exported_twice_and_continued_is_one_conversation(repository, tmp_path):
    """Two agents continue an exported history: their lists have names of their own."""
    first = exported(tmp_path, "a.json", [*HISTORY, {"role": "assistant", "content": "one file"}])
    second = exported(tmp_path, "b.json", [*HISTORY, {"role": "assistant", "content": "a Flask app", "name": "other"}])
    done = import_sources(repository, [first, second], (OpenAIMessages(),))
    assert [join.equal_messages for join in done.joined] == [3]
    assert len(conversations(repository)) == 1


@pytest.mark.parametrize("call_id", ["call_1", "functions.ls:0", "call_Xf4JjxErSw38zQm1Lk2TnB7c"])
def test_the_same_first_call_under_another_id_is_no_copy(repository, tmp_path, call_id):
    """Reviews that were started several times begin with the same command."""
    for number, given_id in enumerate([CALL["id"] if "Xf" in call_id else call_id, call_id]):
        history = json.loads(json.dumps(HISTORY).replace(CALL["id"], given_id))
        end = {"role": "assistant", "content": f"number {number}"}
        import_sources(repository, [exported(tmp_path, f"{number}.json", [*history, end])], (OpenAIMessages(),))
    assert len(conversations(repository)) == 2


@pytest.mark.slow
def test_independent_runs_of_one_task_stay_apart(repository):
    """Four runs of 50 tasks: the first answers of some are equal."""
    done = import_sources(
        repository, [source_of(real_transcript("openai-messages", "tau-bench_gpt-4o-airline.json"))], FORMATS
    )
    assert (done.joined, len(done.conversations) > 100) == ((), True)


def copied_claude_session(path):
    """Copy the first half of a Claude Code session under a new session id, with new record ids, and continue it."""
    records = [json.loads(line) for line in path.read_bytes().splitlines()[:60]]
    text = "\n".join(json.dumps(record) for record in records)
    for record in records:
        for name in {"uuid", "sessionId"} & record.keys():
            text = text.replace(record[name], record[name][::-1])
    last = [record for record in map(json.loads, text.splitlines()) if record["type"] in {"user", "assistant"}][-1]
    prompt = {**last, "type": "user", "uuid": "f0f0", "parentUuid": last["uuid"]}
    return text + "\n" + json.dumps(prompt | {"message": {"role": "user", "content": "Now the other way."}}) + "\n"


def test_a_claude_code_session_resumed_into_a_new_file_is_a_branch(repository, tmp_path):
    path = Path(real_transcript("claude-code", "v2.1.7_3compactions_6interrupts.jsonl"))
    (tmp_path / "copy.jsonl").write_text(copied_claude_session(path))
    done = import_sources(repository, [source_of(str(path)), source_of(str(tmp_path / "copy.jsonl"))], FORMATS)
    assert [join.equal_messages > 2 for join in done.joined] == [True]
    assert len(conversations(repository)) == 1
    assert_sound(repository)


def test_a_codex_session_copied_with_new_times_is_a_branch(repository, tmp_path):
    """The copy names no parent, and all its records have the time of the copy."""
    path = Path(real_transcript("codex", "v0.118_exec.jsonl"))
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    for record in records:
        record["timestamp"] = "2026-11-20T12:00:00.250Z"
    records[0]["payload"] |= {"id": "019d7d08-46c9-7f73-affe-000000000000", "timestamp": "2026-11-20T12:00:00.250Z"}
    (tmp_path / "copy.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records[: len(records) // 2]))
    done = import_sources(repository, [source_of(str(path)), source_of(str(tmp_path / "copy.jsonl"))], FORMATS)
    assert [join.equal_messages > 2 for join in done.joined] == [True]
    assert len(conversations(repository)) == 1


def test_a_joined_session_is_exported_byte_for_byte(repository, tmp_path):
    sources = session(tmp_path, "s1", "a b c d"), session(tmp_path, "s2", "a b x y")
    import_demo(repository, *sources)
    stored = list_sources(repository, resolve_revision(repository, "conv-001"))
    found = [b"".join(walk_bytes(repository, source)) for source in stored]
    assert found == [Path(source.path).read_bytes() for source in sources]


def test_branches_of_a_joined_session_that_have_names_of_the_other_keep_their_messages(repository, tmp_path):
    """Both sessions went back to the same message, and one continued that line."""
    base, copy = session_records("s1", "a b c d d2<b"), session_records("s2", "a b x y d2<b e2")
    for records in (base, copy):
        for record in records[1:]:
            record["time"] = TIME.format(ord(record["id"][0]) - ord("a"))
        last = {"id": f"end{records[0]['session']}", "parent": records[4]["id"], "by": "user", "say": "go on"}
        records.append(last)
    sources = write_transcript(tmp_path / "s1", *base), write_transcript(tmp_path / "s2", *copy)
    done = import_demo(repository, *sources)
    words = {branch_words(repository, name) for name in list_branch_tips(repository, "conv-001")}
    assert {"a b c d go on", "a b d2", "a b x y go on", "a b d2 e2"} <= words
    (renamed,) = [note.text for note in done.notes if "exists in conv-001" in note.text]
    assert re.fullmatch(
        r"branch fork/\w{8} exists in conv-001; the one of that name in a source is import/[0-9a-f]{8}", renamed
    )
    assert not any("was moved" in note.text for note in done.notes)
    assert import_demo(repository, *sources).operation is None


@pytest.mark.parametrize("words", ["a b x y", "a b"])
def test_a_conversation_that_is_deleted_while_a_session_joins_it_is_not_joined(
    repository, tmp_path, monkeypatch, words
):
    """Another process deletes it after it was found and before the refs move: the import starts again."""
    import_demo(repository, session(tmp_path, "s1", "a b c d"))
    lock = iter([lambda: delete(open_store(repository.path), "conv-001")])

    def delete_first(store):
        next(lock, lambda: None)()
        return exclusive_write(store)

    monkeypatch.setattr("scopes.importers.import_sources.exclusive_write", delete_first)
    done = import_demo(repository, session(tmp_path, "s2", words))
    assert (done.joined, [row.new_messages for row in done.conversations]) == ((), [len(words.split())])
    assert [branch_words(repository, "main", name) for name in conversations(repository)] == [words]
    assert_sound(repository)


def test_undo_and_redo_of_a_join_and_its_repetition_lead_to_the_same_store(repository, tmp_path, monkeypatch):
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    base, copy = session(tmp_path, "s1", "a b c d"), session(tmp_path, "s2", "a b x y")
    import_demo(repository, base)
    before = imported_refs(repository)
    first = import_demo(repository, copy)
    joined = imported_refs(repository)
    undo(repository)
    assert imported_refs(repository) == before
    redo(repository)
    assert imported_refs(repository) == joined
    assert import_demo(repository, base, copy).operation is None
    undo(repository)
    again = import_demo(repository, base, copy)
    assert (joins(again), imported_refs(repository)) == (joins(first), joined)


def test_a_session_kept_apart_joins_after_undo(repository, tmp_path):
    sources = session(tmp_path, "s1", "a b c d"), session(tmp_path, "s2", "a b x y")
    import_demo(repository, *sources, join=False)
    undo(repository)
    assert conversations(repository) == {}
    assert joins(import_demo(repository, *sources)) == [("s2", "conv-001", "fork/s2", 2)]
    assert_sound(repository)


def test_workers_read_the_beginnings_of_many_sources_alike(tmp_path, monkeypatch):
    words = "q r t"
    answer = {"r": "The same long answer of an agent. " * 40}
    sources = []
    for number in range(6):
        records = session_records(f"twin{number}", f"{words} own{number}")
        for record in records[1:]:
            record["say"] = answer.get(record["id"], record["say"])
        sources.append(write_transcript(tmp_path / f"{number}.jsonl", *records))
    expected = import_demo(make_store(tmp_path / "one.git"), *sources)
    monkeypatch.setattr(workers, "_ITEMS_PER_WORKER", 1)
    setting = Setting("scopes.importWorkers", "3", "flag")
    several = import_demo(make_store(tmp_path / "three.git", {**FAST, "scopes.importworkers": setting}), *sources)
    assert len(several.joined) == 5
    assert several.joined == expected.joined
