"""`scopes conflicts list`, `show`, `resolve`, `argue` and `escalate`."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from shlex import quote
from typing import Annotated, Any, NamedTuple, TypeAlias

from scopes.cli.commands.collaborate import read_argument
from scopes.cli.invocation import Invocation
from scopes.cli.options import (
    LATEST,
    Confidence,
    Continue,
    Data,
    OptionalConversation,
    Reason,
    Text,
    Texts,
    To,
    argument,
    author_of,
    option,
)
from scopes.cli.words import find_conversation, split_place
from scopes.collaboration.conflicts import argue_about_conflict, choose_neutral, escalate
from scopes.conversation.conflicts import (
    ConflictView,
    find_conflict_anywhere,
    list_conflicts,
    require_open_conflict,
    resolve_conflict,
    show_conflict,
)
from scopes.errors import Inaccessible, Invalid, Refused
from scopes.merge.keys import can_have_value, decoded_key
from scopes.model.conflicts import Position
from scopes.render.conflicts import can_repeat
from scopes.result import Note
from scopes.sanitize import clean, clean_line
from scopes.store.repository import Repository

ConflictWords: TypeAlias = Annotated[
    Texts, argument("[CONV] CONFLICT", "The conflict: its number, key, or a prefix of its id")
]
_SCISSORS = "# ------------------------ >8 ------------------------"
_INSTRUCTIONS = (
    "# Make one text of both sides above the line, and delete the marks. The text below it is ignored;\n"
    "# an empty or unchanged text changes nothing."
)
_TARGET_MARK, _MIDDLE_MARK, _SOURCE_MARK = "<<<<<<<", "=======", ">>>>>>>"
_ANSWERS = {"t": "target", "s": "source", "b": "both"}


def conflicts_list(
    invocation: Invocation,
    conversation: OptionalConversation = None,
    include_all: Annotated[bool, option("-a, --all", "Also resolved and aborted ones")] = False,
    status: Annotated[Text, option("--status STATUS", "open, debate, escalated, resolved, aborted")] = None,
) -> int:
    """List the conflicts between branches.

    -a also lists those that were resolved, by somebody, a rule or the strategy of the merge, and those that were
    aborted.

    Examples:
      scopes conflicts
      scopes conflicts list conv-001 -a
    """
    result = list_conflicts(invocation.repository(), conversation, status=status, include_all=include_all)
    return invocation.show(result)


def conflicts_show(invocation: Invocation, words: ConflictWords = None) -> int:
    """Show both sides of a conflict.

    For each side: the value, who set it, and the message. For a file: the changes of both sides. Then what was said
    about the conflict.

    Examples:
      scopes conflicts show 1
      scopes conflicts show conv-001 cookies
    """
    repository = invocation.repository()
    return invocation.show(show_conflict(repository, *_split_one(repository, words)))


class Resolution(NamedTuple):
    """How conflicts are resolved: the options of `conflicts resolve`."""

    take: str | None
    value: str | None
    edit: bool
    as_before: bool
    override: bool
    reason: str

    @property
    def is_given(self) -> bool:
        """Whether one way of resolving is chosen; raises Invalid if there are several."""
        given = [self.take is not None, self.value is not None, self.edit, self.as_before].count(True)
        if given > 1:
            raise Invalid("give exactly one resolution", hint="one of --take, --value, --edit and --as-before")
        return given == 1


def conflicts_resolve(
    invocation: Invocation,
    words: Annotated[Texts, argument("[CONV] [CONFLICT...]", "Their numbers, keys, or prefixes of their ids")] = None,
    include_all: Annotated[bool, option("-a, --all", "Every open conflict, in the same way")] = False,
    reason: Reason = "",
    go_on: Continue = False,
    take: Annotated[Text, option("--take SIDE", "source, target, base or both")] = None,
    value: Annotated[Text, option("--value VALUE", "Another value: a text, or JSON")] = None,
    edit: Annotated[bool, option("-e, --edit", "Edit the texts of both sides")] = False,
    as_before: Annotated[bool, option("--as-before", "As the same conflict was resolved before")] = False,
    override: Annotated[bool, option("--override", "As a person, over a debate or an escalation")] = False,
) -> int:
    """Decide conflicts; on a terminal one by one.

    --continue finishes the merge, rebase or cherry-pick after the last conflict is resolved. undo takes all of it back
    in one step.

    Examples:
      scopes conflicts resolve 1 --take target
      scopes conflicts resolve -a --take source --continue
      scopes conflicts resolve
    """
    how = Resolution(take, value, edit, as_before, override, reason)
    is_given = how.is_given
    repository = invocation.repository()
    place, names = split_place(repository, words or ())
    on_terminal = invocation.interactive and invocation.stdout.isatty() and not invocation.wants_data
    if include_all or (not names and (on_terminal or not is_given)):
        if names:
            raise Invalid("--all cannot be combined with conflicts", hint="leave out one of them")
        rows = list_conflicts(repository, place).conflicts
        found = [(str(row.conversation), row.conflict.id) for row in rows]
        if not found:
            raise Refused(f"no conflict of {rows[0].conversation if rows else place} is open")
    else:
        found = [_named(repository, place, name) for name in names]
    if not found:
        raise Invalid("no conflict is named", hint="name one, or all: -a; list them: scopes conflicts list")
    if is_given:
        return _resolve_all(invocation, found, how, go_on=go_on)
    if not on_terminal:
        raise Invalid("give exactly one resolution", hint=_list_options(_view(repository, *found[0])))
    return _walk(invocation, found, how)


def _resolve_all(invocation: Invocation, found: Sequence[tuple[str, str]], how: Resolution, *, go_on: bool) -> int:
    """Resolve conflicts in the same way, the last one with --continue, as one step of undo; return the exit code."""
    repository, code = invocation.repository(), 0
    author = author_of(invocation)
    for conversation, conflict in found:
        value = how.value
        if how.edit:
            require_open_conflict(repository, conversation, conflict)
            value = _edited_value(invocation, _view(repository, conversation, conflict))
        done = resolve_conflict(
            repository,
            conversation,
            conflict,
            take=how.take,
            value=value,
            reason=how.reason,
            author=author,
            as_before=how.as_before,
            intervening=how.override,
            continue_after=go_on and (conversation, conflict) == found[-1],
        )
        code = invocation.show(done)
    return code


def _walk(invocation: Invocation, found: Sequence[tuple[str, str]], how: Resolution) -> int:
    """Ask a person about each conflict; what is left stays open, and the last answer finishes what was stopped."""
    repository, left, quiet = invocation.repository(), 0, invocation.quiet
    invocation.quiet = True  # each line would name a command in the place of a letter
    for number, (conversation, conflict) in enumerate(found, start=1):
        view = _view(repository, conversation, conflict)
        invocation.show(view)
        sides = [f"{key} {side}" for key, side in _ANSWERS.items() if side in view.sides]
        edits = ["e edit"] if can_have_value(view.row.conflict.key) else []
        choices = ", ".join([*sides, *edits, "l later", "q quit"])
        answer = ""
        while answer not in {each[0] for each in (*sides, *edits, "l", "q")}:
            invocation.stderr.write(f"{number} of {len(found)}: {choices}: ")
            invocation.stderr.flush()
            answer = invocation.stdin.readline().strip()[:1].lower() or "q"
        if answer == "q":
            left += len(found) - number + 1
            break
        if answer == "l":
            left += 1
            continue
        chosen = how._replace(take=_ANSWERS.get(answer), edit=answer == "e")
        _resolve_all(invocation, [(conversation, conflict)], chosen, go_on=number == len(found) and not left)
    invocation.quiet, decided = quiet, len(found) - left
    invocation.output().note(Note(f"{decided} decided, {left} left"))
    return 0


def conflicts_argue(
    invocation: Invocation,
    words: Annotated[Texts, argument("[CONV] CONFLICT TEXT", "The conflict, and what you hold")] = None,
    reason: Reason = "",
    confidence: Confidence = None,
    data: Data = None,
) -> int:
    """State a position about a conflict.

    The status of the conflict becomes debate. Your next position replaces this one. Whoever decides sees the positions
    of all.

    Examples:
      scopes conflicts argue 1 'Keep cookies' --reason 'one line to change' --confidence 85%
      scopes conflicts argue conv-001 cookies 'Use tokens' --data @why.json
    """
    given = words or []
    if len(given) < 2:
        raise Invalid("no position given", hint="scopes conflicts argue [CONV] CONFLICT TEXT")
    repository = invocation.repository()
    author = author_of(invocation)
    argument = read_argument(invocation, "", given[-1], reason=reason, confidence=confidence, data=data)
    names = _split_one(repository, given[:-1])
    return invocation.show(argue_about_conflict(repository, *names, argument, author=author))


def conflicts_escalate(invocation: Invocation, words: ConflictWords = None, to: To = None, reason: Reason = "") -> int:
    """Hand a conflict to somebody else.

    A registered agent gets it in its inbox. --to @CAPABILITY chooses the first registered agent with this capability
    that is available and not involved. Without --to any capability will do, and a person comes before an agent.

    Examples:
      scopes conflicts escalate 1 --to ann
      scopes conflicts escalate 1 --to @architect
    """
    if len(to or ()) > 1:
        raise Invalid("a conflict is handed to one agent", hint="leave out the other --to")
    repository = invocation.repository()
    names = _split_one(repository, words)
    author = author_of(invocation)
    name = to[0] if to else ""
    if not name or name.startswith("@"):
        name = choose_neutral(repository, *names, name.removeprefix("@") or None).name
    return invocation.show(escalate(repository, *names, to=name, reason=reason, author=author))


def _split_one(repository: Repository, words: Sequence[str] | None) -> tuple[str, str]:
    """Split the words `CONV CONFLICT`, or CONFLICT alone, into conversation and conflict.

    Raises:
        NotFound, Ambiguous: no conversation or several have a conflict that is named alone.
        Invalid: there is not one conflict.
    """
    place, names = split_place(repository, words or ())
    if len(names) != 1:
        where = "" if place == LATEST else f" {quote(place)}"
        raise Invalid("name one conflict", hint=f"list them: scopes conflicts list{where}")
    return _named(repository, place, names[0])


def _named(repository: Repository, place: str, name: str) -> tuple[str, str]:
    """Return a conflict and its conversation, which need not be named."""
    if place == LATEST and find_conversation(repository, name) is not None:
        raise Invalid(f"{name} is a conversation", hint=f"name its conflict too: {quote(name)} 1")
    return (find_conflict_anywhere(repository, name) if place == LATEST else place), name


def _view(repository: Repository, conversation: str, conflict: str) -> ConflictView:
    return show_conflict(repository, conversation, conflict, files=False)


def _list_options(view: ConflictView) -> str:
    """Return the options that can resolve a conflict."""
    if not view.sides:
        return "one of --take SIDE, --value VALUE, --edit and --as-before"
    take = f"--take with {', '.join(view.sides[:-1])} or {view.sides[-1]}"
    options = [take, *(("--value VALUE", "--edit") if can_have_value(view.row.conflict.key) else ())]
    options += ["--as-before"] if can_repeat(view.row.conflict) else []
    return f"one of {'; '.join(options)}" if options[1:] else take


def _edited_value(invocation: Invocation, view: ConflictView) -> str:
    """Return what a person makes of the texts of both sides in their editor.

    Raises:
        Refused: no editor is set, it failed, or the text is empty, unchanged or still has marks.
        Inaccessible: the temporary file cannot be written or read.
    """
    conflict = view.row.conflict
    if not can_have_value(conflict.key):
        raise Invalid(f"{decoded_key(conflict.key)} cannot be set to a value", hint=_list_options(view))
    before = clean(_both_texts(view)).strip()
    base = [line for each in conflict.base for line in ("", f"Base{_agents((each,))}", _as_text(each.value))]
    comments = "\n".join([f"The value of {decoded_key(conflict.key)}", *(base or ["", "Base: nothing"])])
    text = _edit(invocation, before, comments, name=f"conflict-{conflict.id}.md")
    again = "the conflict is unchanged; edit it again, or give the text: --value TEXT"
    lines, marks = text.split("\n"), before.split("\n")
    if not text or text == before:
        raise Refused("the text was not edited" if text else "the text is empty", hint=again)
    if marks[0] in lines or marks[-1] in lines or lines.count(_MIDDLE_MARK) >= marks.count(_MIDDLE_MARK):
        raise Refused("the text still has the marks of the two sides", hint=again)
    return text


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


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _edit(invocation: Invocation, text: str, comments: str, *, name: str) -> str:
    """Open the user's editor on a file with `text`, and `comments` below a line; return the text above that line.

    The editor is GIT_EDITOR, the user's scopes.editor, VISUAL or EDITOR, as in git; that of a store does not count.
    """
    environ, configured = invocation.environ, invocation.config().find("scopes.editor")
    named = (environ.get("GIT_EDITOR"), configured, environ.get("VISUAL"), environ.get("EDITOR"))
    command = next(filter(None, named), None)
    if command is None:
        raise Refused("no editor is set", hint="set EDITOR, or give the text: --value TEXT")
    commented = "".join(f"# {line}".rstrip() + "\n" for line in clean(comments).split("\n"))
    try:
        with tempfile.TemporaryDirectory(prefix="scopes-") as directory:
            path = os.path.join(directory, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"{text}\n{_SCISSORS}\n{_INSTRUCTIONS}\n#\n{commented}")
            invocation.stdout.flush()
            # Through the shell, as git does; its screen is the terminal, not a pipe.
            screen = invocation.stdout if invocation.stdout.isatty() else invocation.stderr
            words = ["/bin/sh", "-c", f'{command} "$@"', command, path]
            done = subprocess.run(words, check=False, stdout=screen)
            if done.returncode:
                hint = "the conflict is unchanged; check EDITOR, or give the text: --value TEXT"
                raise Refused(f"the editor {clean_line(command)!r} exited with code {done.returncode}", hint=hint)
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                above, line, below = f"\n{file.read()}\n".rpartition(f"\n{_SCISSORS}\n")
    except OSError as error:
        raise Inaccessible(f"cannot use a temporary file for the editor: {error.strerror}") from error
    return (above if line else below).strip()
