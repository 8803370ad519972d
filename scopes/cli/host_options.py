"""What the configuration of another program gets from the command line: the store, and where its files are."""

from __future__ import annotations

import os

from scopes.cli.invocation import Invocation
from scopes.hosts.hook_target import HookPlace
from scopes.hosts.program import program_words


def store_option(invocation: Invocation) -> list[str]:
    """Return the option for a store that was named; without it the program looks for the store of its directory."""
    store = _named_store(invocation)
    return [] if store is None else ["--store", store]


def hook_place(invocation: Invocation) -> HookPlace:
    """Return where hooks are installed, and what they run."""
    return HookPlace(
        home=invocation.home,
        cwd=invocation.cwd,
        environ=dict(invocation.environ),
        command=tuple(program_words()),
        store=_named_store(invocation),
    )


def _named_store(invocation: Invocation) -> str | None:
    given = invocation.store or invocation.environ.get("SCOPES_STORE")
    return None if given is None else os.path.abspath(given)
