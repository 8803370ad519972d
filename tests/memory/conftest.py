"""A store with one conversation, and ids that differ in their first characters."""

from __future__ import annotations

import pytest

from scopes.conversation.new_rename_delete import new
from tests.support.random_ids import spread_ids

__all__ = ["spread_ids"]


@pytest.fixture(autouse=True)
def conversation(repository):
    """Create the empty conversation conv-001."""
    new(repository)
