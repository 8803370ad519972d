"""The program that reads mutated files: what it changes stays a document, and its reader accepts every sample."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import pytest

from scopes.importers.formats.registry import FORMATS
from tests.importers.format_samples import SAMPLES
from tests.importers.fuzz import mutate_document, reader_of, write_samples
from tests.support.examples import amount


@pytest.mark.parametrize("name", SAMPLES)
def test_mutated_samples_are_read_or_refused(name):
    form, moments = SAMPLES[name]
    read = reader_of(form, FORMATS)
    for seed in range(amount(600, 40)):
        read(mutate_document(moments[-1], random.Random(seed)))


def test_lines_stay_lines_and_documents_stay_documents():
    rng = random.Random(1)
    for data, most in ((b'{"a": [1, {"b": "c"}]}\n{"d": null}\n', 6), (b'{"a": [1, {"b": "c"}]}', 1)):
        changed = {mutate_document(data, rng) for _ in range(30)}
        assert len(changed) > 10
        assert all(len([json.loads(line) for line in each.splitlines()]) <= most for each in changed)
    assert mutate_document(b"no document", rng) == b"no document"


def test_every_format_begins_with_samples(tmp_path):
    assert set(write_samples(tmp_path)) == {each.name for each in FORMATS}
    assert all(any((tmp_path / each.name).iterdir()) for each in FORMATS)


@pytest.mark.slow
def test_a_file_that_failed_is_read_again(tmp_path):
    path = tmp_path / "crash"
    path.write_bytes(SAMPLES["codex lines"][1][-1])
    command = [sys.executable, "-m", "tests.importers.fuzz", "--again", str(path), "codex"]
    assert subprocess.run(command, capture_output=True, text=True, check=False).stderr == ""
