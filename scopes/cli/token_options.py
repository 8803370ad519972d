"""What the verbs that count tokens share: where rank files may be, and which model is meant."""

from __future__ import annotations

import os
import sys
from typing import Annotated, TypeAlias

import typer

from scopes.cli.invocation import Invocation
from scopes.context.assemble import TIGHT_BELOW
from scopes.context.budget import Shares, plan_budget, set_shares
from scopes.context.context_cache import KEPT_SECONDS
from scopes.context.limits import Limits
from scopes.errors import Invalid
from scopes.tokens.choose import TokenizerChoice, choose_tokenizer
from scopes.tokens.models import Model, find_model
from scopes.tokens.rank_files import RankFilePaths

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


def token_places(call: Invocation) -> RankFilePaths:
    """Return where rank files are looked for."""
    return RankFilePaths(
        cache_directory(call), call.environ.get("TIKTOKEN_CACHE_DIR") or None, tuple(filter(None, sys.path))
    )


def known_model(call: Invocation, name: str | None) -> Model | None:
    """Look a model up in the table that the settings extend; none where none is named."""
    return None if name is None else find_model(name, call.config().walk())


def tokenizer_for(call: Invocation, name: str | None, *, strict: bool) -> TokenizerChoice:
    """Choose how to count for a model."""
    return choose_tokenizer(token_places(call), known_model(call, name), strict=strict)


def budget_for(call: Invocation, max_tokens: int | None, model: str | None, task: str | None) -> int:
    """Return the tokens that a context may have: as named, the content of the window, else 8000, 4000 for a task."""
    if max_tokens is not None:
        return max_tokens
    row = known_model(call, model)
    if row is not None:
        return plan_budget(row.window, default=budget_shares(call)).parts["content"]
    return DEFAULT_BUDGET if task is None else DEFAULT_TASK_BUDGET


def budget_shares(call: Invocation) -> Shares:
    """Return the default division of a window, with what the settings say."""
    config = call.config()
    return set_shares(config.find("scopes.budgetWindow"), config.find("scopes.budgetContent"))


def context_limits(call: Invocation, candidates: int | None) -> Limits:
    """Return the limits that the settings set, and the one that is named.

    Raises:
        Invalid: not one candidate is allowed.
    """
    if candidates is not None and candidates < 1:
        raise Invalid(f"{candidates} candidates are none", hint="for example: --candidates 32")
    config = call.config()
    return Limits(
        files=budget_shares(call).content["files"] if config.find("scopes.budgetContent") else None,
        candidates=candidates,
        max_turns=config.find_integer("scopes.maxTurns", 0) or None,
        idle_seconds=config.find_integer("scopes.idleSeconds", 0) or None,
        tight_below=config.find_integer("scopes.tightBudget", TIGHT_BELOW),
        kept_seconds=config.find_integer("scopes.contextSeconds", KEPT_SECONDS),
    )


def project_directory(call: Invocation) -> str:
    """Return the directory whose files may be read: the git repository around the current one, or that itself.

    A home directory, and what is above it, is no project: there it is empty.
    """
    directory = here = os.path.realpath(call.cwd)
    while not os.path.lexists(os.path.join(directory, ".git")):
        parent = os.path.dirname(directory)
        if parent == directory:
            return "" if os.path.join(os.path.realpath(call.home), "").startswith(os.path.join(here, "")) else here
        directory = parent
    return directory
