"""Ids that differ in their first characters, and bash as an oracle."""

from __future__ import annotations

import pytest

from tests.check.bash_oracle import Bash
from tests.support.random_ids import spread_ids

__all__ = ["spread_ids"]


@pytest.fixture(scope="module")
def bash(request, tmp_path_factory):
    """What bash runs for the lines `REAL` of the module."""
    return Bash(tmp_path_factory.mktemp("bash"), request.module.REAL)
