"""The display options of commands reach the renderers, whole commands."""

from __future__ import annotations

import pytest

from scopes.importers.import_sample import import_sample
from tests.cli.running import PRODUCT, scopes
from tests.support.store import make_store


@pytest.fixture
def run(tmp_path):
    """Run a command on a store that holds the sample."""
    import_sample(make_store(tmp_path / "store.git"))

    def run(*words):
        done = scopes("--store", str(tmp_path / "store.git"), *words, table=PRODUCT)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run


def test_a_log_has_one_line_per_message_or_a_graph_with_its_options(run):
    rows = run("conv", "log", "conv-001")
    assert all(row.count("\t") == 4 for row in rows)
    oneline = run("conv", "log", "conv-001", "--oneline")
    assert [row.split("\t")[0][:8] for row in rows] == [line.split(" ")[0] for line in oneline]
    assert run("conv", "log", "conv-001", "--oneline", "--graph")[0].startswith("● ")
    assert run("conv", "log", "conv-001", "--graph") == run("conv", "log", "conv-001", "--oneline", "--graph")


def test_settings_are_listed_with_their_origin_on_request(run):
    plain = run("-c", "scopes.hints=false", "config")
    assert "scopes.hints\tfalse" in plain
    assert "scopes.hints\tfalse\tflag" in run("-c", "scopes.hints=false", "config", "--show-origin")


def test_repeated_filters_of_a_log_mean_or(run):
    """D5: of repeated options the last one won silently."""
    every = run("conv", "log", "conv-001")
    authors = sorted({row.split("\t")[2] for row in every})[:2]
    assert len(authors) == 2
    rows = run("conv", "log", "conv-001", "--author", authors[0], "--author", authors[1].upper())
    assert rows == [row for row in every if row.split("\t")[2] in authors]
    kinds = sorted({row.split("\t")[3] for row in every})[:2]
    rows = run("conv", "log", "conv-001", "--kind", kinds[0], "--kind", kinds[1])
    assert rows == [row for row in every if row.split("\t")[3] in kinds]


def test_a_log_finds_messages_by_a_pattern(run):
    subject = run("conv", "log", "conv-001")[0].split("\t")[4]
    word = max(subject.split(), key=len).strip(".,?!")
    assert any(subject in row for row in run("conv", "log", "conv-001", "--grep", word.upper(), "-i"))
    assert run("conv", "log", "conv-001", "--grep", "no such words in it") == []
