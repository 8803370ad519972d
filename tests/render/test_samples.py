from __future__ import annotations

import re

import pytest

from tests.render.rendering import piped, seen
from tests.render.results import SAMPLES

FRACTION = re.compile(r"T\d\d:\d\d:\d\d\.\d")
DRAWN = ("check", "conflicts", "context", "diff", "list", "log", "merge", "message", "search", "show", "usage", "why")
WHOLE_ID = re.compile(r"\b[a-z]+2{18,}\b")  # the ids of messages in the samples


@pytest.mark.every_case("a golden file that is not compared goes stale")
@pytest.mark.parametrize("noun", DRAWN)
@pytest.mark.parametrize("width", [80, 120])
def test_every_view_by_hand_matches_its_golden_file_on_a_terminal(noun, width, at_one_moment, golden):
    pages = [f"===== {name}\n{seen(result, width)}" for name, result in SAMPLES[noun].items()]
    golden(f"{noun}.terminal-{width}.txt", "\n".join(pages))


@pytest.mark.every_case("a golden file that is not compared goes stale")
@pytest.mark.parametrize("noun", SAMPLES)
def test_every_result_matches_its_golden_file_in_a_pipe(noun, at_one_moment, golden):
    pages = [f"===== {name}\n{piped(result)}" for name, result in SAMPLES[noun].items()]
    golden(f"{noun}.piped.txt", "\n".join(pages))


@pytest.mark.parametrize("noun", SAMPLES)
def test_no_text_for_people_has_fractions_of_a_second(noun, at_one_moment):
    """Only some times had milliseconds, because they were written by this program; JSON has them still."""
    for name, result in SAMPLES[noun].items():
        for text in (piped(result), seen(result, 80), seen(result, 200)):
            without_documents = [line for line in text.splitlines() if "{" not in line and '"' not in line]
            assert not FRACTION.search("\n".join(without_documents)), name


@pytest.mark.parametrize("width", [80, 200])
def test_a_conflict_on_a_terminal_has_short_ids_whether_it_is_open_or_resolved(width, at_one_moment):
    shown = {name: seen(result, width) for name, result in SAMPLES["conflicts"].items()}
    assert any("Status: open" in text for text in shown.values())
    assert any("Status: resolved" in text for text in shown.values())
    for name, text in shown.items():
        assert not WHOLE_ID.search(text), name
        assert not re.search(r"\b[0-9a-f]{12}\b", text), name
