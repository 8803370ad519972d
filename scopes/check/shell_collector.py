"""Collect the commands of a command line while it is read."""

from __future__ import annotations

from typing import NamedTuple

from scopes.check.shell_changes import apply_changes, find_changes, resolve_changes
from scopes.check.shell_command import Command, Redirection, Setting
from scopes.check.shell_git_settings import find_settings, note_settings
from scopes.check.shell_named_files import note_compiled
from scopes.check.shell_opaque import find_opaque_code, find_opaque_target, find_opaque_words
from scopes.check.shell_state import Function, Input, State, Word, resolve
from scopes.check.shell_trees import forget_changed, forget_path, forget_texts
from scopes.check.shell_unwrap import find_opaque_program, item_of
from scopes.check.shell_variables import find_opaque_environment, find_opaque_prompt
from scopes.check.shell_words import known_output
from scopes.check.shell_wrappers import program_of
from scopes.check.shell_written import find_opaque_file
from scopes.lazy_patterns import compile_lazily

MAX_STEPS = 50_000  # statements and words; loops, functions and nested shells multiply those of the text
_FILTERS = {"grep", "egrep", "rg", "head", "tail", "sort", "uniq", "cat", "tee", "sed", "xargs"}
_PLACEHOLDER = compile_lazily(r"\$(__output_\d+__)")


class Exhausted(Exception):
    """The command line runs more than can be read."""


class Frame(NamedTuple):
    """Where a statement is: its source, the state of its shell, and what it was unwrapped from."""

    source: bytes
    state: State
    input: Input | None = None
    wrappers: tuple[str, ...] = ()
    environment: tuple[tuple[str, str | None], ...] = ()
    depth: int = 0
    settings: tuple[Setting, ...] = ()  # of git, from `-c`
    calls: tuple[Function | str, ...] = ()  # functions and scripts that are running, the outermost first

    def one_deeper(self) -> Frame:
        """Return the frame of a statement in this one; `_replace` takes three times as long."""
        source, state, given, wrappers, environment, depth, settings, calls = self
        return Frame(source, state, given, wrappers, environment, depth + 1, settings, calls)


class Context(NamedTuple):
    """What applies to a command besides its words.

    environment: its variables
    settings: those of git
    reason: why there may be other settings; None if there are none
    """

    environment: tuple[tuple[str, str | None], ...]
    settings: tuple[Setting, ...] = ()
    reason: str | None = None


def context_of(words: tuple[Word, ...], frame: Frame) -> Context:
    """Return what applies to a command."""
    state = frame.state
    environment = (*state.exported.items(), *frame.environment)
    if not words or not words[0].text.endswith("git"):
        return Context(environment)
    settings, reason = find_settings(state.files, state.directory, environment)
    return Context(environment, (*settings, *frame.settings), reason)


def _own_files(words: tuple[Word, ...], files: tuple[Redirection, ...], state: State) -> tuple[str, ...]:
    named = (*(word.value for word in words), *(each.target for each in files if each.kind == "read"))
    return tuple(each for each in named if each and state.files.is_own(resolve(state.directory, each)))


class Collector:
    """The commands so far, and what the last one prints."""

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.output: Word | None = None  # what the last command prints, if it is known
        self._words: tuple[Word, ...] = ()  # of the last command
        self._raw: dict[str, str] = {}  # source of the command substitutions, by placeholder
        self._steps = 0

    def count(self, steps: int) -> None:
        """Count statements and words; raise Exhausted if there are too many."""
        self._steps += steps
        if self._steps > MAX_STEPS:
            raise Exhausted

    def report(self, text: str, directory: str | None, reason: str, frame: Frame | None = None) -> None:
        """Add a command that cannot be read."""
        self.commands.append(Command((), text, directory, () if frame is None else frame.wrappers, reason))

    def emit(
        self,
        words: tuple[Word, ...],
        frame: Frame,
        text: str,
        files: tuple[Redirection, ...],
        reason: str | None = None,
        *,
        is_read: bool = False,
    ) -> None:
        """Add a command that runs.

        reason: why it cannot be read
        is_read: the file that it runs is read
        """
        if not words and not files:
            return
        given, state = frame.input, frame.state
        environment, settings, unread_settings = context_of(words, frame)
        unread = None if is_read else find_opaque_program(words, given, settings, environment)
        reason = reason or (None if unread is None else unread.reason)
        argv = tuple(word.value for word in words)
        if argv and argv[0] is None and program_of(words):
            argv = (program_of(words), *argv[1:])
        if argv and argv[0] in state.aliases:
            reason = f"{argv[0]} is an alias"
        readable = tuple(self.readable(word.text) for word in words)
        changes = find_changes(words)
        reason = (
            reason
            or find_opaque_code(words, text)
            or find_opaque_prompt(state)
            or (find_opaque_environment(environment) if environment and words else None)
            or find_opaque_words(words, readable)
            or find_opaque_target(words, files, changes, state)
            or (None if is_read else find_opaque_file(words, files, state, environment, settings))
            or unread_settings
        )
        own_files = _own_files(words[1:], files, state) if state.files.written else ()
        self.output = known_output(list(words))
        if argv in {("cat",), ("cat", "-")} or argv[:1] == ("tee",):
            self.output = None if given is None else given.script
        self._note_files(files, state)
        resolved = resolve_changes(changes, state.directory, state.files) if changes else ()
        apply_changes(resolved, words, state.files, given, state.directory)
        forget_changed(resolved, state.files)
        forget_texts(words, state)
        note_compiled(words, given, state)
        if argv[:2] == ("git", "config"):
            note_settings(words, state.files)
        self.commands.append(
            Command(
                argv=argv,
                text=text,
                directory=state.directory,
                wrappers=frame.wrappers,
                opaque=reason,
                piped_from=None if given is None else given.argv,
                redirections=files,
                words=readable,
                environment=environment,
                code_from=() if unread is None else unread.code_from,
                input="" if given is None or given.script is None else given.script.text,
                changes=resolved,
                settings=settings,
                own_files=own_files,
            )
        )
        self._words = words

    def _note_files(self, files: tuple[Redirection, ...], state: State) -> None:
        """Remember what the last command prints into files."""
        text = None if self.output is None else self.output.value
        for file in files:
            if file.kind == "read":
                continue
            path = resolve(state.directory, file.target)
            if path is not None:
                state.files.write(path, text, is_appended=file.kind == "append")
            if state.files.written:
                forget_path(path or file.target or file.text, state.files)

    def readable(self, text: str) -> str:
        """Return a text with the source of command substitutions in the place of their placeholders."""
        return _PLACEHOLDER.sub(lambda match: self._raw.get(match[1], match[0]), text) if "$__" in text else text

    def attach(self, start: int, files: tuple[Redirection, ...], frame: Frame) -> None:
        """Give the redirections of a compound statement to its last command."""
        if not files:
            return
        if len(self.commands) != start + 1:
            self.output = None
        self._note_files(files, frame.state)
        if len(self.commands) == start:
            self.commands.append(Command((), "", frame.state.directory, frame.wrappers))
        last = self.commands[-1]
        self.commands[-1] = last._replace(redirections=last.redirections + files)

    def input_after(self, start: int, given: Input | None) -> Input:
        """Return what the next command of a pipeline reads."""
        emitted = self.commands[start:]
        programs = (given.programs if given else ()) + tuple(each.program for each in emitted if each.program)
        program = emitted[-1].program if emitted else None
        item = item_of(self._words) if emitted else None
        if item is None and given is not None and program in _FILTERS:
            item = given.item
        argv = emitted[-1].argv if emitted else ()
        return Input(argv, programs[:16], self.output if len(emitted) == 1 else None, item)

    def placeholder(self, raw: str) -> str:
        """Return the name of a variable that stands for a command substitution."""
        name = f"__output_{len(self._raw)}__"
        self._raw[name] = raw
        return name

    def take_output(self) -> Word | None:
        """Return what the last command prints, and forget it."""
        output, self.output = self.output, None
        return output
