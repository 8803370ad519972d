"""Resolve a conflict from command-line options: take a side, give a value, or edit both texts in the user's editor."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from shlex import quote
from typing import Annotated, Any, NamedTuple, TypeAlias

import typer

from scopes.cli.arguments import conversation_comes_first, find_conversation
from scopes.cli.invocation import Invocation
from scopes.conversation.conflicts import (
    ConflictView,
    find_conflict_anywhere,
    require_open_conflict,
    resolve_conflict,
    show_conflict,
)
from scopes.errors import Inaccessible, Invalid, Refused
from scopes.merge.keys import can_have_value, decoded_key
from scopes.model.conflicts import Position
from scopes.model.message import Author
from scopes.render.text.conflict_phrases import can_repeat
from scopes.sanitize import clean
from scopes.store.repository import Repository

Take: TypeAlias = Annotated[
    str | None,
    typer.Option("--take", metavar="SIDE", help="The value to take: source, target, base, or both if it can have both"),
]
Value: TypeAlias = Annotated[
    str | None, typer.Option("--value", metavar="VALUE", help="Another value: a text, or JSON for the value of a field")
]
Edit: TypeAlias = Annotated[bool, typer.Option("--edit", "-e", help="Edit the texts of both sides in your editor")]
AsBefore: TypeAlias = Annotated[bool, typer.Option("--as-before", help="Resolve it as it was resolved before")]
Continue: TypeAlias = Annotated[
    bool, typer.Option("--continue", help="If no conflict is open then, finish the merge, rebase or cherry-pick")
]

_EDITOR_VARIABLES = ("VISUAL", "EDITOR")
_SCISSORS = "# ------------------------ >8 ------------------------"
_INSTRUCTIONS = (
    "# Make one text of both sides above the line, and delete the marks. The text below it is ignored;\n"
    "# an empty or unchanged text changes nothing."
)
_TARGET_MARK, _MIDDLE_MARK, _SOURCE_MARK = "<<<<<<<", "=======", ">>>>>>>"


class ResolveOptions(NamedTuple):
    """The options of `conflicts resolve` and `intervene`."""

    take: str | None
    value: str | None
    edit: bool
    reason: str
    author: Author
    as_before: bool = False
    continue_: bool = False


def split_conflict(repository: Repository, first: str, conflict: str | None, verb: str) -> tuple[str, str]:
    """Split the words `CONV CONFLICT`, or CONFLICT alone, into conversation and conflict.

    verb: the command of `scopes conflicts` that has these words

    Raises:
        NotFound, Ambiguous: no conversation or several have a conflict that is named alone.
        Invalid: a conversation is named alone, or behind the conflict.
    """
    if (
        conflict is not None
        and find_conversation(repository, first) is None
        and find_conversation(repository, conflict) is not None
    ):
        right = f"scopes conflicts {verb} {quote(conflict)} {quote(first)}"
        raise conversation_comes_first(first, f"for example: {right}")
    return (find_conflict_anywhere(repository, first), first) if conflict is None else (first, conflict)


def resolve_from_options(
    invocation: Invocation, first: str, second: str | None, options: ResolveOptions, *, intervening: bool = False
) -> int:
    """Resolve a conflict with exactly one of `take`, `value`, `edit` and `as_before`, and show the result.

    Raises:
        Invalid: none or several of these are given.
        Refused: the text from the editor is empty or unchanged.
    """
    take, value, edit, reason, author, as_before, continue_ = options
    repository = invocation.repository()
    verb = "intervene" if intervening else "resolve"
    conversation, conflict = split_conflict(repository, first, second, verb)
    if [take is not None, value is not None, edit, as_before].count(True) != 1:
        hint = _list_options(show_conflict(repository, conversation, conflict, files=False))
        raise Invalid("give exactly one resolution", hint=hint)
    if edit:
        require_open_conflict(repository, conversation, conflict)
        value = _edited_value(invocation, show_conflict(repository, conversation, conflict, files=False))
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
        continue_after=continue_,
    )
    return invocation.show(result)


def _list_options(view: ConflictView) -> str:
    """Return the options that can resolve a conflict."""
    if not view.sides:
        return "one of --take SIDE, --value VALUE, --edit and --as-before"
    take = f"--take with {', '.join(view.sides[:-1])} or {view.sides[-1]}"
    options = [take, *(("--value VALUE", "--edit") if can_have_value(view.row.conflict.key) else ())]
    options += ["--as-before"] if can_repeat(view.row.conflict) else []
    return f"one of {'; '.join(options)}" if options[1:] else take


def edit_text(invocation: Invocation, text: str, comments: str, *, name: str) -> str:
    """Open the user's editor on a file with `text`, and `comments` below a line; return the text above that line.

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
                file.write(_template(text, comments))
            _run_editor(invocation, command, path)
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                return _above_line(file.read())
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
    if not can_have_value(conflict.key):
        raise Invalid(f"{decoded_key(conflict.key)} cannot be set to a value", hint=_list_options(view))
    before = clean(_both_texts(view)).strip()
    text = edit_text(invocation, before, _describe_base(view), name=f"conflict-{conflict.id}.md")
    again = "the conflict is unchanged; edit it again, or give the text: --value TEXT"
    if not text:
        raise Refused("the text is empty", hint=again)
    if text == before:
        raise Refused("the text was not edited", hint=again)
    if _has_marks(before.split("\n"), text.split("\n")):
        raise Refused("the text still has the marks of the two sides", hint=again)
    return text


def _has_marks(before: list[str], after: list[str]) -> bool:
    """Return True if a mark is left; a side may have lines like the middle mark itself, as Markdown does."""
    outer = before[0] in after or before[-1] in after
    return outer or after.count(_MIDDLE_MARK) >= before.count(_MIDDLE_MARK)


def _both_texts(view: ConflictView) -> str:
    """Return the values of target and source between the marks of git."""
    row = view.row
    target, source = row.conflict.target, row.conflict.source
    lines = [f"{_TARGET_MARK} target: {row.target}{_agents(target)}", *(_as_text(each.value) for each in target)]
    lines += [_MIDDLE_MARK, *(_as_text(each.value) for each in source)]
    return "\n".join([*lines, f"{_SOURCE_MARK} source: {row.source}{_agents(source)}"])


def _agents(positions: Sequence[Position]) -> str:
    names = ", ".join(position.agent for position in positions if position.agent is not None)
    return f" ({names})" if names else ""


def _describe_base(view: ConflictView) -> str:
    """Return the conflict's key and its value at the merge base, as comments for the editor."""
    conflict = view.row.conflict
    base = [line for each in conflict.base for line in ("", f"Base{_agents((each,))}", _as_text(each.value))]
    return "\n".join([f"The value of {decoded_key(conflict.key)}", *(base or ["", "Base: nothing"])])


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _template(text: str, comments: str) -> str:
    commented = "".join(f"# {line}".rstrip() + "\n" for line in clean(comments).split("\n"))
    return f"{text}\n{_SCISSORS}\n{_INSTRUCTIONS}\n#\n{commented}"


def _above_line(content: str) -> str:
    """Return the text above the last scissors line, or all of it if that was deleted."""
    above, line, below = f"\n{content}\n".rpartition(f"\n{_SCISSORS}\n")
    return (above if line else below).strip()


def _run_editor(invocation: Invocation, command: str, path: str) -> None:
    """Run the editor command through the shell, as git does; its screen is the terminal, not a pipe."""
    invocation.stdout.flush()
    words = ["/bin/sh", "-c", f'{command} "$@"', command, path]
    screen = invocation.stdout if invocation.stdout.isatty() else invocation.stderr
    done = subprocess.run(words, check=False, stdout=screen)
    if done.returncode:
        hint = "the conflict is unchanged; check EDITOR, or give the text: --value TEXT"
        raise Refused(f"the editor {command!r} exited with code {done.returncode}", hint=hint)
