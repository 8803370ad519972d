"""Let a process die while it moves the refs of an operation that is committed."""

from __future__ import annotations

import itertools

from scopes.store import transactions
from scopes.store.refs import PENDING


def dying_after_commit(error, turn=0):
    """Return a `set_ref` that raises an error at the turn-th move of a ref after the commit point."""
    real, moves = transactions.set_ref, itertools.count()

    def set_ref(repository, change, reason, **options):
        if (change.ref != PENDING or change.new is None) and next(moves) == turn:
            raise error
        real(repository, change, reason, **options)

    return set_ref
