"""Properties of every rebase and cherry-pick, on drawn messages."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from scopes.conversation.append import amend, retract
from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.log import log
from scopes.conversation.rebase import (
    ReplayConflicted,
    ReplayUpToDate,
    abort_rebase,
    cherry_pick,
    continue_rebase,
    rebase,
    skip_rebase,
)
from scopes.conversation.undo import undo
from scopes.history.names import list_branch_tips
from scopes.merge import replay as replay_plan
from scopes.model.message import Author
from tests.support.decisions import decide
from tests.support.examples import examples
from tests.support.history import history, say
from tests.support.store import assert_sound, make_store, refs

TALK = st.sampled_from(["plain", "reply", "decide jwt", "decide sessions", "retract", "amend", "method", "file"])
SPEECH = st.lists(st.tuples(st.sampled_from(["carol", "dave"]), TALK), max_size=4)
QUARREL = st.lists(
    st.tuples(st.just("carol"), st.sampled_from(["decide jwt", "decide sessions"])), min_size=1, max_size=3
)
laws = settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def append_talk(repository, where, first, author, talk):
    """Append one message of a kind to a branch."""
    verb, _, rest = talk.partition(" ")
    branch = where.partition("/")[2]
    if verb == "reply":
        say(repository, where, "why?", author=author, reply_to=first)
    elif verb == "decide":
        decide(repository, where, rest, author=author)
    elif verb == "retract" or verb == "amend":
        ids_and_texts = say(repository, where, "perhaps", author=author)
        change = retract if verb == "retract" else amend
        change(repository, "conv-001", ids_and_texts.id, "no", author=author, branch=branch)
    elif verb == "method":
        say(repository, where, "like this", author=author, kind="method", method={"goal": "ship", "approach": author})
    elif verb == "file":
        say(repository, where, "done", author=author, files=[{"path": "a.py", "op": "edit"}])
    else:
        say(repository, where, "well", author=author)


def drawn(directory, on_main, on_fix):
    """Make a store in which main and fix diverged after one message."""
    repository = make_store(os.path.join(directory, "store.git"))
    start = history(repository, "main: a", "fix@a:")
    for where, speech in (("conv-001/main", on_main), ("conv-001/fix", on_fix)):
        for author, talk in speech:
            append_talk(repository, where, start.ids["a"], author, talk)
    return repository


def ids_and_texts(repository, where):
    """Return ids and texts of a branch, oldest first."""
    return [(entry.message.id, entry.message.text) for entry in log(repository, where, oldest_first=True).items]


def finish(repository, outcome, resume):
    """Resolve and continue until no conflict is open."""
    while isinstance(outcome, ReplayConflicted):
        for conflict in outcome.conflicts if resume is continue_rebase else ():
            if conflict.status == "open":
                resolve_conflict(repository, "conv-001", conflict.id, take="source", author=Author("erin", "human"))
        outcome = resume(repository, "conv-001")
    return outcome


@laws
@given(on_main=SPEECH, on_fix=SPEECH)
def test_a_rebase_keeps_ids_order_and_texts(on_main, on_fix):
    with tempfile.TemporaryDirectory() as directory:
        repository = drawn(directory, on_main, on_fix)
        main, own = ids_and_texts(repository, "conv-001/main"), ids_and_texts(repository, "conv-001/fix")[1:]
        done = finish(repository, rebase(repository, "conv-001", branch="fix", onto="main"), continue_rebase)
        after = ids_and_texts(repository, "conv-001/fix")
        assert after[: len(main)] == main
        assert [pair for pair in after[len(main) :] if pair in own] == own
        assert list(done.messages) == ([] if done.operation is None else [identity for identity, _ in own])
        assert_sound(repository)


@laws
@given(on_fix=SPEECH)
def test_a_rebase_onto_its_own_base_changes_nothing(on_fix):
    with tempfile.TemporaryDirectory() as directory:
        repository = drawn(directory, [], on_fix)
        before = repository.list_refs()
        assert isinstance(rebase(repository, "conv-001", branch="fix", onto="main"), ReplayUpToDate)
        assert repository.list_refs() == before


@laws
@given(on_main=SPEECH, on_fix=SPEECH)
def test_a_rebase_and_undo_restore_every_ref(on_main, on_fix):
    with tempfile.TemporaryDirectory() as directory:
        repository = drawn(directory, on_main, on_fix)
        before = refs(repository)
        done = rebase(repository, "conv-001", branch="fix", onto="main")
        assume(done.operation is not None)
        undo(repository)
        assert refs(repository) == before


@laws
@given(on_main=QUARREL, on_fix=QUARREL)
def test_an_aborted_rebase_leaves_every_branch_unchanged(on_main, on_fix):
    with tempfile.TemporaryDirectory() as directory:
        repository = drawn(directory, on_main, on_fix)
        before = list_branch_tips(repository, "conv-001")
        assume(isinstance(rebase(repository, "conv-001", branch="fix", onto="main"), ReplayConflicted))
        abort_rebase(repository, "conv-001")
        assert list_branch_tips(repository, "conv-001") == before


@laws
@given(on_main=SPEECH, on_fix=SPEECH)
def test_only_skipped_messages_are_missing(on_main, on_fix):
    with tempfile.TemporaryDirectory() as directory:
        repository = drawn(directory, on_main, on_fix)
        own = [identity for identity, _ in ids_and_texts(repository, "conv-001/fix")[1:]]
        outcome, skipped = rebase(repository, "conv-001", branch="fix", onto="main"), []
        while isinstance(outcome, ReplayConflicted):
            skipped.append(outcome.stopped)
            outcome = skip_rebase(repository, "conv-001")
        kept = [identity for identity, _ in ids_and_texts(repository, "conv-001/fix") if identity in own]
        assert kept == [identity for identity in own if identity not in skipped]


@laws
@given(on_main=SPEECH, on_fix=SPEECH)
def test_rebasing_there_and_back_gives_the_same_commits(on_main, on_fix):
    with tempfile.TemporaryDirectory() as directory:
        repository = drawn(directory, on_main, on_fix)
        before = list_branch_tips(repository, "conv-001")["fix"]
        there = rebase(repository, "conv-001", branch="fix", onto="main")
        assume(there.conflicts == ())
        base = f"main~{len(ids_and_texts(repository, 'conv-001/main')) - 1}"
        back = rebase(repository, "conv-001", branch="fix", onto=base)
        assert back.tip == before


@laws
@given(on_main=SPEECH, on_fix=SPEECH)
def test_a_dry_run_predicts_the_result(on_main, on_fix):
    with tempfile.TemporaryDirectory() as directory:
        repository = drawn(directory, on_main, on_fix)
        planned = rebase(repository, "conv-001", branch="fix", onto="main", dry_run=True)
        done = rebase(repository, "conv-001", branch="fix", onto="main")
        assert type(planned) is type(done)
        assert (planned.replayed, planned.conflicts) == (done.replayed, done.conflicts)


@laws
@given(on_main=SPEECH, on_fix=SPEECH)
def test_cherry_picking_every_message_equals_a_rebase(on_main, on_fix):
    with tempfile.TemporaryDirectory() as directory:
        repository = drawn(directory, on_main, on_fix)
        own = [identity for identity, _ in ids_and_texts(repository, "conv-001/fix")[1:]]
        assume(own)
        moved = rebase(repository, "conv-001", branch="fix", onto="main", dry_run=True)
        picked = cherry_pick(repository, "conv-001", own, branch="main", dry_run=True)
        assert [each.new for each in picked.replayed] == [each.new for each in moved.replayed] or moved.replayed == ()


PROGRAM = """
import itertools, sys
from scopes import clock
from tests.support.random_ids import hashed_counter
seconds = itertools.count(1_767_225_600_000_000_000, 1_000_000_000)
clock.read_clock = lambda: next(seconds)
clock.random_bytes = hashed_counter()
from tests.merge.test_replay_laws import drawn, finish
from scopes.conversation.rebase import rebase
from scopes.conversation.rebase import continue_rebase
talk = ["decide jwt", "method", "file", "reply", "retract", "plain"]
repository = drawn(sys.argv[1], [("carol", t) for t in talk], [("dave", t.replace("jwt", "x")) for t in talk])
print(finish(repository, rebase(repository, "conv-001", branch="fix", onto="main"), continue_rebase).tip)
"""


@laws
@given(on_main=SPEECH, on_fix=SPEECH, order=st.randoms(use_true_random=False))
def test_picks_of_a_line_are_those_of_commits_that_are_each_compared_with_the_target(on_main, on_fix, order):
    with tempfile.TemporaryDirectory() as directory:
        repository = drawn(directory, on_main, on_fix)
        picked = [identity for identity, _ in ids_and_texts(repository, "conv-001/fix")[1:]]
        order.shuffle(picked)
        together = cherry_pick(repository, "conv-001", picked, branch="main", dry_run=True)
        with pytest.MonkeyPatch.context() as patch:
            lines_of = replay_plan._lines_of

            def compare_each(repository, onto, commits):
                return {commit.oid: lines_of(repository, onto, [commit])[commit.oid] for commit in commits}

            patch.setattr(replay_plan, "_lines_of", compare_each)
            assert cherry_pick(repository, "conv-001", picked, branch="main", dry_run=True) == together


@pytest.mark.slow
def test_a_rebase_does_not_depend_on_the_hash_seed(tmp_path):
    tips = set()
    for seed in ("1", "2"):
        directory = tmp_path / seed
        directory.mkdir()
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command = [sys.executable, "-c", PROGRAM, str(directory)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        tips.add(done.stdout)
    assert len(tips) == 1


@pytest.mark.parametrize("verb", ["continue", "skip"])
def test_a_rebase_that_stops_at_every_message_terminates(repository, verb):
    history(repository, "main: a", "fix@a:")
    for topic in ("x", "y", "z"):
        decide(repository, "conv-001/main", "jwt", topic=topic)
        decide(repository, "conv-001/fix", "sessions", topic=topic)
    resume = continue_rebase if verb == "continue" else skip_rebase
    done = finish(repository, rebase(repository, "conv-001", branch="fix", onto="main"), resume)
    assert len(done.messages) == (3 if verb == "continue" else 0)
