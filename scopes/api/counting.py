"""Tokens and cost for `Store.usage` and `Conversation.usage`, with the prices of the configuration."""

from __future__ import annotations

import os
from collections.abc import Sequence

from scopes.clock import now_nanoseconds, parse_window
from scopes.store.repository import Repository
from scopes.usage.prices import configured_prices, read_prices
from scopes.usage.usage import By, Usage, UsageRequest
from scopes.usage.usage import usage as add_up


def count_usage(
    repository: Repository,
    by: By | Sequence[By],
    *,
    conversations: Sequence[str] | None = None,
    since: str | None,
    until: str | None,
    model: str | None,
    agent: str | None,
    utc: bool,
    prices: str | os.PathLike[str] | None,
) -> Usage:
    """Return what model answers have used; times are texts such as `1 week ago`."""
    start, end = parse_window(since, until, now_nanoseconds(), utc=utc)
    table = configured_prices(repository.config) if prices is None else read_prices(os.fspath(prices))
    request = UsageRequest(
        by=(by,) if isinstance(by, str) else tuple(by),
        since=start,
        until=end,
        conversations=None if conversations is None else tuple(conversations),
        model=model,
        agent=agent,
        utc=utc,
    )
    return add_up(repository, request, table)
