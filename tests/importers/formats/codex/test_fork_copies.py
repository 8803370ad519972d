"""Forks of the older kind: copied records are separated from the fork's own, and become the parent's messages."""

from __future__ import annotations

import pytest

from scopes.importers.identity import content_bytes
from tests.importers.formats.codex.rollouts import (
    NEW_TURN,
    OLD_TURN,
    PARENT,
    THREAD,
    Rollout,
    messages_of,
    tokens,
)

SPAWN = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "depth": 1, "agent_nickname": "Emmy"}}}
GREETING = "You are the newly spawned agent. Go on."


def parent():
    """Return what the parent had written at the time of the fork."""
    rollout = (
        Rollout(PARENT).turn(OLD_TURN).user("Sell tea").think().call("c1").count(tokens(100, 0, 10), tokens(100, 0, 10))
    )
    rollout.output("c1").say("Done.").count(tokens(250, 0, 15), tokens(150, 0, 5)).event(
        "task_complete", turn_id=OLD_TURN
    )
    return rollout


def fork(own=lambda rollout: rollout, **meta):
    """Return a fork: its session record, the parent's records with the time of the fork, then its own."""
    rollout = Rollout(THREAD, forked_from_id=PARENT, **meta)
    time = rollout.records[0]["timestamp"]
    rollout.records += [record | {"timestamp": time} for record in parent().records]
    own(rollout)
    return rollout


def continue_thread(rollout):
    return (
        rollout.turn(NEW_TURN)
        .count(tokens(250, 0, 15))
        .user("And milk")
        .say("Yes")
        .count(tokens(300, 0, 20), tokens(50, 0, 5))
    )


def test_copies_are_marked_and_own_messages_are_not():
    """Copies have the fork's time."""
    found = messages_of(fork(continue_thread))
    assert [draft.precision for draft in found] == ["restamped"] * 4 + ["exact"] * 2


def test_copies_are_messages_of_the_parent():
    """Ids depend on the content, not on the time."""
    copies, originals = messages_of(fork(continue_thread))[:4], messages_of(parent())
    assert [content_bytes(draft) for draft in copies] == [content_bytes(draft) for draft in originals]
    assert copies[0].time != originals[0].time


def test_copied_usage_is_not_counted_again():
    """The inherited total is subtracted."""
    found = messages_of(fork(continue_thread))
    assert [draft.usage["input_uncached"] for draft in found if draft.usage] == [50]


def test_copies_without_totals_do_not_hide_the_usage_of_the_fork():
    """Codex 0.142: the parent's session record is copied, its history is not, and totals start at zero."""
    rollout = (
        Rollout(THREAD, forked_from_id=PARENT)
        .meta(PARENT)
        .turn(NEW_TURN)
        .user("Look")
        .say("Yes")
        .count(tokens(70), tokens(70))
    )
    found = messages_of(rollout)
    assert [draft.precision for draft in found] == ["exact", "exact"]
    assert found[1].usage["input_uncached"] == 70


@pytest.mark.parametrize(
    "begin",
    [
        lambda rollout: rollout.event("task_started", turn_id=NEW_TURN),
        lambda rollout: rollout.add("turn_context", {"turn_id": NEW_TURN, "model": "m"}),
        lambda rollout: rollout.meta(THREAD),
        lambda rollout: rollout.event("thread_settings_applied", thread_id=THREAD),
        lambda rollout: rollout.event("item_completed", thread_id=THREAD, item={}),
        lambda rollout: rollout.add("token_usage_record", {"thread_id": THREAD, "usage": tokens(1)}),
    ],
)
def test_copies_end_at_the_first_record_of_the_thread(begin):
    def own(rollout):
        begin(rollout)
        time = rollout.records[0]["timestamp"]
        rollout.records[-1]["timestamp"] = time
        rollout.user("And milk")
        rollout.records[-1]["timestamp"] = time

    assert [draft.precision for draft in messages_of(fork(own))][-2:] == ["restamped", "exact"]


def test_without_turns_that_have_a_time_copies_end_at_a_pause():
    """Versions that give turns no ids."""
    rollout = Rollout(THREAD, forked_from_id=PARENT).meta(PARENT).user("Copied")
    for record in rollout.records:
        record["timestamp"] = "2026-04-11T10:00:00.010Z"
    rollout.add("turn_context", {"model": "m"}).user("Own")
    assert [draft.precision for draft in messages_of(rollout)] == ["restamped", "exact"]


def spawn(rollout):
    rollout.say("I ask someone.").call("c2", "spawn_agent", '{"message": "Look"}')
    for record in rollout.records:
        record["timestamp"] = rollout.records[0]["timestamp"]
    rollout.output("c2", GREETING).turn(NEW_TURN).user("Look").say("I did.")


def test_the_first_message_of_a_spawned_agent_is_its_own():
    """It is the only record before the first turn that the parent did not write."""
    found = messages_of(fork(spawn, source=SPAWN))
    assert [draft.precision for draft in found] == ["restamped"] * 5 + ["exact"] * 3
    assert found[5].parts[0].fields["output"] == GREETING


def test_a_spawned_agent_names_the_call_that_started_it():
    found = messages_of(fork(spawn, source=SPAWN))
    assert [draft.spawned_by for draft in found if draft.spawned_by] == [{"thread": PARENT, "call_id": "c2"}]
    assert found[5].spawned_by is not None
