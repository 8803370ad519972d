"""What the verbs that count tokens share: where rank files may be, and which model is meant."""

from __future__ import annotations

import os
import sys
from typing import Annotated, TypeAlias

import typer

from scopes.cli.invocation import Invocation
from scopes.context.models import Model, find_model
from scopes.context.rank_data import Places
from scopes.context.tokens import Chosen, choose_tokenizer

ModelName: TypeAlias = Annotated[
    str | None,
    typer.Option("--model", metavar="MODEL", help="Count as this model does: gpt-4o, claude-sonnet-4-5, ..."),
]
Strict: TypeAlias = Annotated[bool, typer.Option("--strict-tokens", help="Refuse where tokens could only be estimated")]


def cache_directory(call: Invocation) -> str:
    """Return our cache directory; a relative XDG_CACHE_HOME counts as unset (XDG base directories)."""
    home = call.environ.get("XDG_CACHE_HOME", "")
    return os.path.join(home if os.path.isabs(home) else os.path.join(call.home, ".cache"), "scopes")


def token_places(call: Invocation) -> Places:
    """Return where rank files are looked for."""
    return Places(cache_directory(call), call.environ.get("TIKTOKEN_CACHE_DIR") or None, tuple(filter(None, sys.path)))


def known_model(call: Invocation, name: str | None) -> Model | None:
    """Look a model up in the table that the settings extend; none where none is named."""
    return None if name is None else find_model(name, call.config().walk())


def tokenizer_for(call: Invocation, name: str | None, *, strict: bool) -> Chosen:
    """Choose how to count for a model."""
    return choose_tokenizer(token_places(call), known_model(call, name), strict=strict)
