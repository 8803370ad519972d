"""A replay asks each question once, also if the branch states its decision again and again."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.cherry_pick import cherry_pick, continue_cherry_pick
from scopes.conversation.decisions import decisions
from scopes.conversation.log import log
from scopes.conversation.rebase import continue_rebase, rebase, skip_rebase
from scopes.conversation.resolve import resolve_conflict
from scopes.merge.replay_control import ReplayConflicted, Replayed
from scopes.model.message import Author
from tests.merge.test_reuse import with_settings
from tests.support.decisions import decide, decided
from tests.support.history import history, say
from tests.support.store import assert_sound

ERIN = Author("erin", "human")


def diverged(repository, *words, base=None, main="pg"):
    """Decide `main` on main and `words` one after the other on fix, over the decision `base`; return the messages."""
    history(repository, "main: a")
    if base is not None:
        decide(repository, "conv-001/main", base)
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    decide(repository, "conv-001/main", main, author="alice")
    return [decide(repository, "conv-001/fix", word, author="bob").id for word in words]


def replay(repository, verb, messages):
    if verb == "rebase":
        return rebase(repository, "conv-001", branch="fix", onto="main")
    return cherry_pick(repository, "conv-001", messages, branch="main")


def answer(repository, outcome, verb, **options):
    """Resolve and continue until the end; return the outcome and the number of questions."""
    asked = 0
    while isinstance(outcome, ReplayConflicted):
        asked += 1
        resolve_conflict(repository, "conv-001", outcome.conflicts[0].id, author=ERIN, **options)
        outcome = (continue_rebase if verb == "rebase" else continue_cherry_pick)(repository, "conv-001")
    return outcome, asked


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
def test_a_decision_that_the_branch_repeats_is_asked_about_once(repository, verb, base, options, result):
    """S4-20: it was asked about again for each message that repeated it, unless the branch had won."""
    messages = diverged(repository, "my", "my", "my", base=base)
    done, asked = answer(repository, replay(repository, verb, messages), verb, **options)
    assert asked == 1
    assert decided(repository, f"conv-001/{done.moved_branch}") == [result]
    assert [each for each in done.messages if each in messages] == messages
    assert_sound(repository)


def test_what_was_answered_is_in_effect_and_the_repeated_messages_are_superseded(repository):
    messages = diverged(repository, "my", "my")
    answer(repository, replay(repository, "rebase", messages), "rebase", take="target")
    rows = decisions(repository, "conv-001/fix").decisions
    assert [(row.decision, row.state) for row in rows] == [
        ("pg", "in-effect"), ("my", "superseded"), ("my", "superseded"),
    ]  # fmt: skip


def test_another_decision_after_the_answer_is_another_question(repository):
    messages = diverged(repository, "my", "my", "neo4j")
    first = replay(repository, "rebase", messages)
    done, asked = answer(repository, first, "rebase", take="target")
    assert (asked, decided(repository, "conv-001/fix")) == (2, ["pg"])
    assert isinstance(done, Replayed)


def test_what_somebody_decides_on_the_resolution_branch_is_a_new_question(repository):
    """The answer was pg. Then zoe decided neo4j there, and the branch repeats my."""
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


def test_a_skipped_message_answers_nothing_so_that_its_repetition_is_asked_about(repository):
    messages = diverged(repository, "my", "my")
    replay(repository, "rebase", messages)
    again = skip_rebase(repository, "conv-001")
    assert isinstance(again, ReplayConflicted)
    assert again.stopped == messages[1]


def test_a_repetition_after_other_messages_is_not_asked_about_either(repository):
    first = diverged(repository, "my")
    say(repository, "conv-001/fix", "let me think", author="bob")
    second = decide(repository, "conv-001/fix", "my", author="bob").id
    done, asked = answer(repository, replay(repository, "rebase", first), "rebase", take="target")
    assert (asked, done.messages[0], done.messages[2]) == (1, first[0], second)
    texts = [each.message.text for each in log(repository, "conv-001/fix", oldest_first=True).items]
    assert texts[-2:] == ["let me think", "we use my"]


def test_each_topic_has_a_question_of_its_own(repository):
    history(repository, "main: a", "fix@a:")
    for topic in ("db", "os"):
        decide(repository, "conv-001/main", "main", topic=topic)
    for topic in ("db", "os", "db", "os"):
        decide(repository, "conv-001/fix", "fix", topic=topic)
    _, asked = answer(repository, replay(repository, "rebase", []), "rebase", take="target")
    assert (asked, decided(repository, "conv-001/fix")) == (2, ["main", "main"])


def test_a_repetition_of_a_topic_of_two_words_is_the_same_question(repository):
    history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/main", "pg", topic="Data Base")
    decide(repository, "conv-001/fix", "my", topic="Data Base")
    decide(repository, "conv-001/fix", "my", topic="Data Base")
    _, asked = answer(repository, replay(repository, "rebase", []), "rebase", take="target")
    assert (asked, decided(repository, "conv-001/fix")) == (1, ["pg"])


@pytest.mark.parametrize("verb", ["rebase", "cherry-pick"])
@pytest.mark.parametrize("options", [{"take": "target"}, {"take": "source"}, {"value": "files"}])
@pytest.mark.parametrize("spellings", [("DB", "db"), ("db", "DB"), ("db", " db  "), ("db", "DB", "db")])
def test_a_repetition_in_another_spelling_is_the_same_question(repository, verb, options, spellings):
    """It was a change of two keys, and asked about again."""
    history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/main", "pg", topic="db", author="alice")
    messages = [decide(repository, "conv-001/fix", "my", topic=each, author="bob").id for each in spellings]
    done, asked = answer(repository, replay(repository, verb, messages), verb, **options)
    assert asked == 1
    result = {"target": "pg", "source": "my"}.get(options.get("take"), "files")
    assert decided(repository, f"conv-001/{done.moved_branch}") == [result]
    assert [each for each in done.messages if each in messages] == messages
    assert_sound(repository)


def test_another_decision_in_another_spelling_is_another_question(repository):
    history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/main", "pg", topic="db", author="alice")
    for topic, choice in (("db", "my"), ("DB", "neo4j")):
        decide(repository, "conv-001/fix", choice, topic=topic, author="bob")
    done, asked = answer(repository, replay(repository, "rebase", []), "rebase", take="target")
    assert (asked, decided(repository, "conv-001/fix")) == (2, ["pg"])
    assert isinstance(done, Replayed)


@pytest.mark.parametrize(("rule", "result"), [("first", ["pg"]), ("second", ["my"])])
def test_a_rule_answers_the_repetitions_too(repository, rule, result):
    """S4-15."""
    messages = diverged(repository, "my", "my", "my")
    done = replay(with_settings(repository, rule_decision_disagreement=rule), "rebase", messages)
    assert isinstance(done, Replayed)
    assert len(done.conflicts) == 1
    assert decided(repository, "conv-001/fix") == result


def test_a_dry_run_foresees_the_one_question(repository):
    """S4-18."""
    diverged(repository, "my", "my")
    planned = rebase(repository, "conv-001", branch="fix", onto="main", dry_run=True)
    assert isinstance(planned, ReplayConflicted)
    assert (len(planned.conflicts), planned.remaining) == (1, 1)


def test_findings_of_one_agent_are_asked_about_once(repository):
    history(repository, "main: a", "fix@a:")

    def find(name, finding):
        analysis = {"subject": "login", "aspect": "risk", "confidence": 0.5, "finding": finding}
        say(repository, f"conv-001/{name}", "x", author=name, kind="analysis", analysis=analysis)

    find("main", "low")
    find("fix", "high")
    find("fix", "high")
    done, asked = answer(repository, replay(repository, "rebase", []), "rebase", take="target")
    assert asked == 1
    assert isinstance(done, Replayed)
