"""The session of a rollout and its base."""

from __future__ import annotations

import pytest

from tests.importers.formats.codex.rollouts import PARENT, THREAD, Rollout, messages_of, read, short_rollout

SEGMENT = "019d0002-5555-7555-8555-555555555555"
BASE = {"thread_id": PARENT, "end_ordinal_exclusive": 42, "end_byte_offset": 53094}
SPAWN = {
    "subagent": {
        "thread_spawn": {
            "parent_thread_id": PARENT,
            "depth": 1,
            "agent_path": None,
            "agent_nickname": "Emmy",
            "agent_role": "explorer",
        }
    }
}
NAME = f"/home/carol/.codex/sessions/2026/04/11/rollout-2026-04-11T10-00-00-{THREAD}.jsonl"


def session(path=NAME, **meta):
    return read(Rollout(**meta), path)[0]


def test_a_session_is_its_thread():
    found = session(originator="codex-tui")
    assert (found.format, found.native_id, found.sub_file, found.base) == ("codex", THREAD, None, None)
    assert (found.created, found.cwd) == ("2026-04-11T09:59:59.000Z", "/home/carol/shop")
    assert found.details == {"version": "0.118.0", "originator": "codex-tui"}


def test_messages_have_the_branch_of_the_session_and_the_directory_of_their_turn():
    rollout = Rollout(git={"branch": "tea"}).user("Sell tea").turn(cwd="/home/carol/till").user("And count")
    assert [(draft.git_branch, draft.cwd) for draft in messages_of(rollout)] == [
        ("tea", "/home/carol/shop"),
        ("tea", "/home/carol/till"),
    ]


def test_a_fork_without_copies_has_its_position_in_the_base():
    found = session(forked_from_id=PARENT, history_mode="paginated", history_base=BASE)
    assert (found.base, found.sub_file) == (PARENT, None)
    assert (found.details["end_byte_offset"], found.details["end_ordinal"]) == (53094, 42)


def test_the_base_of_the_history_overrides_the_forked_thread():
    """After a rewind to before the fork point, the history is the first thread's although the second was forked."""
    assert session(forked_from_id=SEGMENT, history_base=BASE).base == PARENT


def test_a_page_is_a_part_of_its_thread():
    found = session(f"/rollout-2026-04-11T10-00-00-{THREAD}_{SEGMENT}.jsonl", history_base=BASE | {"thread_id": THREAD})
    assert (found.native_id, found.sub_file, found.base) == (THREAD, SEGMENT, THREAD)


@pytest.mark.parametrize("base", [BASE | {"thread_id": THREAD}, BASE | {"thread_id": SEGMENT}])
def test_a_page_under_another_file_name_is_a_part(base):
    """It must not replace the first file of the thread."""
    found = session("/page.jsonl", history_base=base)
    assert found.sub_file
    assert found.sub_file == session("/other.jsonl", history_base=base).sub_file


def test_a_spawned_agent_belongs_to_its_parent():
    found = session(source=SPAWN, agent_nickname="Emmy")
    assert found.base == PARENT
    assert found.spawned_by == {"thread": PARENT, "role": "explorer"}
    assert found.details["agent"] == "Emmy"


@pytest.mark.parametrize(
    ("fields", "agent"),
    [
        ({"source": SPAWN}, "Emmy"),
        (
            {"source": {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "agent_role": "explorer"}}}},
            "explorer",
        ),
        ({"source": {"subagent": "review"}, "parent_thread_id": PARENT}, "review"),
        ({"source": {"subagent": {"other": "guardian"}}}, "agent"),
        ({"thread_source": "subagent", "parent_thread_id": PARENT, "agent_role": "tester"}, "tester"),
    ],
)
def test_a_sub_agent_has_the_name_from_its_session(fields, agent):
    answer = messages_of(Rollout(**fields).user("Look").say("I did"))[1]
    assert (answer.author.name, answer.author.kind) == (agent, "agent")


def test_the_prompt_of_a_sub_agent_is_injected():
    assert messages_of(Rollout(source=SPAWN).user("Look for tea"))[0].author.kind == "injected"
    assert messages_of(Rollout().user("Look for tea"))[0].author.kind == "human"


def test_a_session_without_its_first_record_is_named_by_its_file():
    """A bad first line must not hide the session."""
    data = b'{"timestamp": broken}\n' + b"".join(short_rollout().data().splitlines(keepends=True)[1:])
    found = read(data, NAME)[0]
    assert (found.native_id, found.created) == (THREAD, "2026-04-11T10:00:02.000Z")
