"""A source that was imported before finds its conversation without a look at all others."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.conversation.branch import rewind
from scopes.conversation.new_rename_delete import delete, rename_conversation
from scopes.conversation.undo import undo
from scopes.errors import ScopesError
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.importers import conversation_roots, forks
from scopes.store.refs import META
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import branch_words, import_demo
from tests.support.examples import examples
from tests.support.store import make_store


@pytest.fixture
def looked_at(monkeypatch, repository):
    """The conversations whose metadata an import has read to find its targets."""
    found = []
    original, by_commit = conversation_roots.read_metadata, conversation_roots.read_metadata_at

    def read(repository, conversation):
        found.append(conversation)
        return original(repository, conversation)

    def read_at(objects, commit):
        metadata = {oid: ref.removeprefix(META) for ref, oid in repository.list_refs(META).items()}
        found.append(metadata[commit])
        return by_commit(objects, commit)

    monkeypatch.setattr(conversation_roots, "read_metadata", read)
    monkeypatch.setattr(conversation_roots, "read_metadata_at", read_at)
    return found


def transcript(tmp_path, name, words):
    return write_transcript(tmp_path / f"{name}.jsonl", *session_records(name, words))


@pytest.fixture
def many(repository, tmp_path):
    import_demo(repository, *(transcript(tmp_path, f"s{number}", "a b") for number in range(8)))
    return repository


def test_a_grown_source_reads_its_own_conversation_only(many, tmp_path, looked_at):
    import_demo(many, transcript(tmp_path, "s3", "a b c"))
    assert set(looked_at) == {"conv-004"}
    assert branch_words(many, conversation="conv-004") == "a b c"


def test_a_new_source_is_compared_with_all(many, tmp_path, looked_at):
    import_demo(many, transcript(tmp_path, "new", "x"))
    assert len(set(looked_at)) == 8


def test_a_renamed_conversation_is_found(many, tmp_path, looked_at):
    rename_conversation(many, "conv-004", "shop")
    import_demo(many, transcript(tmp_path, "s3", "a b c"))
    assert set(looked_at) == {"shop"}
    assert branch_words(many, conversation="shop") == "a b c"


def test_a_branch_that_was_moved_is_found_among_all(many, tmp_path):
    rewind(many, "conv-004", count=1)
    import_demo(many, transcript(tmp_path, "s3", "a b c"))
    assert branch_words(many, conversation="conv-004") == "a"
    assert len(import_demo(many, transcript(tmp_path, "s3", "a b c d")).conversations) == 1


@pytest.fixture
def sources_read(monkeypatch):
    """The stored sources of which an import has read how they begin."""
    found = []
    original = forks._first_message_ids
    monkeypatch.setattr(forks, "_first_message_ids", lambda objects, oid: found.append(oid) or original(objects, oid))
    return found


def test_with_an_index_each_conversation_and_source_is_read_once(many, tmp_path, looked_at, sources_read):
    """A hook imports after every turn, and a new session is compared with all others."""
    index = str(tmp_path / "index")
    import_demo(many, transcript(tmp_path, "n1", "x y"), index_directory=index)
    assert (len(set(looked_at)), len(set(sources_read))) == (8, 8)
    looked_at.clear()
    sources_read.clear()
    import_demo(many, transcript(tmp_path, "s3", "a b c"), index_directory=index)
    assert sources_read == []
    import_demo(many, transcript(tmp_path, "n2", "x z"), index_directory=index)
    assert set(looked_at) == {"conv-004", "conv-009"}  # those that have changed since
    assert len(sources_read) == 2


def test_a_copy_joins_what_another_import_has_stored_since(repository, tmp_path):
    index = str(tmp_path / "index")
    sources = [timed(tmp_path, name, words) for name, words in (("s1", "a b c"), ("s2", "x y"), ("s3", "a b d"))]
    for source in sources:
        done = import_demo(repository, source, index_directory=index)
    assert [(each.session, each.conversation) for each in done.joined] == [("s3", "conv-001")]
    done = import_demo(repository, timed(tmp_path, "s4", "x y z"), index_directory=index)
    assert [(each.session, each.conversation) for each in done.joined] == [("s4", "conv-002")]


def timed(tmp_path, name, words):
    """Write a session whose messages have exact times, which copies have too."""
    records = session_records(name, words)
    for number, record in enumerate(records[1:]):
        record["time"] = f"2026-02-01T10:00:{number:02}.137Z"
    return write_transcript(tmp_path / f"{name}.jsonl", *records)


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("import"), st.sampled_from("abcd"), st.sampled_from(["a b", "a b c", "a b x", "q r", "q r s"])
        ),
        st.tuples(st.just("delete"), st.integers(1, 4)),
        st.tuples(st.just("undo")),
        st.tuples(st.just("rename"), st.integers(1, 4)),
    ),
    min_size=1,
    max_size=7,
)


@settings(max_examples=examples(12), deadline=None)
@given(steps=STEPS)
def test_an_import_with_an_index_stores_what_one_without_it_does(steps, tmp_path_factory):
    top = tmp_path_factory.mktemp("law")
    found = []
    for index in (None, str(top / "index")):
        repository = make_store(top / f"{index is None}.git")
        for step in steps:
            with suppress(ScopesError):
                do(repository, top, step, index)
        tips = {each: list_branch_tips(repository, each) for each in conversation_ids(repository)}
        found.append(
            {(each, branch): branch_words(repository, branch, each) for each, known in tips.items() for branch in known}
        )
    assert found[0] == found[1]


def do(repository, top, step, index):
    match step:
        case ("import", name, words):
            import_demo(repository, timed(top, f"s{name}", words), index_directory=index)
        case ("delete", number):
            delete(repository, f"conv-{number:03d}")
        case ("undo",):
            undo(repository)
        case ("rename", number):
            rename_conversation(repository, f"conv-{number:03d}", f"renamed-{number}")
