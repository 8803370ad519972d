"""Ids that differ in their first characters."""

from __future__ import annotations

from tests.support.random_ids import spread_ids

__all__ = ["spread_ids"]
