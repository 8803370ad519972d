from __future__ import annotations

from tests.render.results import SAMPLES
from tests.render.showing import piped, seen_lines


def test_the_sample_says_whether_it_was_there():
    imported = SAMPLES["imported"]
    assert seen_lines(imported["sample"])[0] == "brought in the sample as conv-001: 24 messages on 3 branches"
    assert seen_lines(imported["sample-again"]) == ["the sample is here already: conv-001, 24 messages on 3 branches"]
    assert piped(imported["sample"]) == piped(imported["sample-again"]) == "conv-001\n"
