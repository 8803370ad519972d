from __future__ import annotations

import json

import pytest

from tests.render.rendering import document
from tests.render.results import SAMPLES


@pytest.mark.every_case("a golden file that is not compared goes stale")
@pytest.mark.parametrize("noun", SAMPLES)
def test_every_document_matches_its_golden_file(noun, golden):
    """S1-20, S1-29, S4-9, S4-11, S4-12, S4-48, S4-49, S4-53, S4-54, S4-57: the keys that scripts rely on."""
    documents = {}
    for name, result in SAMPLES[noun].items():
        made = document(result)
        same = next((f"as {other}" for other, known in documents.items() if known == made), None)
        documents[name] = same or made
    golden(f"{noun}.json", json.dumps(documents, indent=1, ensure_ascii=False) + "\n")
