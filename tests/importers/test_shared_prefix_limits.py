"""Joining sessions under adversity: copies made to mislead, kills between two steps, growth of either session."""

from __future__ import annotations

import json
from itertools import permutations

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.log import log
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import rename_conversation
from scopes.conversation.show import show
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.importers.identity import MAX_ANSWERS, MIN_TEXT
from scopes.store import transactions as recovery
from scopes.store.transactions import exclusive_write
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import branch_words, count_objects, import_demo
from tests.support.history import say
from tests.support.kills import dying_after_commit
from tests.support.store import assert_sound, git, make_store, open_store

LETTERS = "abcdefghijklmnopqrstuvwxyz"
BASE, COPY = "a b c d", "a b x y"


def session(tmp_path, name, words, change=lambda records: None, **fields):
    """Write a session whose messages have the exact times that copies of them have, after a change of its records."""
    records = session_records(name, words, **fields)
    for number, record in enumerate(records[1:]):
        record["time"] = f"2026-02-01T10:00:{number:02}.137Z"
    change(records)
    return write_transcript(tmp_path / f"{name}.jsonl", *records)


def refs_of(store):
    return store.list_refs("refs/heads/", "refs/scopes/tracking/")


def branches(store):
    """Return the texts of every branch, by conversation and branch."""
    return {
        (conversation, name): branch_words(store, name, conversation)
        for conversation in conversation_ids(store)
        for name in list_branch_tips(store, conversation)
    }


def imported_at_once(tmp_path, *sources):
    store = make_store(tmp_path / "once.git")
    import_demo(store, *sources)
    return refs_of(store)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda records: records[1].update(say="say A"), id="another prompt"),
        pytest.param(lambda records: records[1].update(by="bot"), id="another author of the prompt"),
        pytest.param(lambda records: records[2].update(time="2026-02-01T10:00:01Z"), id="a rounded time"),
        pytest.param(lambda records: records[2].update(time="2026-02-01T10:00:01.138Z"), id="a millisecond later"),
        pytest.param(lambda records: records[2].update(say="say  b"), id="one more space in the answer"),
        pytest.param(lambda records: records[2].update(by="user"), id="an answer of the user"),
        pytest.param(lambda records: records[2].update(parent=None), id="an answer without a prompt"),
        pytest.param(lambda records: records[2].update(side="x"), id="an answer on the side"),
    ],
)
def test_a_forged_beginning_does_not_join(repository, tmp_path, change):
    """Everything up to the answer has to be equal, and something that only a copy has."""
    import_demo(repository, session(tmp_path, "s1", BASE), session(tmp_path, "s2", "a b", change))
    assert len(conversation_ids(repository)) == 2


@pytest.mark.parametrize("name", ["base", "part"])
def test_a_session_that_names_another_one_does_not_join_by_its_beginning(repository, tmp_path, name):
    done = import_demo(
        repository, session(tmp_path, "s1", BASE), session(tmp_path, "s2", COPY, **{name: "not-imported"})
    )
    assert done.joined == ()


def test_a_claim_to_another_session_id_moves_no_message_of_it(repository, tmp_path):
    """A transcript with the id of the first session, and other content, does not change that session's branch."""
    import_demo(repository, session(tmp_path, "s1", BASE))
    before = branch_words(repository)
    (tmp_path / "other").mkdir()
    import_demo(repository, session(tmp_path / "other", "s1", "a b x y z w"))
    assert before in branches(repository).values()
    assert_sound(repository)


def test_texts_of_control_characters_and_brackets_are_only_text(repository, tmp_path):
    def change(records):
        records[1]["say"] = "</history> \x1b[2J system: join conv-009"
        records[2]["say"] = "\x00\u202e" + "x" * MIN_TEXT

    done = import_demo(repository, session(tmp_path, "s1", BASE, change), session(tmp_path, "s2", COPY, change))
    (note,) = [note.text for note in done.notes if "joined" in note.text]
    assert note.isprintable()
    assert len(conversation_ids(repository)) == 1


@pytest.mark.parametrize(("equal", "count"), [(2 * MAX_ANSWERS - 2, 1), (2 * MAX_ANSWERS, 1), (2 * MAX_ANSWERS + 6, 1)])
def test_a_long_common_beginning_joins_at_its_end(repository, tmp_path, equal, count):
    """Only the first answers are compared, and the branch begins at the last equal message."""
    common = " ".join(LETTERS[:equal])
    done = import_demo(
        repository, session(tmp_path, "s1", f"{common} y1 y2"), session(tmp_path, "s2", f"{common} z1 z2")
    )
    assert len(conversation_ids(repository)) == count
    assert [join.equal_messages for join in done.joined] == [equal]


def test_the_answers_after_the_first_ones_are_no_proof(repository, tmp_path):
    """Without a proof in the first answers nothing later is looked at, however long the equal history is."""

    def rounded(records):
        for record in records[1 : 2 * MAX_ANSWERS + 1]:
            record["time"] = "2026-02-01T10:00:00Z"

    words = " ".join(LETTERS)
    done = import_demo(
        repository, session(tmp_path, "s1", words, rounded), session(tmp_path, "s2", f"{words} z1", rounded)
    )
    assert (done.joined, len(conversation_ids(repository))) == ((), 2)


def test_a_damaged_copy_joins_by_what_can_be_read(repository, tmp_path):
    source = session(tmp_path, "s2", COPY)
    lines = (tmp_path / "s2.jsonl").read_text().splitlines()
    (tmp_path / "s2.jsonl").write_text("\n".join([*lines[:4], '{"id": "x', *lines[4:]]) + "\n")
    done = import_demo(repository, session(tmp_path, "s1", BASE), type(source)(source.path, _size(source.path)))
    assert [join.session for join in done.joined] == ["s2"]
    assert_sound(repository)


def _size(path):
    with open(path, "rb") as file:
        return len(file.read())


def test_three_sessions_of_which_each_continues_the_one_before_are_one_conversation(tmp_path):
    """P11: in every order of the files."""
    sources = [
        session(tmp_path, "s1", "a b c d"),
        session(tmp_path, "s2", "a b c d e f x y"),
        session(tmp_path, "s3", "a b c d e f g h"),
    ]
    expected = imported_at_once(tmp_path, *sources)
    for number, order in enumerate(permutations(sources)):
        store = make_store(tmp_path / f"{number}.git")
        import_demo(store, *order)
        assert refs_of(store) == expected
    assert set(branches(store).values()) == {"a b c d", "a b c d e f x y", "a b c d e f g h"}
    assert conversation_ids(store) == ["conv-001"]


def test_three_sessions_imported_one_after_another_join_the_nearest(repository, tmp_path):
    for name, words in ("s1", "a b c d"), ("s2", "a b x y"), ("s3", "a b x y z w"):
        done = import_demo(repository, session(tmp_path, name, words))
    assert [join.equal_messages for join in done.joined] == [4]
    assert set(branches(repository).values()) == {"a b c d", "a b x y", "a b x y z w"}


@pytest.mark.parametrize("grown", ["s1", "s2"])
def test_either_session_may_grow_later_and_the_other_one_stays(repository, tmp_path, grown):
    words = {"s1": BASE, "s2": COPY}
    import_demo(repository, *(session(tmp_path, name, text) for name, text in words.items()))
    before = set(branches(repository).values())
    words[grown] += " p q"
    done = import_demo(repository, *(session(tmp_path, name, text) for name, text in words.items()))
    assert set(branches(repository).values()) == before - {words[grown].removesuffix(" p q")} | {words[grown]}
    assert done.joined == ()


def test_the_first_session_may_grow_into_what_the_copy_has(repository, tmp_path):
    """Both were continued alike: the messages are the same, and each branch keeps its tip."""
    import_demo(repository, session(tmp_path, "s1", "a b"), session(tmp_path, "s2", COPY))
    import_demo(repository, session(tmp_path, "s1", "a b x y z w"), session(tmp_path, "s2", COPY))
    assert set(branches(repository).values()) == {"a b x y z w", COPY}
    objects = count_objects(repository)
    assert import_demo(repository, session(tmp_path, "s1", "a b x y z w")).operation is None
    assert count_objects(repository) == objects


def test_importing_again_adds_no_object_and_no_operation(repository, tmp_path):
    sources = session(tmp_path, "s1", BASE), session(tmp_path, "s2", COPY)
    import_demo(repository, *sources)
    before, objects = repository.list_refs(), count_objects(repository)
    for again in (sources, sources[::-1], sources[1:], sources[:1]):
        assert import_demo(repository, *again).operation is None
    assert (repository.list_refs(), count_objects(repository)) == (before, objects)


def test_a_session_kept_apart_stays_apart_in_every_later_import(repository, tmp_path):
    """`--no-join` is needed once: what has its conversation stays there."""
    import_demo(repository, session(tmp_path, "s1", BASE))
    import_demo(repository, session(tmp_path, "s2", COPY), join=False)
    for words in ("a b x y z w", "a b x y z w p q"):
        assert import_demo(repository, session(tmp_path, "s1", BASE), session(tmp_path, "s2", words)).joined == ()
    assert conversation_ids(repository) == ["conv-001", "conv-002"]
    assert branch_words(repository, "main", "conv-002") == "a b x y z w p q"


def test_a_session_joins_a_conversation_that_was_renamed_and_continued(repository, tmp_path):
    import_demo(repository, session(tmp_path, "s1", BASE))
    rename_conversation(repository, "conv-001", "login-bug")
    say(repository, "login-bug", "by hand")
    done = import_demo(repository, session(tmp_path, "s2", COPY))
    assert [(join.conversation, join.branch) for join in done.joined] == [("login-bug", "fork/s2")]
    assert branch_words(repository, "main", "login-bug") == f"{BASE} by hand"


def test_a_branch_that_has_the_name_of_the_fork_already_is_not_moved(repository, tmp_path):
    import_demo(repository, session(tmp_path, "s1", BASE))
    branch(repository, "conv-001", name="fork/s2", start="main", switch=False)
    say(repository, "conv-001/fork/s2", "mine")
    import_demo(repository, session(tmp_path, "s2", COPY))
    assert branch_words(repository, "fork/s2") == f"{BASE} mine"
    assert COPY in branches(repository).values()


def test_a_joined_branch_merges_as_any_other(repository, tmp_path):
    import_demo(repository, session(tmp_path, "s1", BASE), session(tmp_path, "s2", COPY))
    merge(repository, "conv-001", "fork/s2", target="main")
    shown = [
        entry.message.text.removeprefix("say ") for entry in log(repository, "conv-001/main", oldest_first=True).items
    ]
    assert shown == ["a", "b", "c", "d", "x", "y", "Merge 2 messages"]
    assert {row.name for row in show(repository, "conv-001").branches} == {"main", "fork/s2"}


def _die(*_, **__):
    raise KeyboardInterrupt


def test_an_import_that_is_killed_before_it_is_committed_leaves_the_store_as_it_was(repository, tmp_path, monkeypatch):
    sources = session(tmp_path, "s1", BASE), session(tmp_path, "s2", COPY)
    import_demo(repository, sources[0])
    before = repository.list_refs()
    with monkeypatch.context() as fault:
        fault.setattr("scopes.importers.import_sources.exclusive_write", _die)
        with pytest.raises(KeyboardInterrupt):
            import_demo(repository, *sources)
    assert open_store(repository.path).list_refs() == before
    import_demo(open_store(repository.path), *sources)
    assert refs_of(repository) == imported_at_once(tmp_path, *sources)
    assert_sound(repository)


def test_an_import_that_is_killed_after_it_is_committed_is_complete_for_readers(repository, tmp_path, monkeypatch):
    """The next writer moves the refs; the session is not joined a second time."""
    sources = session(tmp_path, "s1", BASE), session(tmp_path, "s2", COPY)
    import_demo(repository, sources[0])
    with monkeypatch.context() as fault:
        fault.setattr(recovery, "set_ref", dying_after_commit(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            import_demo(repository, *sources)
    seen = open_store(repository.path)
    assert set(branches(seen).values()) == {BASE, COPY}
    with exclusive_write(seen):
        assert refs_of(seen) == imported_at_once(tmp_path, *sources)
    assert import_demo(seen, *sources).operation is None
    assert_sound(seen)


def test_a_join_to_a_packed_store_is_the_same(repository, tmp_path):
    sources = session(tmp_path, "s1", BASE), session(tmp_path, "s2", COPY)
    import_demo(repository, sources[0])
    git(repository, "gc", "-q")
    import_demo(open_store(repository.path), *sources)
    assert refs_of(open_store(repository.path)) == imported_at_once(tmp_path, *sources)


def test_the_stored_copy_of_a_session_is_enough_to_join_it(repository, tmp_path):
    """The transcript of the first session is deleted before the second one is imported."""
    import_demo(repository, session(tmp_path, "s1", BASE))
    (tmp_path / "s1.jsonl").unlink()
    done = import_demo(repository, session(tmp_path, "s2", COPY))
    assert [join.conversation for join in done.joined] == ["conv-001"]


def test_titles_between_equal_messages_do_not_keep_sessions_apart(repository, tmp_path):
    def titled(records):
        records.insert(2, {"title": f"title of {json.dumps(records[0]['session'])}"})

    done = import_demo(repository, session(tmp_path, "s1", BASE, titled), session(tmp_path, "s2", COPY, titled))
    assert [join.equal_messages for join in done.joined] == [2]
