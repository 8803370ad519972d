"""A replay stops once for each conflict, also if the branch states its decision again and again."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.decisions import decisions
from scopes.conversation.log import log
from scopes.conversation.rebase import (
    ReplayConflicted,
    Replayed,
    continue_cherry_pick,
    continue_rebase,
    rebase,
    skip_rebase,
)
from scopes.model.message import Author
from tests.support.decisions import decide, decided
from tests.support.history import history, say
from tests.support.replays import replay
from tests.support.store import assert_sound, with_settings

ERIN = Author("erin", "human")


def diverged(repository, *words, base=None, main="pg"):
    """Decide `main` on main and `words` one after the other on fix, over the decision `base`; return the messages."""
    history(repository, "main: a")
    if base is not None:
        decide(repository, "conv-001/main", base)
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    decide(repository, "conv-001/main", main, author="alice")
    return [decide(repository, "conv-001/fix", word, author="bob").id for word in words]


def resolve_all(repository, outcome, verb, **options):
    """Resolve and continue until the end; return the outcome and the number of conflicts."""
    conflicts = 0
    while isinstance(outcome, ReplayConflicted):
        conflicts += 1
        resolve_conflict(repository, "conv-001", outcome.conflicts[0].id, author=ERIN, **options)
        outcome = (continue_rebase if verb == "rebase" else continue_cherry_pick)(repository, "conv-001")
    return outcome, conflicts


@pytest.mark.parametrize("verb", ["rebase", "cherry-pick"])
@pytest.mark.parametrize(
    ("base", "options", "result"),
    [
        (base, options, result)
        for base in (None, "my", "sqlite")
        for options, result in (
            ({"take": "target"}, "pg"),
            ({"take": "source"}, "my"),
            ({"take": "base"}, base),
            ({"value": "files"}, "files"),
        )
        if result is not None
    ],
)
def test_a_decision_that_the_branch_repeats_conflicts_once(repository, verb, base, options, result):
    """S4-20: it conflicted again for each message that repeated it, unless the branch had won."""
    messages = diverged(repository, "my", "my", "my", base=base)
    done, conflicts = resolve_all(repository, replay(repository, verb, messages), verb, **options)
    assert conflicts == 1
    assert decided(repository, f"conv-001/{done.moved_branch}") == [result]
    assert [each for each in done.messages if each in messages] == messages
    assert_sound(repository)


def test_the_resolution_is_in_effect_and_the_repeated_messages_are_superseded(repository):
    messages = diverged(repository, "my", "my")
    resolve_all(repository, replay(repository, "rebase", messages), "rebase", take="target")
    rows = decisions(repository, "conv-001/fix").decisions
    assert [(row.decision, row.state) for row in rows] == [
        ("pg", "in-effect"), ("my", "superseded"), ("my", "superseded"),
    ]  # fmt: skip


def test_another_decision_after_the_resolution_is_another_conflict(repository):
    messages = diverged(repository, "my", "my", "neo4j")
    first = replay(repository, "rebase", messages)
    done, conflicts = resolve_all(repository, first, "rebase", take="target")
    assert (conflicts, decided(repository, "conv-001/fix")) == (2, ["pg"])
    assert isinstance(done, Replayed)


def test_a_decision_on_the_resolution_branch_is_a_new_conflict(repository):
    """The resolution was pg. Then zoe decided neo4j there, and the branch repeats my."""
    messages = diverged(repository, "my", "my")
    stopped = replay(repository, "rebase", messages)
    resolve_conflict(repository, "conv-001", stopped.conflicts[0].id, take="target", author=ERIN)
    decide(repository, f"conv-001/{stopped.branch}", "neo4j", author="zoe")
    again = continue_rebase(repository, "conv-001")
    assert isinstance(again, ReplayConflicted)
    (conflict,) = again.conflicts
    assert [(each.value, each.agent) for each in (*conflict.target, *conflict.source)] == [
        ("neo4j", "zoe"), ("my", "bob"),
    ]  # fmt: skip


def test_a_skipped_message_resolves_nothing_so_that_its_repetition_conflicts(repository):
    messages = diverged(repository, "my", "my")
    replay(repository, "rebase", messages)
    again = skip_rebase(repository, "conv-001")
    assert isinstance(again, ReplayConflicted)
    assert again.stopped == messages[1]


def test_a_repetition_after_other_messages_does_not_conflict_either(repository):
    first = diverged(repository, "my")
    say(repository, "conv-001/fix", "let me think", author="bob")
    second = decide(repository, "conv-001/fix", "my", author="bob").id
    done, conflicts = resolve_all(repository, replay(repository, "rebase", first), "rebase", take="target")
    assert (conflicts, done.messages[0], done.messages[2]) == (1, first[0], second)
    texts = [each.message.text for each in log(repository, "conv-001/fix", oldest_first=True).items]
    assert texts[-2:] == ["let me think", "we use my"]


def test_each_topic_has_a_conflict_of_its_own(repository):
    history(repository, "main: a", "fix@a:")
    for topic in ("db", "os"):
        decide(repository, "conv-001/main", "main", topic=topic)
    for topic in ("db", "os", "db", "os"):
        decide(repository, "conv-001/fix", "fix", topic=topic)
    _, conflicts = resolve_all(repository, replay(repository, "rebase", []), "rebase", take="target")
    assert (conflicts, decided(repository, "conv-001/fix")) == (2, ["main", "main"])


def test_a_repetition_of_a_topic_of_two_words_is_the_same_conflict(repository):
    history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/main", "pg", topic="Data Base")
    decide(repository, "conv-001/fix", "my", topic="Data Base")
    decide(repository, "conv-001/fix", "my", topic="Data Base")
    _, conflicts = resolve_all(repository, replay(repository, "rebase", []), "rebase", take="target")
    assert (conflicts, decided(repository, "conv-001/fix")) == (1, ["pg"])


@pytest.mark.parametrize("verb", ["rebase", "cherry-pick"])
@pytest.mark.parametrize("options", [{"take": "target"}, {"take": "source"}, {"value": "files"}])
@pytest.mark.parametrize("spellings", [("DB", "db"), ("db", "DB"), ("db", " db  "), ("db", "DB", "db")])
def test_a_repetition_in_another_spelling_is_the_same_conflict(repository, verb, options, spellings):
    """It was a change of two keys, and conflicted again."""
    history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/main", "pg", topic="db", author="alice")
    messages = [decide(repository, "conv-001/fix", "my", topic=each, author="bob").id for each in spellings]
    done, conflicts = resolve_all(repository, replay(repository, verb, messages), verb, **options)
    assert conflicts == 1
    result = {"target": "pg", "source": "my"}.get(options.get("take"), "files")
    assert decided(repository, f"conv-001/{done.moved_branch}") == [result]
    assert [each for each in done.messages if each in messages] == messages
    assert_sound(repository)


def test_another_decision_in_another_spelling_is_another_conflict(repository):
    history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/main", "pg", topic="db", author="alice")
    for topic, choice in (("db", "my"), ("DB", "neo4j")):
        decide(repository, "conv-001/fix", choice, topic=topic, author="bob")
    done, conflicts = resolve_all(repository, replay(repository, "rebase", []), "rebase", take="target")
    assert (conflicts, decided(repository, "conv-001/fix")) == (2, ["pg"])
    assert isinstance(done, Replayed)


@pytest.mark.parametrize(("rule", "result"), [("first", ["pg"]), ("second", ["my"])])
def test_a_rule_resolves_the_repetitions_too(repository, rule, result):
    """S4-15."""
    messages = diverged(repository, "my", "my", "my")
    done = replay(with_settings(repository, rule_decision_disagreement=rule), "rebase", messages)
    assert isinstance(done, Replayed)
    assert len(done.conflicts) == 1
    assert decided(repository, "conv-001/fix") == result


def test_a_dry_run_shows_the_one_conflict(repository):
    """S4-18."""
    diverged(repository, "my", "my")
    planned = rebase(repository, "conv-001", branch="fix", onto="main", dry_run=True)
    assert isinstance(planned, ReplayConflicted)
    assert (len(planned.conflicts), planned.remaining) == (1, 1)


def test_findings_of_one_agent_conflict_once(repository):
    history(repository, "main: a", "fix@a:")

    def find(name, finding):
        analysis = {"subject": "login", "aspect": "risk", "confidence": 0.5, "finding": finding}
        say(repository, f"conv-001/{name}", "x", author=name, kind="analysis", analysis=analysis)

    find("main", "low")
    find("fix", "high")
    find("fix", "high")
    done, conflicts = resolve_all(repository, replay(repository, "rebase", []), "rebase", take="target")
    assert conflicts == 1
    assert isinstance(done, Replayed)
