"""The strings in real transcripts, if SCOPES_TEST_TRANSCRIPTS names a directory of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

TRANSCRIPTS = os.environ.get("SCOPES_TEST_TRANSCRIPTS", "")


def texts_of(name):
    """Return the strings of a transcript with more than 30 characters, in order."""
    lines = (Path(TRANSCRIPTS) / name).read_text(errors="replace").splitlines()
    return [text for line in lines for text in strings(json.loads(line)) if len(text) > 30]


def strings(value):
    """Yield every string in a JSON document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)
