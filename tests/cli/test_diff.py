"""`scopes diff` and `scopes blame`: output and exit codes."""

from __future__ import annotations

import json

import pytest

from scopes.importers.import_sample import import_sample
from tests.cli.running import PRODUCT, scopes
from tests.support.store import make_store

SECURITY = "analysis/security-review"


@pytest.fixture
def store(tmp_path):
    """A store with the sample."""
    import_sample(make_store(tmp_path / "store.git"))
    return str(tmp_path / "store.git")


def run(store, *words):
    return scopes("--store", store, "conv", *words, table=PRODUCT)


def test_the_exit_code_is_1_for_differences_and_0_for_none(store):
    """S4-62: as diff(1)."""
    done = run(store, "diff", "conv-001", f"main..{SECURITY}")
    assert (done.returncode, done.stderr) == (1, "")
    marks = [row.split("\t")[:2] for row in done.stdout.splitlines()]
    assert marks.count(["-", "message"]) == 4
    assert marks.count(["+", "message"]) == 5
    same = run(store, "diff", "conv-001", "conv-001/main")
    assert (same.returncode, same.stdout, same.stderr) == (0, "", "")


def test_json_has_the_counts(store):
    done = run(store, "diff", "conv-001", f"main..{SECURITY}", "--stat")
    assert done.stdout.splitlines() == ["only_left\t4", "only_right\t5", "changed\t0", "claims\t7"]
    document = json.loads(run(store, "--json", "diff", "conv-001", f"main..{SECURITY}").stdout)
    assert document["counts"] == {"only_left": 4, "only_right": 5, "changed": 0, "claims": 7}
    decided = next(claim for claim in document["claims"] if claim["key"] == "decisions/cookies")
    assert (list(decided), decided["changed_in"]) == (["key", "changed_in", "right"], "right")


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("diff", "conv-001"), 2, "name two revisions"),
        (("diff", "conv-001", "main..nowhere"), 4, "nowhere"),
        (("why", "conv-001", "--topic", "none"), 4, "the state of conv-001 has no"),
    ],
)
def test_an_impossible_comparison_is_one_error_line(store, words, code, text):
    done = run(store, *words)
    assert done.returncode == code
    assert text in done.stderr.splitlines()[0]


def test_why_prints_the_message_of_a_decision(store):
    done = run(store, "why", f"conv-001/{SECURITY}", "--topic", "cookies")
    (row,) = done.stdout.splitlines()
    assert row.split("\t")[1:4:2] == ["code-analyzer", "decisions/cookies"]
