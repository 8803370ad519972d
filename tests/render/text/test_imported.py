from __future__ import annotations

from dataclasses import replace

from tests.render.results import SAMPLES
from tests.render.showing import piped, seen_lines


def test_the_sample_says_whether_it_was_there():
    imported = SAMPLES["imported"]
    assert seen_lines(imported["sample"])[0] == "brought in the sample as conv-001: 24 messages on 3 branches"
    assert seen_lines(imported["sample-again"]) == ["the sample is here already: conv-001, 24 messages on 3 branches"]
    assert piped(imported["sample"]) == piped(imported["sample-again"]) == "conv-001\n"


def test_a_report_says_that_every_sum_is_its_files_size():
    report = SAMPLES["imported"]["sources-report"]
    assert "every sum is its file's size" in seen_lines(report)
    short = replace(report, sources=(replace(report.sources[1], state_bytes=150), report.sources[0]))
    assert "run.jsonl: 50 bytes are not accounted for" in seen_lines(short)
    assert "every sum is its file's size" not in seen_lines(short)


def test_a_piped_report_has_the_sum_beside_the_size():
    first = piped(SAMPLES["imported"]["sources-report"]).splitlines()[0].split("\t")
    assert first[1:] == ["claude-code", "80000", "10000", "100", "90100", "90100"]
