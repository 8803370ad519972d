"""Laws of searching: operators are those of sets, a phrase is part of its words, a limit cuts the end off."""

from __future__ import annotations

import random

import pytest

from scopes.clock import format_seconds
from scopes.search.run import search
from tests.support.history import history, say
from tests.support.snapshot import Snapshot, take_snapshot
from tests.support.store import open_store

ATOMS = [
    "stack", "parser", "over*", '"stack overflow"', "overflow", "東京", "été", "author:carol", "agent:planner", "kind:answer",
    "tool:bash", "file:src", "model:opus", "branch:fix", "is:failed", "exit:2", "re:[Ss]tack", "after:2026-01-01",
]  # fmt: skip
_BUILT: dict[str, Snapshot] = {}


def build(repository):
    """Write a conversation of a dozen messages with every kind of field."""
    history(repository, "main: stack", "fix: parser")
    main = [
        {"text": "Stack overflow in the parser", "author": "carol"},
        {"text": "the overflow of a stack", "author": "dave"},
        {"text": "Été à Paris", "kind": "answer", "author": {"name": "planner", "kind": "agent"}, "model": "opus"},
        {"text": "東京タワー overlay", "kind": "answer", "author": {"name": "planner", "kind": "agent"}},
        {"text": "", "parts": [{"type": "tool_call", "call_id": "1", "name": "Bash", "input": {"command": "stack build"}}],
         "author": {"name": "planner", "kind": "agent"}, "kind": "answer"},
        {"text": "", "parts": [{"type": "tool_result", "call_id": "1", "output": "overflow", "is_error": True, "exit_code": 2}],
         "author": {"name": "tool", "kind": "tool"}, "kind": "tool-results"},
        {"text": "see src/login.py", "files": [{"path": "src/login.py", "op": "edit"}], "author": "carol"},
    ]  # fmt: skip
    for number, message in enumerate(main):
        if "parts" in message:
            del message["text"]
        say(repository, f"conv-001/{'fix' if number == 4 else 'main'}", message.pop("text", ""), **message)


@pytest.fixture
def ask(tmp_path, repository):
    """Return a function that searches a store, which is built once."""
    directory = str(tmp_path / "index")
    if not _BUILT:
        build(repository)
        search(repository, "stack", index_directory=directory)
        _BUILT.update({"copy.git": take_snapshot(repository.path), "index": take_snapshot(directory)})
    else:
        for name, snapshot in _BUILT.items():
            snapshot.write(str(tmp_path / name))
        repository = open_store(tmp_path / "copy.git")
    return lambda query, **options: search(repository, query, index_directory=directory, **{"limit": 100, **options})


@pytest.fixture
def found(ask):
    """Return a function that returns the set of messages that a query finds."""
    known = {}

    def find(query):
        if query not in known:
            known[query] = frozenset(hit.head.id for hit in ask(query).hits)
        return known[query]

    return find


def everything(found):
    return found("-nosuchword")


def test_every_atom_finds_some_messages_and_not_all(found):
    assert [query for query in ATOMS[:-1] if not 0 < len(found(query)) < len(everything(found))] == []


def test_without_a_condition_every_message_is_found(found):
    assert len(everything(found)) == 9
    assert everything(found) == found("kind:*") == found("after:1970-01-02")


@pytest.mark.parametrize("seed", range(2))
def test_operators_are_those_of_sets(found, seed):
    rng = random.Random(seed)
    for left, right in [rng.sample(ATOMS, 2) for _ in range(4)]:
        assert found(f"{left} {right}") == found(left) & found(right)
        assert found(f"{left} OR {right}") == found(left) | found(right)
        assert found(f"{left} -{right}") == found(left) - found(right)
        assert found(f"NOT ({left} OR {right})") == everything(found) - found(left) - found(right)


@pytest.mark.parametrize("seed", range(2))
def test_groups_distribute_and_bind_as_written(found, seed):
    rng = random.Random(seed)
    for a, b, c in [rng.sample(ATOMS, 3) for _ in range(3)]:
        assert found(f"{a} ({b} OR {c})") == found(f"{a} {b} OR {a} {c}")
        assert found(f"{a} OR {b} {c}") == found(a) | (found(b) & found(c))
        assert found(f"-({a} {b}) {c}") == found(c) - (found(a) & found(b))


@pytest.mark.parametrize("query", ATOMS[::4])
def test_a_double_negation_and_a_repetition_change_nothing(found, query):
    assert found(f"NOT NOT {query}") == found(f"{query} {query}") == found(f"({query})") == found(query)


def test_a_phrase_is_found_where_its_words_are_found_next_to_each_other(found):
    assert found('"stack overflow"') < found("stack overflow") < found("stack")
    assert found('"overflow stack"') == frozenset()
    assert found("stack-overflow") == found('"Stack, OVERFLOW"') == found('"stack overflow"')


def test_a_prefix_finds_what_the_whole_word_finds_and_more(found):
    assert found("overflow") < found("over*")
    assert found("over") == frozenset()
    assert found('"stack over"*') == found('"stack overflow"')


@pytest.mark.parametrize("query", ["stack", "kind:*", "re:[a-z]"])
@pytest.mark.parametrize("newest_first", [False, True])
def test_a_limit_shows_the_first_hits_and_counts_all(ask, query, newest_first):
    whole = ask(query, newest_first=newest_first)
    ids = [hit.head.id for hit in whole.hits]
    for limit in (0, 2, len(ids)):
        some = ask(query, newest_first=newest_first, limit=limit)
        assert [hit.head.id for hit in some.hits] == ids[:limit]
        assert some.coverage.shown == min(limit, len(ids))
    assert ask(query, count_only=True).counted == len(ids)


def test_newest_first_is_ordered_by_time(ask):
    times = [hit.head.time for hit in ask("kind:*", newest_first=True).hits]
    assert times == sorted(times, reverse=True)


def test_a_moment_splits_all_messages_in_those_before_and_after(ask, found):
    time = format_seconds(ask("Paris").hits[0].head.time)
    before, after = found(f'before:"{time}"'), found(f'after:"{time}"')
    assert (before | after, before & after) == (everything(found), frozenset())
    assert before
    assert after


@pytest.mark.parametrize(
    ("query", "same"),
    [
        ("Stack", "sTACK"), ("ÉTÉ", "été"), ("author:CAROL", "author:carol"), ("a b", "b a"),
        ("AUTHOR:carol", "author:carol"), ("file:src", "file:src/*"), ("file:login.py", "file:src/login.py"), ("tool:b*", "tool:BASH"),
        ("stack AND overflow", "stack overflow"), ("-stack", "NOT stack"),
    ],
)  # fmt: skip
def test_two_ways_to_write_a_query_find_the_same(found, query, same):
    assert found(query) == found(same)


def test_any_word_finds_the_union(ask, found):
    hits = {hit.head.id for hit in ask("stack parser Paris", any_word=True).hits}
    assert hits == found("stack") | found("parser") | found("Paris")


@pytest.mark.parametrize("query", ["stack", "overflow", "re:[Oo]ver", "paris"])
def test_the_marked_pieces_of_a_hit_match_the_query(ask, query):
    word = query.removeprefix("re:[Oo]").lower()
    for hit in ask(query).hits:
        marked = [piece.text.lower() for piece in hit.snippet if piece.found]
        assert marked
        assert all(word in text for text in marked)
