"""A verb in pieces: usage, text, arguments, options. Help, manual pages and completion all print this.

Taking a verb to pieces needs its function, and so nearly everything there is; help reads the file that the generator
wrote instead, which a test compares.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import Any

DESCRIPTIONS_FILE = os.path.join(os.path.dirname(__file__), "descriptions.json")


@dataclass(frozen=True, slots=True)
class Part:
    """An argument or option: how it is typed, what its value is called, what the value may be."""

    names: tuple[str, ...]
    value: str | None
    help: str
    choices: tuple[str, ...] = ()
    default: str | None = None
    required: bool = False
    repeated: bool = False

    @property
    def label(self) -> str:
        """Write it as help shows it: `-z, --nul`, `--branch BRANCH`, `CONVERSATION`."""
        return " ".join(filter(None, (", ".join(self.names), self.value)))


@dataclass(frozen=True, slots=True)
class Description:
    """One verb, ready to be printed; the last line of `text` belongs to the examples where it has some."""

    spelling: str
    summary: str
    usage: str
    text: str
    examples: str
    arguments: tuple[Part, ...]
    options: tuple[Part, ...]


def write_descriptions(verbs: dict[tuple[str, ...], Description]) -> str:
    """Write verbs as the text of the descriptions file."""
    return json.dumps({" ".join(path): asdict(verb) for path, verb in verbs.items()}, indent=1) + "\n"


def find_description(path: tuple[str, ...]) -> Description | None:
    """Read one verb from the descriptions file; None where it is not in it."""
    with open(DESCRIPTIONS_FILE, encoding="utf-8") as file:
        found: dict[str, Any] | None = json.load(file).get(" ".join(path))
    if found is None:
        return None
    found["arguments"] = tuple(_part(part) for part in found["arguments"])
    found["options"] = tuple(_part(part) for part in found["options"])
    return Description(**found)


def _part(document: dict[str, Any]) -> Part:
    return Part(**{**document, "names": tuple(document["names"]), "choices": tuple(document["choices"])})
