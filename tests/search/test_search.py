"""A search finds what a scan of every message finds, in a deterministic order, with names that other commands accept."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.conversation.branch import branch, rewind, tag
from scopes.conversation.new_rename_delete import delete_branch
from scopes.conversation.show import cat
from scopes.errors import Invalid, NotFound
from scopes.search.query import parse
from scopes.search.run import search
from tests.index.corpus import dump
from tests.search.corpora import MESSAGES, QUERIES, append_message, scan, written
from tests.support.examples import examples
from tests.support.history import history, say
from tests.support.store import loose_path, make_store, remove_object

STEPS = st.lists(st.tuples(st.sampled_from(["say", "say", "fork", "rewind", "drop"]), MESSAGES), min_size=1, max_size=7)


@pytest.fixture
def ask(repository, directory):
    """Search the store."""
    return lambda query, **options: search(repository, query, index_directory=str(directory), **options)


def ids(found):
    """Return the ids of the hits, in order."""
    return [hit.head.id for hit in found.hits]


def perform(repository, conversation, steps):
    """Perform each step; yield after each."""
    for number, (what, message) in enumerate(steps):
        if what == "fork":
            branch(repository, conversation, name=f"fix-{number}")
        elif what == "drop" and number > 2:
            name = f"gone-{number}"
            branch(repository, conversation, name=name, switch=False)
            append_message(repository, f"{conversation}/{name}", message)
            yield
            delete_branch(repository, conversation, name, force=True)
        append_message(repository, conversation, message)
        if what == "rewind":
            yield
            rewind(repository, conversation)
        yield


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS, queries=st.lists(QUERIES, min_size=4, max_size=4))
def test_an_updated_index_finds_what_a_scan_finds_and_equals_a_new_index(tmp_path_factory, steps, queries):
    path = tmp_path_factory.mktemp("drawn")
    repository = make_store(path / "store.git")
    conversation = history(repository, "main: stack").conversation
    for _ in perform(repository, conversation, steps):
        search(repository, "stack", index_directory=str(path / "kept"))
    for query in queries:
        found = search(repository, written(query), index_directory=str(path / "kept"), limit=100)
        assert set(ids(found)) == scan(repository, query), written(query)
        assert found.coverage.hits == len(found.hits)
    assert dump(repository, path / "kept") == dump(repository, path / "new")


@given(QUERIES)
def test_a_query_tree_survives_writing_and_parsing(query):
    again = parse(written(query))
    assert written(again).strip("()") == written(query).strip("()")


@pytest.mark.parametrize("newest_first", [False, True])
def test_an_updated_index_and_a_new_one_give_the_same_order(repository, directory, tmp_path, newest_first):
    made = history(repository, "main: a b c d e", conversation="one")
    search(repository, "a", index_directory=str(directory))
    for text in ("stack", "the stack", "stack stack", "stack", "stack"):
        say(repository, "one", text)
        search(repository, "a", index_directory=str(directory))
    rewind(repository, made.conversation)
    kept, new = (
        search(repository, "stack", index_directory=str(place), newest_first=newest_first)
        for place in (directory, tmp_path / "new")
    )
    assert kept.hits == new.hits
    assert len(kept.hits) == 4


def test_hits_are_ordered_by_score_then_newest_first(repository, ask):
    first, often, last = (
        say(repository, history(repository).conversation, text) for text in ("parser", "parser parser", "parser")
    )
    say(repository, "conv-001", "a longer text that says parser among very many other words of no weight at all")
    assert ids(ask("parser"))[:3] == [often.id, last.id, first.id]
    assert ids(ask("parser", newest_first=True))[1:] == [last.id, often.id, first.id]


def test_message_text_ranks_above_tool_results(repository, ask):
    history(repository)
    appended = say(repository, "conv-001", "stack")
    say(repository, "conv-001", "", parts=[{"type": "tool_result", "call_id": "1", "output": "stack"}])
    found = ask("stack").hits
    assert (found[0].head.id, [hit.part for hit in found]) == (appended.id, ["text", "tool_result"])


def test_a_hit_names_a_branch_that_reaches_it(repository, ask):
    drawn = history(repository, "main: alpha beta", "fix@alpha: gamma", "try@gamma: delta")
    where = {hit.head.id: hit.branch for hit in ask("alpha OR beta OR gamma OR delta").hits}
    assert where == {
        drawn.ids["alpha"]: "main",
        drawn.ids["beta"]: "main",
        drawn.ids["gamma"]: "fix",
        drawn.ids["delta"]: "try",
    }
    for name, branch_name in where.items():
        assert cat(repository, name, conversation=f"{drawn.conversation}").head.id == name
        assert branch_name


def test_tag_matches_the_tagged_message_only(repository, ask):
    drawn = history(repository, "main: alpha beta")
    tag(repository, drawn.conversation, "v1", drawn.ids["alpha"])
    assert ids(ask("tag:v1")) == [drawn.ids["alpha"]]
    assert ids(ask("tag:v2")) == []


def test_before_and_after_limit_a_search(repository, ask):
    history(repository, "main: alpha")
    early = say(repository, "conv-001", "stack", time="2020-01-01T00:00:00Z")
    late = say(repository, "conv-001", "stack", time="2020-01-02T00:00:00Z")
    assert ids(ask("stack before:2020-01-02")) == [early.id]
    assert ids(ask("stack after:2020-01-02")) == [late.id]
    assert ids(ask('after:"1 hour ago"'))


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("京", ["東京タワー", "京都"]),
        ("タワー", ["東京タワー"]),
        ("CAFÉ", ["Cafe\u0301 au lait"]),
        ("\uff30\uff21\uff32\uff33\uff25\uff32", ["parser"]),
        ("strasse", ["Straße"]),
        ("🚀", ["🚀 done"]),
        ("pars*", ["parser"]),
    ],
)
def test_text_in_every_script_is_found(repository, ask, query, texts):
    history(repository)
    appended = {
        text: say(repository, "conv-001", text).id
        for text in ("東京タワー", "京都", "Cafe\u0301 au lait", "parser", "Straße", "🚀 done")
    }
    found = ask(query)
    assert set(ids(found)) == {appended[text] for text in texts}
    assert all(any(piece.found for piece in hit.snippet) for hit in found.hits)


def test_a_message_in_two_conversations_is_found_once(repository, ask):
    drawn = history(repository, "main: alpha", conversation="one")
    repository.git.references.create("refs/heads/two/main", drawn.oids["alpha"])
    found = ask("alpha").hits
    assert [(hit.conversation, hit.also) for hit in found] == [("one", ("two",))]
    assert [hit.conversation for hit in ask("alpha", conversation="two").hits] == ["two"]


def test_a_damaged_message_is_skipped_and_counted(repository, ask):
    drawn = history(repository, "main: alpha beta")
    with open(_loose(repository, drawn.oids["beta"], "message.json"), "wb") as file:
        file.write(b"damage")
    found = ask("alpha OR beta")
    assert ids(found) == [drawn.ids["alpha"]]
    assert (found.coverage.searched.unreadable, found.coverage.searched.messages) == (1, 1)


def test_a_repaired_conversation_is_found_again(repository, ask):
    """None of its refs moves in between."""
    drawn = history(repository, "main: alpha beta")
    history(repository, "main: alpha")
    restore = remove_object(repository, drawn.oids["beta"])
    assert (len(ask("alpha").hits), ask("alpha").coverage.searched.damaged) == (1, 1)
    restore()
    found = ask("alpha")
    assert (len(found.hits), found.coverage.searched.damaged) == (2, 0)
    assert ask("alpha").coverage.searched.state == "fresh"


def _loose(repository, commit, name):
    return loose_path(repository, str(repository.git[commit].tree[name].id))


def test_a_negative_limit_and_an_unknown_conversation_are_refused(ask, repository):
    history(repository, "main: alpha")
    with pytest.raises(Invalid):
        ask("alpha", limit=-1)
    with pytest.raises(NotFound):
        ask("alpha", conversation="nowhere")


def test_a_note_counts_messages_with_some_of_the_words_if_none_has_all(repository, ask):
    history(repository)
    for text in ("the parser failed", "the login failed"):
        say(repository, "conv-001", text)
    found = ask("parser login*")
    assert found.exit_code == 1
    assert [(note.text, note.hint) for note in found.notes if "words" in note.text] == [
        ("no message has all of these words; with some of them: 2", "find them with --any")
    ]
    assert {hit.head.id for hit in ask("parser OR login*").hits} == {hit.head.id for hit in ask("failed").hits}


@pytest.mark.parametrize(
    "query", ["parser", "xyzzy", "xyzzy plugh", "parser -failed", "parser failed", "kind:answer login"]
)
def test_there_is_no_such_note_if_any_would_find_no_more(repository, ask, query):
    history(repository)
    say(repository, "conv-001", "the parser failed")
    assert [note for note in ask(query).notes if "words" in note.text] == []


def test_fields_still_apply_to_the_count_in_that_note(repository, ask):
    history(repository)
    say(repository, "conv-001", "the parser failed", kind="answer")
    say(repository, "conv-001", "the login failed")
    [note] = [note for note in ask("kind:answer parser login").notes if "words" in note.text]
    assert note.text.endswith("with some of them: 1")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("alpha beta", ["alpha", "beta"]),
        ("alpha beta -gamma", ["alpha", "beta"]),
        ("kind:answer alpha beta", []),
        ("author:carol alpha (beta gamma)", ["alpha"]),
        ('alpha "beta gamma" delta*', ["alpha", "delta"]),
        ("alpha", ["alpha"]),
        ("alpha OR beta", ["alpha", "beta"]),
        ("in:tool_result alpha beta", []),
    ],
)
def test_any_word_finds_messages_with_one_of_the_words(repository, ask, query, words):
    drawn = history(repository, "main: alpha beta gamma delta")
    assert sorted(ids(ask(query, any_word=True))) == sorted(drawn.ids[word] for word in words)


def test_any_word_ranks_messages_with_more_of_the_words_first(repository, ask):
    history(repository)
    texts = ("the cookie", "a cookie on login", "the login", "cookie, login and safari", "no such thing")
    appended = [say(repository, "conv-001", text).id for text in texts]
    assert ids(ask("cookie login safari", any_word=True))[:2] == [appended[3], appended[1]]
    with pytest.raises(Invalid, match="no words"):
        ask("cookie", any_word=True, regex=True)


class Meter:
    """Records what is reported: `expected` is the number of messages that were announced before the first was read."""

    def __init__(self):
        self.done, self.expected, self._count = 0, None, None

    def expect(self, count):
        self._count = count

    def __call__(self, count):
        if self.expected is None:
            self.expected = self._count()
        self.done += count


def test_the_progress_of_an_index_has_the_number_of_its_new_messages_as_total(repository, directory):
    """Root commits are no messages, branches share theirs, and what is in the index already is not counted."""
    history(repository, "main: alpha beta gamma", "fix@beta: delta")
    history(repository, "main: one two")
    history(repository)
    for expected in (6, None):
        meter = Meter()
        search(repository, "alpha", index_directory=str(directory), progress=meter)
        assert (meter.expected, meter.done) == (expected, expected or 0)
    say(repository, "conv-001/fix", "epsilon")
    say(repository, "conv-003", "zeta")
    meter = Meter()
    search(repository, "alpha", index_directory=str(directory), progress=meter)
    assert (meter.expected, meter.done) == (2, 2)


def test_the_total_of_an_index_does_without_a_damaged_conversation(repository, directory):
    made = history(repository, "main: alpha beta")
    history(repository, "main: one two three")
    remove_object(repository, made.oids["alpha"])
    meter = Meter()
    found = search(repository, "one", index_directory=str(directory), progress=meter)
    assert (meter.expected, meter.done, found.coverage.searched.damaged) == (3, 3, 1)
