"""Stores in which every kind of secret is planted: in each form, or at each place where a subject or a title is cut."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import pytest

from scopes.sanitize import SUBJECT_LENGTH
from scopes.store.objects import one_line
from tests.cli.conversation import Conversation
from tests.support.planted import FORMS, KINDS, MISSED

ALL_FORMS = {**FORMS, **MISSED}
WORDS = "all these words are quite ordinary " * 3
OFFSETS = (0, 30, 44, 51, 55, 59, 62)  # of a secret in a subject: it is cut, if it is longer than what is left


class Planted:
    """A store with a conversation for each name, which has all kinds."""

    def __init__(self, path, texts: Mapping[str, Iterable[str]]) -> None:
        """Store a conversation of these texts for each name; the first text is also its title, as imports cut it."""
        with pytest.MonkeyPatch.context() as patch:  # a fixture of a module is made before a test has a home
            patch.setenv("HOME", str(path))
            self.conversation, self.lines = Conversation(path), path / "lines.jsonl"
            self.ids = {name: self._store(list(lines)) for name, lines in texts.items()}
        self.run = self.conversation.run_main

    def _store(self, texts: list[str]) -> str:
        store = self.conversation
        name = store.run("new", "--json")["id"]
        self.lines.write_text("".join(json.dumps({"author": "carol", "text": text}) + "\n" for text in texts))
        assert store.run_main("append", name, "--jsonl", str(self.lines)).returncode == 0
        assert store.run_main("rename", name, "--title", one_line(texts[0])).returncode == 0
        return name


def plant_forms(path) -> Planted:
    """Plant all kinds in each form: a conversation for each, and a message for each kind; the title has no secret."""
    return Planted(path, {form: ["the kinds", *(hide(each) for _, each in KINDS)] for form, hide in ALL_FORMS.items()})


def plant_cuts(path) -> Planted:
    """Plant all kinds at several places of a subject: a conversation for each kind, and a message for each place."""
    return Planted(
        path, {f"{kind} {secret[:12]}": [f"{WORDS[:at]} {secret} now" for at in OFFSETS] for kind, secret in KINDS}
    )


def is_cut(text: str) -> bool:
    """Return True if a subject has not the whole of a text."""
    return len(text) > SUBJECT_LENGTH
