"""Completion of what the newer commands take: merge requests, candidates, topics, ranges, the ends of a search."""

from __future__ import annotations

import pytest

from scopes.cli.completion import complete, parse_request
from scopes.cli.table import TABLE


@pytest.fixture
def offered(world, tmp_path):
    """Complete a line in the store with something for every command; return the words, or with their descriptions."""

    def offered(line, *, described=False):
        found = complete(TABLE, line.split(" "), {"SCOPES_STORE": world.store, "HOME": str(tmp_path)})
        return found if described else [word for word, _ in found]

    return offered


def test_every_request_is_offered_to_show_and_an_open_one_to_merge_and_close(offered):
    assert offered("mr show conv-001 ", described=True) == [
        ("3", "Not this (closed)"), ("2", "Try this (open)"), ("1", "Files, not a database (merged)"),
    ]  # fmt: skip
    for command in ("merge-requests merge", "mr merge", "merge-requests close", "mr close"):
        assert offered(f"{command} conv-001 ", described=True) == [("2", "Try this (open)")]


def test_a_request_needs_no_conversation_before_it(offered):
    assert offered("mr show ") == ["3", "2", "1", "conv-001"]
    assert offered("mr close ") == ["2", "conv-001"]


def test_a_request_is_offered_by_the_first_letters_of_its_id(world, offered):
    request = world.run("mr", "show", "conv-001", "1", "--json")["id"]
    assert offered(f"mr show conv-001 {request[:3]}") == [request[:8]]
    assert offered(f"mr show {request[:9]}") == [request]
    assert offered(f"mr merge conv-001 {request[:3]}") == []  # it is merged


def test_branches_are_offered_as_source_and_target_of_a_request(offered):
    branches = ["draft", "final", "fix", "main"]
    assert offered("mr open conv-001 --source ") == branches
    assert offered("mr open conv-001 --source fix --target ") == branches
    assert offered("mr open conv-001 --source=f") == ["--source=final", "--source=fix"]


def test_candidates_are_offered_with_their_sentences(world, offered):
    short = world.candidate[:8]
    both = [(f"{short}.1", "We decided to use tabs."), (f"{short}.2", "We agreed on pytest.")]
    for command in ("accept", "dismiss"):
        assert offered(f"decisions {command} conv-001 ", described=True) == both
        assert offered(f"decisions {command} conv-001 {short}.2") == [f"{short}.2"]
        assert offered(f"decisions {command} {short[:3]}") == [f"{short}.1", f"{short}.2"]
        assert offered(f"decisions {command} ") == [f"{short}.1", f"{short}.2", "conv-001"]
    world.run("decisions", "conv-001", "--dismiss", f"{world.candidate}.1")
    assert offered("decisions accept conv-001 ") == [f"{short}.2"]


def test_the_topics_in_effect_are_offered_to_withdraw(world, offered):
    """Completion had nothing for them."""
    assert offered("decisions withdraw conv-001/main ", described=True) == [("db", "files")]
    assert offered("decisions withdraw conv-001/draft ", described=True) == [("cache", "redis")]
    assert offered("decisions withdraw conv-001/main d") == ["db"]
    world.run("decisions", "conv-001/main", "--withdraw", "db")
    assert offered("decisions withdraw conv-001/main ") == []
    assert offered("decisions accept conv-001 x --topic ") == []  # a topic of one's own


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("range-diff conv-001 main dr", ["draft"]),
        ("range-diff conv-001 draft..fin", ["draft..final"]),
        ("range-diff conv-001 main draft fin", ["final"]),
        ("context --diff conv-001 dr", ["draft"]),
        ("context --diff conv-001 draft fin", ["final"]),
        ("context --diff conv-001 main..fin", ["main..final"]),
        ("bisect run conv-001/m", ["conv-001/main"]),
        ("bisect run conv-001 --good dr", ["draft"]),
        ("bisect run conv-001 --bad fin", ["final"]),
        ("uncompact conv-001/m", ["conv-001/main"]),
        ("log conv-001/dr", ["conv-001/draft"]),
    ],
)
def test_branches_are_offered_where_a_revision_is_named(offered, words, expected):
    assert [word for word in offered(words) if not word.rpartition("/")[2].isalnum() or len(word) != 8] == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("mr list --state ", ["open", "merged", "closed", "all"]),
        ("mr list --state m", ["merged"]),
        ("mr merge conv-001 2 --strategy t", ["theirs"]),
        ("conflicts list --status ", ["open", "debate", "escalated", "resolved", "aborted"]),
        ("conflicts list --al", ["--all"]),
        ("bisect run --input ", ["context", "state", "message", "none"]),
        ("bisect run conv-001 --input s", ["state"]),
        ("bisect ", ["run"]),
        ("mr cl", ["close"]),
        ("mr ", ["open", "list", "show", "merge", "close"]),
        ("decisions d", ["dismiss"]),
        ("uncompact conv-001 --l", ["--last"]),
    ],
)
def test_known_words_are_offered(offered, words, expected):
    assert offered(words) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("mr list --fields requester_", ["requester_kind"]),
        ("mr list --fields number,requester_", ["number,requester_kind"]),
        ("mr list --format {requester_", ["{requester_kind}"]),
        ("mr show conv-001 1 --fields mov", ["moved"]),
        ("decisions conv-001 --candidates --fields wh", ["why"]),
        ("range-diff a b --fields new.sub", ["new.subject"]),
        ("range-diff a b --format {mark}{old.num", ["{mark}{old.number}"]),
        ("conflicts list --fields resolution.rej", ["resolution.rejected"]),
        ("bisect run conv-001 --fields first_bad.sub", ["first_bad.subject"]),
        ("uncompact conv-001 --fields rem", ["remaining"]),
        ("context --diff a b --fields remov", ["removed"]),
        ("log conv-001 --fields lan", ["lane"]),
    ],
)
def test_the_fields_of_the_rows_are_offered(offered, words, expected):
    assert offered(words) == expected


@pytest.mark.parametrize("words", ["bisect run conv-001 -- ", "bisect run -- ", "bisect run conv-001 -- ./jud"])
def test_the_command_of_a_search_is_left_to_the_shell(offered, words):
    """Conversations were offered as its name."""
    assert offered(words) == []
    assert parse_request(TABLE, words.split(" "), {}).may_be_path


def test_no_file_is_offered_before_the_command_of_a_search(offered):
    assert offered("bisect run con") == ["conv-001"]
    assert not parse_request(TABLE, ["bisect", "./jud"], {}).may_be_path
