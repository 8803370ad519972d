"""Resolve a conflict from command-line options: take a side, give a value, or write a text in the user's editor."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from typing import Annotated, Any, NamedTuple, TypeAlias

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.conflicts import ConflictView, show_conflict
from scopes.conversation.resolve import resolve_conflict
from scopes.errors import Inaccessible, Invalid, Refused
from scopes.merge.conflict_keys import shown_key
from scopes.model.conflicts import Position
from scopes.model.message import Author
from scopes.sanitize import clean

Take: TypeAlias = Annotated[
    str | None, typer.Option("--take", metavar="SIDE", help="The value to take: source, target, base or both")
]
Value: TypeAlias = Annotated[
    str | None, typer.Option("--value", metavar="VALUE", help="Another value: a text, or JSON for the value of a field")
]
Edit: TypeAlias = Annotated[bool, typer.Option("--edit", "-e", help="Write the value in your editor")]
AsBefore: TypeAlias = Annotated[
    bool, typer.Option("--as-before", help="Resolve it as the same question was resolved before")
]
Reason: TypeAlias = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for those who read it later")]

_EDITOR_VARIABLES = ("VISUAL", "EDITOR")
_SCISSORS = "# ------------------------ >8 ------------------------"
_INSTRUCTIONS = "# Write above the line. The text below it is ignored; an empty text changes nothing."


class ResolveOptions(NamedTuple):
    """The options of `conflicts resolve` and `intervene`."""

    take: str | None
    value: str | None
    edit: bool
    reason: str
    author: Author
    as_before: bool = False


def resolve_from_options(
    invocation: Invocation, conversation: str, conflict: str, options: ResolveOptions, *, intervening: bool = False
) -> int:
    """Resolve a conflict with exactly one of `take`, `value`, `edit` and `as_before`, and show the result.

    Raises:
        Invalid: none or several of these are given.
        Refused: the text from the editor is empty.
    """
    take, value, edit, reason, author, as_before = options
    if [take is not None, value is not None, edit, as_before].count(True) != 1:
        raise Invalid("give exactly one resolution", hint="one of --take SIDE, --value VALUE, --edit and --as-before")
    repository = invocation.repository()
    if edit:
        value = _edited_value(invocation, show_conflict(repository, conversation, conflict))
    result = resolve_conflict(
        repository,
        conversation,
        conflict,
        take=take,
        value=value,
        reason=reason,
        author=author,
        as_before=as_before,
        intervening=intervening,
    )
    return invocation.show(result)


def edit_text(invocation: Invocation, comments: str, *, name: str) -> str:
    """Open the user's editor on an empty file with `comments` below a line, and return the text above that line.

    Raises:
        Refused: no editor is set, or it failed.
        Inaccessible: the temporary file cannot be written or read.
    """
    command = _choose_editor(invocation)
    if command is None:
        raise Refused("no editor is set", hint="set EDITOR, or give the text: --value TEXT")
    try:
        with tempfile.TemporaryDirectory(prefix="scopes-") as directory:
            path = os.path.join(directory, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(_template(comments))
            _run_editor(invocation, command, path)
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                return file.read().split(_SCISSORS)[0].strip()
    except OSError as error:
        raise Inaccessible(f"cannot use a temporary file for the editor: {error.strerror}") from error


def _choose_editor(invocation: Invocation) -> str | None:
    """Return GIT_EDITOR, the user's scopes.editor, VISUAL or EDITOR, as git does; None if none is set.

    A store may come from someone else, so `Config.find` ignores its scopes.editor.
    """
    configured = invocation.config().find("scopes.editor")
    candidates = (invocation.environ.get("GIT_EDITOR"), configured, *map(invocation.environ.get, _EDITOR_VARIABLES))
    return next(filter(None, candidates), None)


def _edited_value(invocation: Invocation, view: ConflictView) -> str:
    conflict = view.row.conflict
    if conflict.status == "resolved":
        raise Refused(f"conflict {conflict.id} is resolved already", hint="to revert the resolution: scopes undo")
    text = edit_text(invocation, _describe_conflict(view), name=f"conflict-{conflict.id}.md")
    if not text:
        raise Refused("the text is empty; the conflict is unchanged")
    return text


def _describe_conflict(view: ConflictView) -> str:
    """Return the conflict's key and the value of each side, as comments for the editor."""
    row = view.row
    sides = (
        ("Base", row.conflict.base),
        (f"Target: {row.target}", row.conflict.target),
        (f"Source: {row.source}", row.conflict.source),
    )
    positions = [_describe_position(name, position) for name, positions in sides for position in positions]
    return "\n".join([f"The value of {shown_key(row.conflict.key)}", *positions])


def _describe_position(name: str, position: Position) -> str:
    agent = f" ({position.agent})" if position.agent is not None else ""
    return f"\n{name}{agent}\n{_as_text(position.value)}"


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _template(comments: str) -> str:
    commented = "".join(f"# {line}".rstrip() + "\n" for line in clean(comments).split("\n"))
    return f"\n{_SCISSORS}\n{_INSTRUCTIONS}\n#\n{commented}"


def _run_editor(invocation: Invocation, command: str, path: str) -> None:
    """Run the editor command through the shell, as git does; its screen is the terminal, not a pipe."""
    invocation.stdout.flush()
    words = ["/bin/sh", "-c", f'{command} "$@"', command, path]
    screen = invocation.stdout if invocation.stdout.isatty() else invocation.stderr
    done = subprocess.run(words, check=False, stdout=screen)
    if done.returncode:
        hint = "the conflict is unchanged; check EDITOR, or give the text: --value TEXT"
        raise Refused(f"the editor {command!r} exited with code {done.returncode}", hint=hint)
