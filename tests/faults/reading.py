"""The content of a store as a new process reads it: refs, messages, and the findings of `verify`."""

from __future__ import annotations

import hashlib
import json

from scopes.conversation.verify import verify
from scopes.errors import ScopesError
from scopes.history.messages import is_root, read_message
from scopes.history.metadata import read_metadata
from scopes.history.names import conversation_ids
from scopes.ids import Oid
from scopes.store import refs as names
from scopes.store.graph import walk_newest_first
from scopes.store.operations import walk_operations
from scopes.store.repository import Repository, is_store, open_repository


def describe_store(path: str) -> dict:
    """Return refs, messages, settings and every error of a reader; `refused` if the store cannot be opened."""
    seen = {"refused": "", "refs": {}, "settings": {}, "messages": 0, "texts": "", "problems": [], "verify": []}
    if not is_store(path):
        return seen | {"refused": "no store"}
    try:
        repository = open_repository(path)
        seen["verify"] = describe_findings(path)
        refs = repository.list_refs(names.HEADS, names.META, names.ACTIVE, names.TRASH, names.OPERATIONS)
    except ScopesError as error:
        return seen | {"refused": error.message}
    texts = read_everything(repository, refs, seen["problems"])
    settings = {setting.key: setting.value for setting in repository.config.walk()}
    digest = hashlib.sha256(json.dumps(texts).encode()).hexdigest()
    return seen | {"refs": refs, "settings": settings, "messages": len(texts), "texts": digest}


def describe_findings(path: str) -> list[str]:
    """Return the findings of `verify`, one per line."""
    return [f"{f.severity}: {f.where}: {f.problem}" for f in verify(open_repository(path)).findings]


def read_everything(repository: Repository, refs: dict[str, str], problems: list[str]) -> list[tuple[str, str]]:
    """Return author and text of every message, including the trash; conversations and operations are read too."""
    seen: set[Oid] = set()
    texts: list[tuple[str, str]] = []
    for ref, value in refs.items():
        if not ref.startswith((names.HEADS, names.TRASH)) or value.startswith(names.SYMBOLIC) or ref.endswith("/meta"):
            continue
        try:
            for commit in walk_newest_first(repository, [Oid(value)], hidden=seen.copy()):
                seen.add(commit.oid)
                if not is_root(commit):
                    message = read_message(repository, commit.oid)
                    texts.append((message.author.name, message.text))
        except ScopesError as error:
            problems.append(f"{ref}: {error.message}")
    try:
        for conversation in conversation_ids(repository):
            read_metadata(repository, conversation)
        for _ in walk_operations(repository):
            pass
    except ScopesError as error:
        problems.append(error.message)
    return texts
