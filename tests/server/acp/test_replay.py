"""What an agent replays is compared with the record by its words: agents cut their chunks as they like."""

from __future__ import annotations

import pytest

from scopes.server.acp.recordings import RecordedBranch
from scopes.server.acp.replay import Replay, compare_replay


def chunk(role, text):
    return {"sessionUpdate": f"{role}_message_chunk", "content": {"type": "text", "text": text}}


def replay_of(*chunks):
    replay = Replay()
    for role, text in chunks:
        replay.add(chunk(role, text))
    return replay


def test_chunks_of_one_author_are_one_text_without_blanks():
    replay = replay_of(
        ("user", "fix "), ("user", "the\nlogin"), ("agent", " I "), ("agent", "will"), ("user", "thanks")
    )
    assert replay.texts == [("user", "fixthelogin"), ("agent", "Iwill"), ("user", "thanks")]


@pytest.mark.parametrize(
    "update",
    [
        {}, {"sessionUpdate": "tool_call", "title": "x"}, {"sessionUpdate": 7}, {"sessionUpdate": "agent_thought_chunk"},
        chunk("user", ""), chunk("agent", " \n"), chunk("user", None), {"sessionUpdate": "user_message_chunk"},
        {"sessionUpdate": "user_message_chunk", "content": [{"type": "text", "text": "a"}]},
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "data": "a"}},
    ],
)  # fmt: skip
def test_what_has_no_words_counts_for_nothing(update):
    replay = replay_of(("user", "a"))
    replay.add(update)
    assert replay.texts == [("user", "a")]


@pytest.fixture
def recorded(desk):
    """A session of two prompts and their answers, and the branch that it is on."""
    desk.run("first", "second")
    tip = desk.messages()[-1]
    return desk.store, RecordedBranch("conv-001", "main", tip.id)


WHOLE = (("user", "first"), ("agent", "echo: first"), ("user", "second"), ("agent", "echo: second"))


def test_the_same_words_are_no_difference(recorded):
    assert compare_replay(*recorded, replay_of(*WHOLE)) is None
    pieces = [(role, letter) for role, text in WHOLE for letter in text]
    assert compare_replay(*recorded, replay_of(*pieces)) is None


@pytest.mark.parametrize(
    ("replayed", "same"),
    [
        ((), 0),
        (WHOLE[:2], 2),
        (WHOLE[2:], 0),
        ((*WHOLE[:3], ("agent", "another answer")), 3),
        ((*WHOLE, ("user", "third")), 4),
        ((("agent", "a greeting"), *WHOLE), 0),
    ],
    ids=["nothing", "forgot the end", "forgot the beginning", "another answer", "more", "before"],
)
def test_a_difference_says_how_much_is_equal(recorded, replayed, same):
    found = compare_replay(*recorded, replay_of(*replayed))
    assert found == {"recorded": 4, "replayed": len(replayed), "same": same}


def test_the_difference_has_no_text_of_messages(recorded):
    """It goes into the log."""
    found = compare_replay(*recorded, replay_of(("user", "a secret")))
    assert all(isinstance(value, int) for value in found.values())
