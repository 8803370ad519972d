"""Options and settings of the commands that count tokens: model, tokenizer, budget, cache and project directory."""

from __future__ import annotations

import os
import sys
from typing import Annotated, TypeAlias

import typer

from scopes.cli.invocation import Invocation
from scopes.context.budget import Shares, parse_shares, plan_budget
from scopes.tokens.choose import TokenizerChoice, choose_tokenizer
from scopes.tokens.models import Model, find_model
from scopes.tokens.rank_files import RankFilePaths

ModelName: TypeAlias = Annotated[
    str | None,
    typer.Option("--model", metavar="MODEL", help="Count as this model does: gpt-4o, claude-sonnet-4-5, ..."),
]
Strict: TypeAlias = Annotated[bool, typer.Option("--strict-tokens", help="Refuse if tokens could only be estimated")]
DEFAULT_BUDGET, DEFAULT_TASK_BUDGET = 8_000, 4_000


def cache_directory(invocation: Invocation) -> str:
    """Return the cache directory of scopes; a relative XDG_CACHE_HOME is ignored (XDG base directories)."""
    home = invocation.environ.get("XDG_CACHE_HOME", "")
    return os.path.join(home if os.path.isabs(home) else os.path.join(invocation.home, ".cache"), "scopes")


def rank_file_paths(invocation: Invocation) -> RankFilePaths:
    """Return the directories that are searched for rank files."""
    return RankFilePaths(
        cache_directory(invocation), invocation.environ.get("TIKTOKEN_CACHE_DIR") or None, tuple(filter(None, sys.path))
    )


def known_model(invocation: Invocation, name: str | None) -> Model | None:
    """Look up a model in the table and the settings; None if no name is given."""
    return None if name is None else find_model(name, invocation.config().walk())


def tokenizer_for(invocation: Invocation, model: str | None, *, strict: bool) -> TokenizerChoice:
    """Return the tokenizer for a model."""
    return choose_tokenizer(rank_file_paths(invocation), known_model(invocation, model), strict=strict)


def budget_for(invocation: Invocation, max_tokens: int | None, model: str | None, task: str | None) -> int:
    """Return the budget of a context: as given, the content part of the model's window, or 8000 (4000 for a task)."""
    if max_tokens is not None:
        return max_tokens
    row = known_model(invocation, model)
    if row is not None:
        return plan_budget(row.window, default=budget_shares(invocation)).parts["content"]
    return DEFAULT_BUDGET if task is None else DEFAULT_TASK_BUDGET


def budget_shares(invocation: Invocation) -> Shares:
    """Return the default division of a window as configured."""
    config = invocation.config()
    return parse_shares(config.find("scopes.budgetWindow"), config.find("scopes.budgetContent"))


def project_directory(invocation: Invocation) -> str:
    """Return the directory whose files may be read: the git repository around the current directory, or that itself.

    Without a repository, a home directory or a parent of it does not count as a project: the result is empty.
    """
    directory = cwd = os.path.realpath(invocation.cwd)
    while not os.path.lexists(os.path.join(directory, ".git")):
        parent = os.path.dirname(directory)
        if parent == directory:
            is_above_home = os.path.join(os.path.realpath(invocation.home), "").startswith(os.path.join(cwd, ""))
            return "" if is_above_home else cwd
        directory = parent
    return directory
