"""Options and settings of the commands that count tokens: model, tokenizer and project directory."""

from __future__ import annotations

import os
from typing import Annotated, TypeAlias

import typer

from scopes.cli.invocation import Invocation
from scopes.tokens.count import Model, TokenizerChoice, choose_tokenizer, rank_file_paths, resolve_model

ModelName: TypeAlias = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="Count as this model does: gpt-4o, claude-sonnet-4-5, ..."),
]
Strict: TypeAlias = Annotated[bool, typer.Option("--strict-tokens", help="Refuse if tokens could only be estimated")]


def known_model(invocation: Invocation, name: str | None) -> Model | None:
    """Look up a model in the table and the settings; None if no name is given."""
    return None if name is None else resolve_model(name, invocation.config(optional=True).walk())


def tokenizer_for(invocation: Invocation, model: str | None, *, strict: bool = False) -> TokenizerChoice:
    """Return the tokenizer for a model; with `strict`, or scopes.tokens=exact, it must not only estimate."""
    strict = strict or invocation.config(optional=True).find("scopes.tokens") == "exact"
    return choose_tokenizer(rank_file_paths(invocation.environ), known_model(invocation, model), strict=strict)


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
