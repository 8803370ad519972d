"""The option --dry-run of commands that have one of their own."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

DryRun: TypeAlias = Annotated[bool, typer.Option("--dry-run", help="Print what would happen, and change nothing")]
