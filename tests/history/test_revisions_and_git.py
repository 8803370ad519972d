"""A store is a git repository: where the syntax of a revision is git's, so is its meaning."""

from __future__ import annotations

import random

import pytest

from scopes.conversation.branch import tag
from scopes.conversation.merge import merge
from scopes.errors import Invalid, ScopesError
from scopes.history.handles import (
    list_tips_by_time,
    next_conversation_id,
    participants_of,
    resolve_scope,
    walk_messages,
)
from scopes.history.names import conversation_ids, list_branch_tips, resolve_revision
from scopes.store.objects import read_commit
from tests.support.history import history, say
from tests.support.store import git

STEPS = ["", "~", "^", "~0", "^^", "~2", "~~", "~1~1", "~3", "~^~", "~4", "~5", "^1", "~9"]


@pytest.fixture
def drawn(repository):
    """Draw a conversation with three branches."""
    return history(repository, "main: a b c", "fix@b: d e", "other@a: f")


@pytest.fixture
def merged(repository):
    """Draw a conversation with two branches, one of them merged twice."""
    drawn = history(repository, "main: a b c", "fix@b: d e", "other@a: f")
    merge(repository, drawn.conversation, source="fix", target="main")
    say(repository, "conv-001/main", "g")
    say(repository, "conv-001/fix", "h")
    merge(repository, drawn.conversation, source="fix", target="main")
    return drawn


def rev_parse(repository, names):
    """Return what git resolves each name to; None if it refuses it."""
    asked = "".join(f"refs/heads/{name}\n" for name in names).encode()
    answers = git(repository, "cat-file", "--batch-check=%(objectname)", stdin=asked).splitlines()
    return [None if answer.endswith("missing") else answer for answer in answers]


def test_steps_back_follow_first_parents_as_in_git(repository, merged):
    names = [f"conv-001/{branch}{steps}" for branch in ("main", "fix", "other") for steps in STEPS]
    for name, oid in zip(names, rev_parse(repository, names), strict=True):
        assert resolve_or_none(repository, name) == oid, name


def resolve_or_none(repository, name):
    try:
        return resolve_revision(repository, name).oid
    except ScopesError:
        return None


def test_a_tip_of_a_drawn_history_is_that_of_git(repository):
    rng = random.Random(5)
    rows, words = ["main: w0 w1 w2"], ["w0", "w1", "w2"]
    for number in range(6):
        fresh = [f"x{number}{letter}" for letter in "abc"[: rng.randint(1, 3)]]
        rows.append(f"b{number}@{rng.choice(words)}: {' '.join(fresh)}")
        words += fresh
    drawn = history(repository, *rows)
    names = [f"conv-001/b{rng.randrange(6)}{rng.choice(STEPS)}" for _ in range(40)]
    for name, oid in zip(names, rev_parse(repository, names), strict=True):
        assert resolve_or_none(repository, name) == oid, name
    tips = git(repository, "for-each-ref", "--format=%(refname:lstrip=3) %(objectname)", "refs/heads/conv-001")
    assert [
        f"{name} {oid}" for name, oid in list_branch_tips(repository, drawn.conversation).items()
    ] == tips.splitlines()


def test_a_prefix_of_a_commit_id_is_the_commit_that_git_finds(repository, drawn):
    commits = git(repository, "rev-list", "--all").split()
    messages = [oid for oid in commits if oid in set(git(repository, "rev-list", "--branches").split()) - {drawn.root}]
    for oid in messages:
        short = git(repository, "rev-parse", "--short=8", oid).strip()
        assert resolve_revision(repository, short).oid == oid


def test_a_tag_is_read_as_git_would_and_steps_apply_to_it(repository, drawn):
    tag(repository, "conv-001", "v1", "main")
    tip = list_branch_tips(repository, drawn.conversation)["main"]
    assert resolve_revision(repository, "conv-001/v1").oid == tip
    assert resolve_revision(repository, "conv-001/v1~2").oid == git(repository, "rev-parse", f"{tip}~2").strip()


def test_all_messages_of_a_conversation_are_those_of_git_each_once_after_its_parents(repository, merged):
    found = [head.oid for head, _ in walk_messages(repository, resolve_scope(repository, "conv-001"))]
    everything = set(git(repository, "rev-list", "--branches").split()) - {merged.root}
    assert (len(found), set(found)) == (len(everything), everything)
    for position, oid in enumerate(found):
        assert set(read_commit(repository, oid).parents) <= {merged.root, *found[:position]}


@pytest.mark.parametrize(
    ("scope", "words"), [("conv-001/other", "a f"), ("conv-001/oth", "a f"), ("conv/fix", "a b d e")]
)
def test_the_messages_of_one_branch_are_those_that_it_reaches(repository, drawn, scope, words):
    found = [message.text for _, message in walk_messages(repository, resolve_scope(repository, scope))]
    assert " ".join(found) == words


def test_a_scope_is_all_branches_or_the_one_that_is_named(repository, drawn):
    assert resolve_scope(repository, "conv-001").branch is None
    assert list(resolve_scope(repository, "conv-001").tips) == ["fix", "main", "other"]
    assert list(resolve_scope(repository, "conv-001/f").tips) == ["fix"]
    with pytest.raises(Invalid, match="the branch's name is empty"):
        resolve_scope(repository, "conv-001/")


def test_tips_are_sorted_by_time_and_equal_ones_are_listed_once(repository):
    drawn = history(repository, "main: a b", "late@a: c", "same@b:")
    assert list_tips_by_time(repository, drawn.conversation) == [drawn.oids["b"], drawn.oids["c"]]


def test_participants_are_the_authors_of_the_branches_that_are_asked_for(repository):
    drawn = history(repository, "main: a", "fix@a: b", author="carol")
    say(repository, "conv-001/fix", "c", author="dave")
    tips = list_branch_tips(repository, drawn.conversation)
    read = {name: read_commit(repository, oid) for name, oid in tips.items()}
    assert participants_of(repository, [read["main"]]) == ("carol",)
    assert participants_of(repository, read.values()) == ("carol", "dave")
    assert participants_of(repository, []) == ()


@pytest.mark.parametrize(
    ("names", "following"),
    [
        ([], "conv-001"),
        (["conv-001"], "conv-002"),
        (["conv-007", "conv-002"], "conv-008"),
        (["CONV-009"], "conv-010"),
        (["conv-999"], "conv-1000"),
        (["conv-7", "conv-x", "other", "conv-0001x"], "conv-001"),
    ],
)
def test_the_next_id_is_above_the_highest_number(repository, names, following):
    for name in names:
        history(repository, conversation=name)
    assert next_conversation_id(repository) == following
    assert sorted(conversation_ids(repository)) == sorted(names)
