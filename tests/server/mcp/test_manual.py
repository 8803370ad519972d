"""The help and the manual page of `scopes mcp` name everything that the server offers."""

from __future__ import annotations

import pytest

pytest.importorskip("mcp")

from tests.cli.running import PRODUCT, scopes
from tests.mcp_manual import MANUAL, describe_server

OFFERED = (
    "conversation_list", "conversation_merge", "why", "inbox", "fact_propose",
    "scopes://conversations", "scopes://files/{+path}", "resume", "handoff",
)  # fmt: skip


def test_the_manual_is_what_the_server_says_of_itself():
    """Otherwise: python -m tests.mcp_manual, then python -m scopes.cli.generate."""
    assert MANUAL.read_text() == describe_server()


def test_the_long_help_has_what_each_is_for():
    shown = scopes("help", "mcp", "--all", table=PRODUCT).stdout
    assert [name for name in OFFERED if name not in shown] == []
    assert "Hand a conversation to another agent." in shown


def test_the_manual_page_names_them_too():
    page = (MANUAL.parents[3] / "man" / "man1" / "scopes-agents.1").read_text().replace("\\-", "-")
    assert [name for name in OFFERED if name not in page] == []
