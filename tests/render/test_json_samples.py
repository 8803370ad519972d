from __future__ import annotations

import json

import pytest

from tests.render.rendering import document
from tests.render.results import SAMPLES


@pytest.mark.every_case("a golden file that is not compared goes stale")
@pytest.mark.parametrize("noun", SAMPLES)
def test_every_document_matches_its_golden_file(noun, golden):
    documents = {}
    for name, result in SAMPLES[noun].items():
        made = document(result)
        same = next((f"as {other}" for other, known in documents.items() if known == made), None)
        documents[name] = same or made
    golden(f"{noun}.json", json.dumps(documents, indent=1, ensure_ascii=False) + "\n")
