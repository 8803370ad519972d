"""A small command table whose commands fail or misbehave in every way that the command line must handle."""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from typing import Annotated, Literal

import typer

from scopes import errors
from scopes.cli.input import open_input
from scopes.cli.invocation import Invocation
from scopes.cli.table import TABLE as PRODUCT
from scopes.cli.table import Command, Table
from scopes.result import Result

HERE = "tests.cli.sample"


def state(
    invocation: Invocation,
    conversation: Annotated[str, typer.Argument(metavar="CONV", help="Which conversation")],
    text: Annotated[list[str] | None, typer.Argument(metavar="[TEXT]", help="What to say")] = None,
    branch: Annotated[str, typer.Option("--branch", "-b", metavar="BRANCH", help="Which branch")] = "main",
    kind: Annotated[Literal["plain", "decision"], typer.Option("--kind", help="What it is")] = "plain",
    limit: Annotated[int | None, typer.Option("--limit", min=0, metavar="N", help="How many")] = None,
    nul: Annotated[bool, typer.Option("-z", "--nul", help="End rows with NUL")] = False,
) -> None:
    """Print the settings of this run.

    A paragraph that is
    wrapped.

    Examples:
      scopes state conv-001 "hello"
      scopes state conv-001 --kind decision
    """
    own = {"conversation": conversation, "text": text, "branch": branch, "kind": kind, "limit": limit, "nul": nul}
    names = (
        "command",
        "json",
        "color",
        "pager",
        "quiet",
        "verbose",
        "yes",
        "interactive",
        "store",
        "settings",
    )
    run = {name: getattr(invocation, name) for name in names}
    print(json.dumps({**own, **run, "cwd": invocation.cwd, "store_path": invocation.store_path}))


def raise_error(invocation: Invocation, kind: Annotated[str, typer.Argument(help="Which error")]) -> None:
    """Raise an error."""
    print("before")
    cases = {
        "usage": typer.BadParameter("not like this"),
        "bug": ZeroDivisionError("a\nb"),
        "memory": MemoryError(),
        "full": OSError(errno.ENOSPC, "x"),
        "denied": PermissionError(errno.EACCES, "x", "/secret/place"),
        "missing": FileNotFoundError(errno.ENOENT, "x", "/nowhere"),
        "interrupt": KeyboardInterrupt(),
        "pipe": BrokenPipeError(errno.EPIPE, "x"),
    }
    if kind == "recursion":
        raise_error(invocation, kind)
    raise cases.get(kind) or getattr(errors, kind)(f"it is {kind}", hint="do better")


def answer(invocation: Invocation, code: Annotated[int, typer.Argument(help="The exit code")]) -> int:
    """End with an exit code."""
    return code


def many(invocation: Invocation) -> None:
    """Print many lines."""
    for number in range(100_000):
        print("line", number)


def wait(invocation: Invocation, committed: Annotated[str | None, typer.Argument(help="Pretend")] = None) -> None:
    """Wait for a signal."""
    if committed is not None:
        invocation.committed = committed
    print("ready", flush=True)
    while True:  # signal.pause() would wait for ever if the signal came just before the call
        time.sleep(0.05)


def reply(invocation: Invocation, then: Annotated[str | None, typer.Argument(help="Fail after it")] = None) -> int:
    """Record something and reply."""

    class Recorded(Result):
        sentence = answer = "recorded"

    invocation.committed = "conv-001/main"
    code = invocation.show(Recorded())
    if then is not None:
        raise errors.Refused("later")
    return code


def confirm(invocation: Invocation) -> None:
    """Ask first."""
    invocation.confirm("Really?")
    print("done")


def read(invocation: Invocation, path: Annotated[str, typer.Argument(metavar="FILE", help="What to read")]) -> None:
    """Count the bytes of a file."""
    with open_input(invocation, path) as file:
        print(len(file.read()), "bytes")


def fill_error_stream(invocation: Invocation) -> None:
    """Fail while standard error cannot be written."""
    os.dup2(os.open("/dev/full", os.O_WRONLY), sys.stderr.fileno())
    raise errors.NotFound("this cannot be printed")


def _sample(name: str, summary: str, function: str | None = None) -> Command:
    return Command((name,), "samples", summary, f"{HERE}:{function or name}")


TABLE = Table(
    commands=(
        _sample("state", "Print the settings of this run"),
        _sample("raise", "Raise an error", "raise_error"),
        _sample("answer", "End with an exit code"),
        _sample("many", "Print many lines"),
        _sample("wait", "Wait for a signal"),
        _sample("reply", "Record something and reply"),
        _sample("confirm", "Ask first"),
        _sample("read", "Count the bytes of a file"),
        _sample("deaf", "Fail while standard error cannot be written", "fill_error_stream"),
        *(PRODUCT.commands[(name,)] for name in ("completion", "help")),
    ),
    taken={"status": "state", "version": "--version"},
)
