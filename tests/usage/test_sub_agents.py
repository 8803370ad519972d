"""The agent of `usage` is the program; sub-agents, which have names of their own in a conversation, count for it."""

from __future__ import annotations

import pytest

from scopes.importers.formats.codex import Codex
from scopes.importers.import_sources import import_sources
from tests.importers.formats.codex.rollouts import NEW_TURN, PARENT, THREAD, Rollout, tokens
from tests.importers.reading import source_of
from tests.support.history import history
from tests.usage.answers import answer, by_key, count

NAMES = ({"thread_spawn": {"parent_thread_id": PARENT, "agent_nickname": "Emmy"}}, "review", {"other": "guardian"})


def write(path, rollout):
    path.write_bytes(rollout.data())
    return source_of(path)


def sub_agent(name):
    """Return the session of a sub-agent of Codex with one answer."""
    rollout = Rollout(THREAD, start=60, source={"subagent": name}).turn(NEW_TURN).user("Look").say("I did")
    return rollout.count(tokens(300, 0, 20), tokens(300, 0, 20))


@pytest.mark.parametrize("name", NAMES)
def test_a_sub_agent_that_is_imported_alone_counts_for_its_program(repository, tmp_path, name):
    import_sources(repository, [write(tmp_path / "agent.jsonl", sub_agent(name))], (Codex(),))
    assert by_key(count(repository, "agent"), "agent") == {"codex": (1, 320)}
    assert by_key(count(repository, "agent", agent="codex"), "agent") == {"codex": (1, 320)}


def test_a_session_and_its_sub_agent_are_one_row(repository, tmp_path):
    parent = Rollout(PARENT).turn().user("Sell tea").call("c1", "spawn_agent")
    parent.event("collab_agent_spawn_end", call_id="c1", new_thread_id=THREAD).output("c1").say("Done")
    parent.count(tokens(100, 0, 10), tokens(100, 0, 10))
    sources = [write(tmp_path / "a.jsonl", parent), write(tmp_path / "b.jsonl", sub_agent(NAMES[0]))]
    import_sources(repository, sources, (Codex(),))
    assert by_key(count(repository, "agent"), "agent") == {"codex": (2, 430)}


def test_an_agent_that_was_not_imported_has_its_own_row(repository, tmp_path):
    """A reviewer that somebody registered is no sub-agent of the program whose session it adds to."""
    import_sources(repository, [write(tmp_path / "agent.jsonl", sub_agent("review"))], (Codex(),))
    answer(repository, "conv-001", "Fine", author={"name": "reviewer", "kind": "agent"})
    history(repository, "main: a", conversation="other")
    answer(repository, "other", "b", author={"name": "Emmy", "kind": "agent"}, time="2026-01-06T10:00:00.5Z")
    found = by_key(count(repository, "agent"), "agent")
    assert found == {"codex": (1, 320), "reviewer": (1, 1100), "Emmy": (1, 1100)}
