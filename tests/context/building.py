"""Helpers that fill a conversation and build contexts of it."""

from __future__ import annotations

import os

from scopes.context.context import context
from scopes.context.request import Request
from tests.support.history import say

MARK = "1" * 30
LONG = "The session cookie is dropped by Safari because SameSite is none and Secure is missing. "


def talk(repository, turns, *, conversation="conv-001", length=200, **fields):
    """Append turns of `length` characters, alternately by carol and a bot; each begins with its number."""
    for number in range(1, turns + 1):
        author = {"name": "carol", "kind": "human"} if number % 2 else {"name": "bot", "kind": "agent"}
        say(repository, conversation, f"turn-{number} " + (LONG * 20)[:length], author=author, **fields)


def built(repository, tokenizer, tmp_path, where="conv-001", max_tokens=8000, **options):
    """Build a context with its cache and its project in the test's directory; its mark is MARK unless one is given."""
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    request = Request(where=where, max_tokens=max_tokens, project=str(project), **{"mark": MARK, **options})
    return context(repository, request, tokenizer, str(tmp_path / "cache"))


def put(tmp_path, path, text):
    """Write a file of the project; return its path."""
    full = tmp_path / "project" / path
    os.makedirs(full.parent, exist_ok=True)
    full.write_bytes(text if isinstance(text, bytes) else text.encode())
    return full


def numbers(result):
    """Return the numbers of the turns in a context."""
    return [message.number for message in result.messages]
