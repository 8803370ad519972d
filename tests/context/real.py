"""Real transcripts, where there are any, as the strings in them."""

from __future__ import annotations

import json
import os
from pathlib import Path

TRANSCRIPTS = os.environ.get("SCOPES_TEST_TRANSCRIPTS", "")


def texts_of(name):
    """The longer strings of a transcript, in order."""
    lines = (Path(TRANSCRIPTS) / name).read_text(errors="replace").splitlines()
    return [text for line in lines for text in strings(json.loads(line)) if len(text) > 30]


def strings(value):
    """Every string in a document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)
