from __future__ import annotations

from dataclasses import replace

import pytest

from tests.render.rendering import document, piped, seen, seen_lines
from tests.render.results import SAMPLES

CERTIFICATES = SAMPLES["verify_source"]


def test_byte_counts_are_aligned_below_each_other():
    assert seen_lines(CERTIFICATES["whole"])[3:] == [
        "  80,000 became 24 messages",
        "  10,000 are state records",
        "     100 are kept unread",
        "  90,100 bytes in the file",
        "whole: every byte of the file is in the store",
    ]


def test_a_part_of_a_session_is_marked():
    assert "Session: s1, part helper (codex)" in seen_lines(CERTIFICATES["grown"])


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("whole", "whole: every byte of the file is in the store"),
        ("cut", "whole: every byte of the file is in the store"),
        ("grown", "not whole: 1,000,001 bytes of the file are not in the store"),
        ("damaged", "damaged: the stored bytes of this file cannot be trusted"),
    ],
)
def test_the_last_line_is_the_verdict(name, verdict):
    assert seen_lines(CERTIFICATES[name])[-1] == verdict


def test_a_cure_is_below_its_finding():
    lines = seen_lines(CERTIFICATES["damaged"])
    at = lines.index("error: its segments do not cover its bytes once each")
    assert lines[at + 1] == "    restore it"


def test_a_pipe_gets_a_name_and_a_value_each():
    rows = [row.split("\t") for row in piped(CERTIFICATES["grown"]).splitlines()]
    assert all(len(row) == 2 for row in rows)
    assert dict(rows) | {"comparison": "grown", "new_bytes": "1000001", "whole": "no", "part": "helper"} == dict(rows)


@pytest.mark.parametrize("name", CERTIFICATES)
def test_the_document_adds_up_to_the_file(name):
    found = document(CERTIFICATES[name])
    counts = found["account_bytes"]
    assert counts.pop("sum") == sum(counts.values()) == found["size_bytes"]
    assert found["whole"] == ("whole:" in seen(CERTIFICATES[name]) and "not whole" not in seen(CERTIFICATES[name]))


def test_one_byte_is_one_byte():
    assert "1 byte of the file" in seen(replace(CERTIFICATES["whole"], size=90_101))
