"""Sessions that continue others: in any import order the store equals one that imported all at once."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.conversation.append import append
from scopes.conversation.verify import verify
from scopes.history.messages import plain_message, walk_headers_oldest_first
from scopes.history.metadata import read_metadata
from scopes.history.names import list_branch_tips
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import branch_words, count_objects, import_demo
from tests.support.examples import examples
from tests.support.store import make_store


def imported_refs(store):
    """Return all branches and tracking refs."""
    return store.list_refs("refs/heads/", "refs/scopes/tracking/")


def refs_after_one_import(tmp_path, *sources):
    """Return all branches and tracking refs after one import of all sources into an empty store."""
    other = make_store(tmp_path / "at-once.git")
    import_demo(other, *sources)
    return imported_refs(other)


def size(records):
    return sum(len(json.dumps(record)) + 1 for record in records)


def branch(store, prefix):
    return next(name for name in list_branch_tips(store, "conv-001") if name.startswith(prefix))


def base(tmp_path, words="a b c"):
    return write_transcript(tmp_path / "base.jsonl", *session_records("s1", words))


def fork(tmp_path, words="x y", end="a b c"):
    """Write a fork of s1 after its messages up to `end`."""
    return write_transcript(
        tmp_path / "fork.jsonl", *session_records("s2", words, base="s1", end=size(session_records("s1", end)))
    )


def test_a_fork_at_the_end_of_its_base_follows_its_last_message(repository, tmp_path):
    import_demo(repository, base(tmp_path), fork(tmp_path))
    assert branch_words(repository, branch(repository, "fork/")) == "a b c x y"


def test_a_fork_imported_after_its_base_follows_it_too(repository, tmp_path):
    sources = base(tmp_path), fork(tmp_path)
    for source in sources:
        import_demo(repository, source)
    assert imported_refs(repository) == refs_after_one_import(tmp_path, *sources)


def test_a_fork_of_a_base_with_one_message_follows_it(repository, tmp_path):
    sources = base(tmp_path, "a"), fork(tmp_path, "x y", "a")
    for source in sources:
        import_demo(repository, source)
    assert branch_words(repository, branch(repository, "fork/")) == "a x y"
    sources = base(tmp_path, "a b c"), sources[1]
    import_demo(repository, *sources)
    assert imported_refs(repository) == refs_after_one_import(tmp_path, *sources)


@pytest.mark.parametrize("at_a_time", [1, 2, 3])
def test_a_group_imported_in_steps_equals_one_imported_at_once(repository, tmp_path, at_a_time):
    """A base, its fork and its part; each import adds a message to each."""
    helper = session_records("s1", "p q r s", part="helper")
    for length in range(1, 5):
        both = "a b c d e"[: 2 * length + 1], "x y z w"[: 2 * length - 1]
        sources = [base(tmp_path, both[0]), fork(tmp_path, both[1], "a b")]
        sources.append(write_transcript(tmp_path / "helper.jsonl", *helper[: length + 1]))
        for first in range(0, 3, at_a_time):
            import_demo(repository, *sources[first : first + at_a_time])
    import_demo(repository, *sources)
    assert imported_refs(repository) == refs_after_one_import(tmp_path, *sources)
    assert import_demo(repository, *sources).operation is None


def test_a_fork_follows_when_the_last_message_of_its_base_is_replaced(repository, tmp_path):
    import_demo(repository, base(tmp_path), fork(tmp_path))
    sources = base(tmp_path, "a b c d"), fork(tmp_path)
    done = import_demo(repository, *sources)
    assert imported_refs(repository) == refs_after_one_import(tmp_path, *sources)
    assert [name for name in list_branch_tips(repository, "conv-001") if name.startswith(("abandoned", "import"))] == []
    assert [note.text for note in done.notes] == []
    assert verify(repository).findings == ()


def test_a_fork_is_updated_when_only_its_base_is_imported(repository, tmp_path):
    import_demo(repository, base(tmp_path), fork(tmp_path))
    sources = base(tmp_path, "a b c d"), fork(tmp_path)
    import_demo(repository, sources[0])
    import_demo(repository, *sources)
    assert imported_refs(repository) == refs_after_one_import(tmp_path, *sources)


def test_a_fork_of_a_fork_follows_too(repository, tmp_path):
    end = size(session_records("s2", "x y", base="s1", end=size(session_records("s1", "a b c"))))
    last = write_transcript(tmp_path / "last.jsonl", *session_records("s3", "p q", base="s2", end=end))
    import_demo(repository, base(tmp_path), fork(tmp_path), last)
    sources = base(tmp_path, "a b c d"), fork(tmp_path), last
    for source in sources:
        import_demo(repository, source)
    assert imported_refs(repository) == refs_after_one_import(tmp_path, *sources)
    assert "a b c x y p q" in [branch_words(repository, name) for name in list_branch_tips(repository, "conv-001")]


def test_a_fork_point_at_an_open_message_moves_to_its_replacement(repository, tmp_path):
    import_demo(repository, base(tmp_path), fork(tmp_path))
    import_demo(repository, base(tmp_path, "a b c d"), fork(tmp_path))
    entry = read_metadata(repository, "conv-001").branches[branch(repository, "fork/")]
    heads = list(walk_headers_oldest_first(repository, [list_branch_tips(repository, "conv-001")["main"]]))
    assert entry.fork == heads[2].oid


def test_a_copy_of_an_open_message_is_that_message(repository, tmp_path):
    """The fork copied all messages of its base and continued."""
    copied = session_records("s2", "a b c x", base="s1")
    for record in copied[1:4]:
        record["time"] = "2026-03-01T00:00:00Z"
    copy = write_transcript(tmp_path / "fork.jsonl", *copied)
    import_demo(repository, base(tmp_path), copy)
    sources = base(tmp_path, "a b c d"), copy
    import_demo(repository, *sources)
    assert imported_refs(repository) == refs_after_one_import(tmp_path, *sources)
    tips = list_branch_tips(repository, "conv-001")
    assert branch_words(repository) == "a b c d"
    assert branch_words(repository, next(name for name in tips if name.startswith("fork/"))) == "a b c x"


def test_equal_messages_after_a_fork_belong_to_the_base(repository, tmp_path):
    """The fork wrote it first, but it is one message and belongs to the base."""
    same = session_records("s2", "a b d", base="s1")
    same[3] |= {"time": "2026-03-01T00:00:00Z"}
    first_contents = write_transcript(
        tmp_path / "fork.jsonl", *same, {"id": "e", "parent": "d", "by": "bot", "say": "say e"}
    )
    import_demo(repository, base(tmp_path, "a b"), first_contents)
    sources = base(tmp_path, "a b d f"), first_contents
    import_demo(repository, *sources)
    assert imported_refs(repository) == refs_after_one_import(tmp_path, *sources)


def test_a_fork_joins_a_base_that_is_imported_later(repository, tmp_path):
    sources = base(tmp_path), fork(tmp_path)
    import_demo(repository, sources[1])
    import_demo(repository, *sources)
    assert branch_words(repository, conversation="conv-001") == "x y"
    other = next(name for name in list_branch_tips(repository, "conv-002") if name.startswith("fork/"))
    assert branch_words(repository, other, "conv-002") == "a b c x y"


def test_a_fork_that_the_user_continued_stays(repository, tmp_path):
    import_demo(repository, base(tmp_path), fork(tmp_path))
    name = branch(repository, "fork/")
    append(repository, "conv-001", plain_message("carol", "mine"), branch=name)
    import_demo(repository, base(tmp_path, "a b c d"), fork(tmp_path))
    assert branch_words(repository, name) == "a b c x y mine"
    assert branch_words(repository, branch(repository, "import/")) == "a b c x y"


@pytest.mark.parametrize("first", [[0], [1], [0, 1]])
def test_joined_sessions_are_imported_once(repository, tmp_path, first):
    sources = base(tmp_path), fork(tmp_path)
    import_demo(repository, *(sources[place] for place in first))
    import_demo(repository, *sources)
    before, everything = count_objects(repository), repository.list_refs()
    assert import_demo(repository, *sources).operation is None
    assert (count_objects(repository), repository.list_refs()) == (before, everything)


def test_a_session_without_messages_continues_on_main(repository, tmp_path):
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "")))
    whole = write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c"))
    import_demo(repository, whole)
    assert branch_words(repository) == "a b c"
    assert imported_refs(repository) == refs_after_one_import(tmp_path, whole)


def test_a_user_message_in_an_empty_session_stays(repository, tmp_path):
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a")))
    append(repository, "conv-001", plain_message("carol", "mine"))
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b")))
    assert branch_words(repository) == "a mine"
    assert branch_words(repository, branch(repository, "import/")) == "a b"


def test_pages_continue_each_other_and_are_not_sub_agents(repository, tmp_path):
    main = write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b"))
    page = write_transcript(
        tmp_path / "b.jsonl",
        *session_records("s1", "x y", part="p1", base="s1", end=size(session_records("s1", "a b")), line="page"),
    )
    next_page = write_transcript(
        tmp_path / "c.jsonl", *session_records("s1", "z", part="p2", base="p1", end=page.size, line="page")
    )
    import_demo(repository, next_page, page, main)
    assert sorted(list_branch_tips(repository, "conv-001")) == ["main", "page/p1", "page/p2"]
    assert branch_words(repository, "page/p2") == "a b x y z"


def pages(tmp_path, *contents):
    """Write a session in pages, each continuing the previous one."""
    sources, part = [write_transcript(tmp_path / "0.jsonl", *session_records("s1", contents[0]))], "s1"
    for number, page in enumerate(contents[1:], 1):
        records = session_records("s1", page, part=f"p{number}", base=part, end=sources[-1].size, line="page")
        sources.append(write_transcript(tmp_path / f"{number}.jsonl", *records))
        part = f"p{number}"
    return sources


def test_main_follows_the_pages_of_its_session(repository, tmp_path):
    """A resumed session ends at the end of its last page."""
    for source in pages(tmp_path, "a b", "x y"):
        import_demo(repository, source)
    assert branch_words(repository) == "a b x y"
    sources = pages(tmp_path, "a b", "x y z", "w")
    done = import_demo(repository, *sources)
    assert (branch_words(repository), done.notes) == ("a b x y z w", ())
    assert imported_refs(repository) == refs_after_one_import(tmp_path, *sources)
    assert import_demo(repository, *sources).operation is None


def test_main_stays_where_the_user_moved_it_when_a_page_is_imported(repository, tmp_path):
    sources = pages(tmp_path, "a b", "x y")
    import_demo(repository, sources[0])
    append(repository, "conv-001", plain_message("carol", "mine"))
    import_demo(repository, *sources)
    assert (branch_words(repository), branch_words(repository, "page/p1")) == ("a b mine", "a b x y")


BASE, SAME, COPY = "a b c d e f", "x y z w", "a b c n o"
STEPS = st.lists(
    st.tuples(st.integers(1, 6), st.integers(0, 4), st.integers(3, 5), st.integers(0, 4), st.sets(st.integers(0, 3))),
    max_size=4,
)


def group(tmp_path, lengths):
    """Write a base, a fork after its third message, a fork that copied those three, and a part, each of the given length."""
    end = size(session_records("s1", "a b c"))
    records = [
        session_records("s1", BASE),
        session_records("s2", SAME, base="s1", end=end),
        session_records("s3", COPY, base="s1"),
        session_records("s1", SAME, part="p"),
    ]
    for record in records[2][1:4]:
        record["time"] = "2026-03-01T00:00:00Z"
    return [
        write_transcript(tmp_path / f"{number}.jsonl", *found[: length + 1])
        for number, (found, length) in enumerate(zip(records, lengths, strict=True))
    ]


@settings(max_examples=examples(20), deadline=None)
@given(STEPS)
def test_any_order_of_growth_equals_one_import_of_everything(tmp_path_factory, steps):
    """P11: same set of sources, same object ids. The base has at least the messages that the others copied."""
    tmp_path = tmp_path_factory.mktemp("group")
    store = make_store(tmp_path / "store.git")
    longest = [3, 0, 3, 0]
    for *lengths, places in steps:
        longest = [max(before, now) for before, now in zip(longest, lengths, strict=True)]
        sources = group(tmp_path, longest)
        import_demo(store, *(sources[place] for place in sorted({0, *places})))
    sources = group(tmp_path, [6, 4, 5, 4])
    import_demo(store, *sources)
    assert imported_refs(store) == refs_after_one_import(tmp_path, *sources)
    assert import_demo(store, *sources).operation is None
