"""Where copies of what is in a store are outside of it: a purge removes what it purges there, too."""

from __future__ import annotations

import os

from scopes.cli.invocation import Invocation
from scopes.purge.purge import Places


def places_of(invocation: Invocation) -> Places:
    """Return the directories outside of the store that have copies: index, contexts and logs."""
    contexts = os.path.join(invocation.cache_directory, "contexts")
    return Places(invocation.index_directory, (contexts,), invocation.state_directory)
