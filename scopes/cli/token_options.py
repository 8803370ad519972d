"""Options and settings of the commands that count tokens: model, tokenizer and project directory."""

from __future__ import annotations

import os
import re
from typing import Annotated, TypeAlias

import typer

from scopes.cli.invocation import Invocation
from scopes.errors import Invalid
from scopes.tokens.count import Model, TokenizerChoice, choose_tokenizer, rank_file_paths, resolve_model

_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)([kM]?)", re.ASCII)
_TIMES = {"": 1, "k": 1_000, "M": 1_000_000}


def read_size(text: str) -> int:
    """Return a number of tokens, which may be written as people do: 8000, 10k, 1.5M.

    Raises:
        Invalid: it is no number.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise Invalid(f"{text!a} is not a number of tokens", hint="for example: 8000, 10k, 1.5M")
    return int(float(found[1]) * _TIMES[found[2]])


ModelName: TypeAlias = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="Count tokens as this model does"),
]
MaxTokens: TypeAlias = Annotated[
    int | None,
    typer.Option("--max-tokens", metavar="N", parser=read_size, help="Its size at most: 8000, 10k"),
]


def known_model(invocation: Invocation, name: str | None) -> Model | None:
    """Look up a model in the table and the settings; None if no name is given."""
    return None if name is None else resolve_model(name, invocation.config(optional=True).walk())


def tokenizer_for(invocation: Invocation, model: str | None) -> TokenizerChoice:
    """Return the tokenizer for a model; with the setting scopes.tokens=exact it does not estimate."""
    is_exact = invocation.config(optional=True).find("scopes.tokens") == "exact"
    return choose_tokenizer(rank_file_paths(invocation.environ), known_model(invocation, model), strict=is_exact)


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
