from __future__ import annotations

import pytest

from tests.render.rendering import piped, seen
from tests.render.results import SAMPLES


@pytest.mark.parametrize("noun", SAMPLES)
@pytest.mark.parametrize("width", [80, 200])
def test_every_result_matches_its_golden_file_on_a_terminal(noun, width, at_one_moment, golden):
    pages = [f"===== {name}\n{seen(result, width)}" for name, result in SAMPLES[noun].items()]
    golden(f"{noun}.terminal-{width}.txt", "\n".join(pages))


@pytest.mark.parametrize("noun", SAMPLES)
def test_every_result_matches_its_golden_file_in_a_pipe(noun, at_one_moment, golden):
    pages = [f"===== {name}\n{piped(result)}" for name, result in SAMPLES[noun].items()]
    golden(f"{noun}.piped.txt", "\n".join(pages))
