"""Who writes a message, and who runs a command, when the command line does not say."""

from __future__ import annotations

from scopes.cli.invocation import Invocation
from scopes.errors import Invalid
from scopes.ids import parse_agent_name
from scopes.model.message import AUTHOR_KINDS, Author

SOMEBODY = "user"


def author_of(call: Invocation, name: str | None, kind: str | None) -> Author:
    """Return the author: `--as NAME` is an agent, otherwise the setting scopes.author (or `user`) is a human.

    Raises:
        Invalid: the name or the kind cannot be used.
    """
    if kind is not None and kind not in AUTHOR_KINDS:
        raise Invalid(f"{kind!a} is no kind of author", hint="kinds: " + ", ".join(AUTHOR_KINDS))
    if name is not None:
        return Author(parse_agent_name(name), kind or "agent")
    return Author(parse_agent_name(call.config().find("scopes.author") or SOMEBODY), kind or "human")
