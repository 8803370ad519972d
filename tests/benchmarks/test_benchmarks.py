"""The benchmark program works: one cheap row, measured once. No time is ever asserted."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks.__main__ import main


def test_a_row_stands_beside_its_reference_and_all_samples_are_written(tmp_path, capsys):
    samples = tmp_path / "samples.json"
    assert main(["read", "--quick", "--json", str(samples)]) == 0
    shown = capsys.readouterr().out
    assert "scopes: " in shown
    assert "log of 20 with bodies" in shown
    first, *_ = json.loads(samples.read_text())["rows"]
    assert first["against"].startswith("git log")
    assert first["ours"]["best"] > 0 < first["reference"]["best"]
    assert first["met"] is (first["ratio"] <= first["budget"])


def test_an_unknown_name_is_refused_with_the_known_ones(capsys):
    with pytest.raises(SystemExit):
        main(["nonsense"])
    assert "append" in capsys.readouterr().err
