"""`log`: messages in order, in ranges, filtered."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes import clock
from scopes.conversation.append import append
from scopes.conversation.branch import tag
from scopes.conversation.log import LogEntry, LogFilter, log, touches_file
from scopes.conversation.new_rename_delete import new
from scopes.errors import Ambiguous, Invalid, NotFound
from scopes.history.activity import ToolResultTracker
from scopes.history.handles import resolve_scope, walk_messages
from scopes.history.messages import MessageHeader, plain_message
from scopes.ids import AgentName, MessageId, Oid
from scopes.model.message import Author, FileTouch, Message, Part
from scopes.result import Note
from tests.support.examples import examples
from tests.support.history import history, say, texts


def words(repository, where, **options):
    """Return the subjects of a log in its order, joined."""
    return "".join(entry.head.subject for entry in log(repository, where, **options).items)


def test_a_log_is_newest_first_and_without_the_root(repository):
    history(repository, "main: a b c")
    assert words(repository, "conv-001") == "cba"
    assert words(repository, "conv-001", oldest_first=True) == "abc"


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("conv-001", "abcd"),
        ("conv/fix", "abef"),
        ("conv-001/main~2", "ab"),
        ("conv-001~4", ""),
        ("conv-001/fix..main", "cd"),
        ("conv-001/main..fix", "ef"),
        ("conv-001/main..conv-001/fix", "ef"),
        ("conv/main..conv/fix", "ef"),
        ("conv-001/fix..", "cd"),
        ("conv-001/fix..conv-001", "cd"),
        ("conv-001/main~3..main~1", "bc"),
        ("conv-001/main..main", ""),
        ("conv-001/main..main~2", ""),
        ("conv-001/main...fix", "cdef"),
        ("conv-001/fix...main~1", "efc"),
        ("conv-001/main...main", ""),
        ("conv-001/main~4..fix", "abef"),
    ],
)
def test_a_log_walks_a_revision_or_a_range(repository, where, expected):
    history(repository, "main: a b c d", "fix@b: e f")
    assert words(repository, where, oldest_first=True) == expected


def test_a_range_can_be_given_by_ids_and_tags(repository):
    drawn = history(repository, "main: a b c d")
    assert words(repository, f"{drawn.ids['a']}..{drawn.ids['c']}") == "cb"
    assert words(repository, f"conv-001/{drawn.oids['b'][:10]}..") == "dc"


@pytest.mark.parametrize(
    ("where", "refused"),
    [
        ("conv-001/main..nope", NotFound), ("nope..conv-001", NotFound), ("conv-001..conv-002/main", NotFound),
        ("..conv-001", Invalid), ("..", Invalid), ("...", Invalid), ("", Invalid),
        ("conv-001/fix..main", Ambiguous), ("conv-001/main..fix", Ambiguous), ("conv-001~9..", NotFound),
    ],
)  # fmt: skip
def test_a_range_with_an_unknown_end_is_refused(repository, where, refused):
    history(repository, "main: a", "fix-1:", "fix-2:")
    history(repository, "main: z")
    with pytest.raises(refused) as refusal:
        log(repository, where)
    assert refusal.value.hint


def test_all_branches_are_walked_once_newest_branch_first(repository):
    history(repository, "main: a b", "fix@a: c", "late@root: d")
    assert words(repository, "conv-001", all_branches=True) == "dcba"
    assert words(repository, "conv-001/fix", all_branches=True) == "dcba"
    say(repository, "conv-001/main", "e")
    assert words(repository, "conv-001", all_branches=True) == "ebdca"


def test_an_entry_names_the_branches_whose_tip_it_is(repository):
    history(repository, "main: a b", "fix@a: c", "same:")
    named = {e.head.subject: e.branches for e in log(repository, "conv-001", all_branches=True).items}
    assert named == {"a": (), "b": ("main", "same"), "c": ("fix",)}


def test_an_entry_names_the_tags_of_its_commit(repository):
    history(repository, "main: a b")
    tag(repository, "conv-001", "v1", "main~1")
    assert [(e.head.subject, e.tags) for e in log(repository, "conv-001").items] == [("b", ()), ("a", ("v1",))]


def test_bodies_are_read_only_on_request(repository):
    history(repository, "main: a")
    [entry] = log(repository, "conv-001", bodies=False).items
    assert (entry.message, entry.head.subject) == (None, "a")
    [entry] = log(repository, "conv-001").items
    assert entry.message.text == "a"


def call_and_results(repository):
    """Create a conversation whose agent calls two tools, with another message before the second result."""
    calls = tuple(Part("tool_call", {"call_id": c, "name": "Bash", "input": {}}) for c in "xy")
    history(repository, "main: a")
    for kind, name, parts in (
        ("answer", "planner", calls),
        ("tool-results", "tool", (Part("tool_result", {"call_id": "x", "output": "1"}),)),
        ("system", "user", ()),
        ("tool-results", "tool", (Part("tool_result", {"call_id": "y", "output": "2"}),)),
        ("answer", "planner", (Part("tool_call", {"call_id": "z", "name": "Bash"}),)),
    ):
        append(repository, "conv-001", Message(id=clock.new_id(), author=Author(name), kind=kind, parts=parts))


@pytest.mark.parametrize(
    "options", [{}, {"oldest_first": True}, {"graph": True}, {"only": LogFilter(author="planner")}]
)
def test_a_call_comes_with_the_results_that_answer_it(repository, options):
    call_and_results(repository)
    entries = [e for e in log(repository, "conv-001", results=True, **options).items if e.head.author == "planner"]
    outputs = [tuple(part.fields["output"] for part in entry.results) for entry in entries]
    assert sorted(outputs) == [(), ("1", "2")]


def test_results_are_folded_into_their_call(repository):
    call_and_results(repository)
    kinds = [entry.head.kind for entry in log(repository, "conv-001", fold_results=True).items]
    assert kinds == ["answer", "system", "answer", "plain"]


@pytest.mark.parametrize("only", [{"kind": "tool-results"}, {"author": "tool"}])
def test_results_without_their_call_are_not_folded(repository, only):
    call_and_results(repository)
    folded = [entry.head.id for entry in log(repository, "conv-001", only=LogFilter(**only), fold_results=True).items]
    assert folded == [entry.head.id for entry in log(repository, "conv-001", only=LogFilter(**only)).items]


def test_results_are_read_only_on_request(repository):
    call_and_results(repository)
    assert not any(entry.results for entry in log(repository, "conv-001").items)


def test_a_log_is_walked_lazily(repository):
    """The first rows do not need the whole walk."""
    history(repository, "main: a b c d e f")
    walked = iter(log(repository, "conv-001", bodies=False).items)
    assert next(walked).head.subject == "f"
    assert [entry.head.subject for entry in walked] == ["e", "d", "c", "b", "a"]


@pytest.mark.parametrize(("limit", "expected"), [(0, ""), (1, "c"), (2, "cb"), (3, "cba"), (99, "cba"), (None, "cba")])
def test_a_limit_counts_from_the_newest_whatever_the_order(repository, limit, expected):
    history(repository, "main: a b c")
    assert words(repository, "conv-001", limit=limit) == expected
    assert words(repository, "conv-001", limit=limit, oldest_first=True) == expected[::-1]


def test_a_negative_limit_is_refused(repository):
    history(repository, "main: a")
    with pytest.raises(Invalid, match="invalid number of messages -1: must not be negative") as refusal:
        log(repository, "conv-001", limit=-1)
    assert refusal.value.hint == "for example: -n 20"


@pytest.fixture
def varied(repository):
    """Append twelve messages that differ in author, kind, time and file."""
    new(repository)
    for number in range(12):
        say(
            repository, "conv-001", chr(97 + number), author=("carol", "dave", "erin")[number % 3],
            kind=("plain", "system")[number % 2], time=f"2026-01-{number + 1:02}T12:00:00Z",
            files=[{"path": f"src/{number % 4}.py", "op": "edit"}],
        )  # fmt: skip
    return repository


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        ({"author": "carol"}, "adgj"),
        ({"author": "Carol"}, "adgj"),
        ({"author": "car"}, ""),
        ({"author": ("carol", "dave")}, "abdeghjk"),
        ({"author": "SYSTEM"}, ""),
        ({"kind": ("system", "plain")}, "abcdefghijkl"),
        ({"body": lambda message: message.text in "ak"}, "ak"),
        ({"kind": "system"}, "bdfhjl"),
        ({"since": "2026-01-11"}, "kl"),
        ({"until": "2026-01-02T12:00:00Z"}, "ab"),
        ({"since": "2026-01-02T12:00:00Z", "until": "2026-01-04"}, "bc"),
        ({"since": "2026-01-04", "until": "2026-01-04"}, ""),
        ({"path": "src/1.py"}, "bfj"),
        ({"path": "src"}, "abcdefghijkl"),
        ({"author": "carol", "kind": "system", "since": "2026-01-05"}, "j"),
        ({"author": "dave", "path": "src/1.py"}, "b"),
        ({"author": "nobody"}, ""),
    ],
)
def test_filters_are_combined_with_and(varied, only, expected):
    """S1-21."""
    assert words(varied, "conv-001", only=LogFilter(**only), oldest_first=True) == expected


def test_the_system_is_found_by_the_name_that_is_shown(repository):
    """D5: `--author SYSTEM` found nothing although SYSTEM is what a log shows."""
    new(repository)
    say(repository, "conv-001", "merged", author={"name": "scopes", "kind": "system"})
    assert words(repository, "conv-001", only=LogFilter(author="system")) == "merged"


def test_an_unknown_kind_among_several_is_refused(varied):
    with pytest.raises(Invalid, match="'no' is not a valid message kind"):
        log(varied, "conv-001", only=LogFilter(kind=("plain", "no")))


def test_a_limit_counts_matching_messages(varied):
    assert words(varied, "conv-001", only=LogFilter(author="carol"), limit=2) == "jg"
    assert words(varied, "conv-001", only=LogFilter(path="src/1.py"), limit=1, oldest_first=True) == "j"


CHOICES = {
    "author": st.sampled_from([None, "carol", "dave"]),
    "kind": st.sampled_from([None, "plain", "system"]),
    "since": st.sampled_from([None, "2026-01-03", "2026-01-07T12:00:00Z"]),
    "until": st.sampled_from([None, "2026-01-09", "2026-01-07T12:00:00Z"]),
    "path": st.sampled_from([None, "src/1.py", "2.py", "src/"]),
}


@given(choice=st.fixed_dictionaries(CHOICES))
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_combined_filters_show_the_intersection(varied, choice):
    """Law: a combination of filters is the intersection."""
    each = [set(words(varied, "conv-001", only=LogFilter(**{name: value}))) for name, value in choice.items()]
    assert set(words(varied, "conv-001", only=LogFilter(**choice))) == set.intersection(*each)


def test_a_relative_date_counts_from_now(varied, monkeypatch):
    monkeypatch.setattr(clock, "read_clock", lambda: clock.parse_time("2026-01-12T13:00:00Z"))
    assert words(varied, "conv-001", only=LogFilter(since="2 days ago")) == "lk"


@pytest.mark.parametrize("only", [{"since": "soon"}, {"until": "2026-13-01"}, {"since": ""}])
def test_an_invalid_date_is_refused_before_the_first_row(repository, only):
    history(repository, "main: a")
    with pytest.raises(Invalid, match="is not a valid time") as refusal:
        log(repository, "conv-001", only=LogFilter(**only))
    assert "yesterday" in refusal.value.hint


@pytest.mark.parametrize(
    ("path", "fits"),
    [("src/app.py", True), ("src", True), ("src/", True), ("app.py", True), ("src/app", False), ("pp.py", False), ("./src", True),
     ("inner", True), ("inner/deep/", True), ("/repo/inner", True), ("/inner", False), ("deep/x.go", True), ("repo", True),
     ("old.py", True), ("docs/a.md", True), ("docs", True), ("other", False), ("", False)],
)  # fmt: skip
def test_a_message_touches_a_file_its_directories_and_its_old_name(path, fits):
    """S1-21."""
    message = Message(
        id="m", author=Author("carol"), parts=(Part("file_ref", {"path": "docs/a.md", "op": "read"}), Part("text", {"text": "x"})),
        files=(FileTouch("src/app.py", "rename", None, "old.py"), FileTouch("/repo/inner/deep/x.go", "read")),
    )  # fmt: skip
    assert touches_file(message, path) is fits


def test_all_messages_of_a_conversation_are_walked_once_oldest_first(repository):
    history(repository, "main: a b", "fix@a: c", "same:")
    scope = resolve_scope(repository, "conv")
    chosen, found = scope.conversation, walk_messages(repository, scope)
    assert chosen == "conv-001"
    assert [message.text for _, message in found] == ["a", "b", "c"]


def test_a_log_names_its_conversation(repository):
    history(repository, "main: a")
    assert log(repository, "conv-001", graph=True).conversation == "conv-001"
    assert texts(repository, "conv-001") == ["a"]


def edges(repository, where, **options):
    """Return the edges of a graph as pairs of subjects; a message that is not shown is `?`."""
    entries = list(log(repository, where, graph=True, **options).items)
    subjects = {entry.head.oid: entry.head.subject for entry in entries}
    return {entry.head.subject + subjects.get(parent, "?") for entry in entries for parent in entry.parents}


def test_a_graph_connects_every_message_with_its_parents(repository):
    history(repository, "main: a b c", "fix@b: d e")
    assert edges(repository, "conv-001", all_branches=True) == {"cb", "ba", "db", "ed"}


def test_a_graph_connects_across_filtered_messages(varied):
    assert edges(varied, "conv-001", only=LogFilter(author="carol")) == {"jg", "gd", "da"}
    assert edges(varied, "conv-001", only=LogFilter(author="carol"), limit=2) == {"jg", "g?"}


def test_a_graph_cut_off_by_a_limit_has_an_open_end(repository):
    history(repository, "main: a b c d")
    assert edges(repository, "conv-001", limit=2) == {"dc", "c?"}
    assert edges(repository, "conv-001", limit=4) == {"dc", "cb", "ba"}


def test_a_graph_in_reverse_order_is_refused(repository):
    history(repository, "main: a")
    with pytest.raises(Invalid, match="--graph and --reverse cannot be used together"):
        log(repository, "conv-001", graph=True, oldest_first=True)


def test_a_log_without_bodies_reads_those_of_commits_without_a_subject(repository):
    history(repository, "main: a")
    call = Part("tool_call", {"name": "Bash", "input": {"command": "make test"}})
    append(repository, "conv-001", replace(plain_message("codex", "x"), parts=(call,)))
    entries = list(log(repository, "conv-001", bodies=None).items)
    assert [entry.message is not None for entry in entries] == [True, False]


def answered(drawing):
    """Walk a history of the given kinds (oldest first) and return the commits that answer the first message."""
    kinds = drawing.split()
    tracker = ToolResultTracker()
    found = ()
    for number in reversed(range(len(kinds))):
        parents = (Oid(str(number - 1)),) if number else ()
        head = MessageHeader(
            MessageId("m"), Oid(str(number)), parents, AgentName("a"), "agent", kinds[number], 0, "", ()
        )
        found = tracker.visit(head)
    return found


@pytest.mark.parametrize(
    ("drawing", "expected"),
    [
        ("answer", ()),
        ("answer tool-results", ("1",)),
        ("answer tool-results tool-results answer", ("1", "2")),
        ("answer system tool-results meta tool-results", ("2", "4")),
        ("answer answer tool-results", ()),
        ("answer prompt tool-results", ()),
        ("tool-results tool-results", ()),
    ],
)
def test_results_belong_to_the_message_before_them(drawing, expected):
    assert answered(drawing) == expected


def test_two_branches_of_results_belong_to_their_common_parent():
    tracker = ToolResultTracker()
    for oid in "bc":
        head = MessageHeader(MessageId(oid), Oid(oid), (Oid("a"),), AgentName("t"), "tool", "tool-results", 0, "", ())
        assert tracker.visit(head) == ()
    head = MessageHeader(MessageId("a"), Oid("a"), (), AgentName("p"), "agent", "answer", 0, "", ())
    assert tracker.visit(head) == ("c", "b")
    assert tracker.visit(head) == ()


def test_at_most_64_results_are_tracked():
    assert len(answered("answer " + "tool-results " * 1000)) == 64


def test_a_filter_that_nothing_matches_gets_a_note_with_what_there_is(repository):
    """The command walked all branches a second time for it."""
    history(repository, "main: a b", "fix@a: c")
    say(repository, "conv-001/fix", "d", author="dave", kind="answer")
    for only, text, hint in (
        (LogFilter(author="clod"), "no message matches", "authors: carol, dave"),
        (LogFilter(author="clod", kind="priority"), "no message matches", "authors: carol, dave\nkinds: answer, plain"),
        (LogFilter(path="nowhere"), "no message touched 'nowhere'", "see: scopes show conv-001 --files"),
        (LogFilter(since="2100-01-01"), "no message matches", None),
    ):
        assert log(repository, "conv-001/fix", only=only).notes == (Note(text, hint),)
        assert log(repository, "conv-001/fix", only=only, limit=0).notes == ()
    assert log(repository, "conv-001", only=LogFilter(author="carol")).notes == ()
    assert log(repository, "conv-001", limit=0).notes == ()


def test_an_entry_is_the_one_that_its_constructor_makes(repository):
    """The log sets the attributes of its entries itself, all of them."""
    history(repository, "main: a b c", "fix@b: d")
    for bodies in (True, False):
        for entry in log(repository, "conv-001", all_branches=True, bodies=bodies).items:
            fields = {field.name: getattr(entry, field.name) for field in dataclasses.fields(LogEntry)}
            assert type(entry) is LogEntry
            assert LogEntry(**fields) == entry
