"""A store with a conversation and reviewers."""

from __future__ import annotations

import pytest

from scopes import clock
from scopes.agents.register import register
from scopes.conversation.new_rename_delete import new
from tests.support.random_ids import hashed_counter


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    """Operations and messages have different ids, as everywhere else."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def team(repository):
    """A conversation, and two registered reviewers, one of them away."""
    new(repository)
    register(repository, "ann", capabilities=["review"])
    register(repository, "bob", capabilities=["review"], available=False)
    return repository
