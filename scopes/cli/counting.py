"""What the verbs that count tokens share: where rank files may be, and which model is meant."""

from __future__ import annotations

import os
import sys
from typing import Annotated, TypeAlias

import typer

from scopes.cli.invocation import Invocation
from scopes.context.budget import plan_budget
from scopes.context.models import Model, find_model
from scopes.context.rank_data import Places
from scopes.context.tokens import Chosen, choose_tokenizer

ModelName: TypeAlias = Annotated[
    str | None,
    typer.Option("--model", metavar="MODEL", help="Count as this model does: gpt-4o, claude-sonnet-4-5, ..."),
]
Strict: TypeAlias = Annotated[bool, typer.Option("--strict-tokens", help="Refuse where tokens could only be estimated")]
DEFAULT_BUDGET, DEFAULT_TASK_BUDGET = 8_000, 4_000


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


def budget_for(call: Invocation, max_tokens: int | None, model: str | None, task: str | None) -> int:
    """Return the tokens that a context may have: as named, the content of the window, else 8000, 4000 for a task."""
    if max_tokens is not None:
        return max_tokens
    row = known_model(call, model)
    if row is not None:
        return plan_budget(row.window).parts["content"]
    return DEFAULT_BUDGET if task is None else DEFAULT_TASK_BUDGET


def project_directory(call: Invocation) -> str:
    """Return the directory whose files may be read: the git repository around the current one, or that itself."""
    directory = here = os.path.realpath(call.cwd)
    while not os.path.lexists(os.path.join(directory, ".git")):
        parent = os.path.dirname(directory)
        if parent == directory:
            return here
        directory = parent
    return directory
