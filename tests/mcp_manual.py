"""Write the sections of `scopes help mcp` that list what the server offers, from what it tells a client.

python -m tests.mcp_manual
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

import anyio
from mcp.client.client import Client

from scopes.server.mcp.access import StoreAccess
from scopes.server.mcp.server import build_server

MANUAL = Path(__file__).parent.parent / "scopes" / "cli" / "manual" / "mcp.txt"
_WIDTH = 78


def describe_server() -> str:
    """Return a section each about tools, resources and prompts; tools that only read come first."""

    async def ask() -> str:
        async with Client(build_server(StoreAccess(""))) as client:
            tools = (await client.list_tools()).tools
            resources = (await client.list_resources()).resources
            templates = (await client.list_resource_templates()).resource_templates
            prompts = (await client.list_prompts()).prompts
        places = [(each.uri, each.description) for each in resources]
        places += [(each.uri_template, each.description) for each in templates]
        return "\n".join(
            (
                *_section("TOOLS THAT READ", ((t.name, t.description) for t in tools if t.annotations.read_only_hint)),
                *_section(
                    "TOOLS THAT WRITE", ((t.name, t.description) for t in tools if not t.annotations.read_only_hint)
                ),
                *_section("RESOURCES", places),
                *_section("PROMPTS", ((each.name, each.description) for each in prompts)),
            )
        )

    return anyio.run(ask)


def _section(title: str, entries: Iterable[tuple[str, str | None]]) -> list[str]:
    """Return the lines of a section: each name with the first paragraph of its description."""
    lines = [f"# {title}", ""]
    for name, description in entries:
        summary = " ".join((description or "").split("\n\n")[0].split())
        lines += [f"  {name}", *textwrap.wrap(summary, _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)]
    return [*lines, ""]


def main() -> int:
    """Write the file."""
    MANUAL.write_text(describe_server(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
