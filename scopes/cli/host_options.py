"""What the configuration of other programs needs from the command line: the store, and where their files are."""

from __future__ import annotations

import os

from scopes.cli.invocation import Invocation
from scopes.hosts.agents import UserDirectories
from scopes.hosts.hook_target import HookEnvironment
from scopes.hosts.program import program_words


def store_option(invocation: Invocation) -> list[str]:
    """Return the option for a store that was named; without it the program looks for the store of its directory."""
    store = _named_store(invocation)
    return [] if store is None else ["--store", store]


def user_directories(invocation: Invocation) -> UserDirectories:
    """Return where configuration is written; the project is the current directory."""
    return UserDirectories(invocation.home, invocation.cwd, invocation.environ)


def hook_environment(invocation: Invocation) -> HookEnvironment:
    """Return where hooks are installed, and what they run."""
    return HookEnvironment(
        home=invocation.home,
        cwd=invocation.cwd,
        environ=dict(invocation.environ),
        command=tuple(program_words()),
        store=_named_store(invocation),
    )


def _named_store(invocation: Invocation) -> str | None:
    given = invocation.store or invocation.environ.get("SCOPES_STORE")
    return None if given is None else os.path.abspath(given)
