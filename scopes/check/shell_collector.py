"""Collect the commands of a command line while it is read."""

from __future__ import annotations

from typing import NamedTuple

from scopes.check.shell_code import find_code, find_loaded_code
from scopes.check.shell_command import Command, Redirection
from scopes.check.shell_doubt import find_doubt, find_place_doubt
from scopes.check.shell_state import Function, Input, State, Word, add_paths, resolve
from scopes.check.shell_unwrap import find_unread, item_of
from scopes.check.shell_words import known_output
from scopes.check.shell_wrappers import program_of
from scopes.lazy_patterns import compile_lazily

MAX_STEPS = 50_000  # statements and words; loops, functions and nested shells multiply those of the text
_FILTERS = {"grep", "egrep", "rg", "head", "tail", "sort", "uniq", "cat", "tee", "sed", "xargs"}
_PLACEHOLDER = compile_lazily(r"\$(__output_\d+__)")


class Exhausted(Exception):
    """The command line runs more than can be read."""


class Frame(NamedTuple):
    """Where a statement stands: its source, the state of its shell, and what it was unwrapped from."""

    source: bytes
    state: State
    input: Input | None = None
    wrappers: tuple[str, ...] = ()
    environment: tuple[tuple[str, str | None], ...] = ()
    depth: int = 0
    calls: tuple[Function, ...] = ()  # functions that are running, the outermost first

    def one_deeper(self) -> Frame:
        """Return the frame of a statement in this one; `_replace` takes three times as long."""
        source, state, given, wrappers, environment, depth, calls = self
        return Frame(source, state, given, wrappers, environment, depth + 1, calls)


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
    ) -> None:
        """Add a command that runs; `reason` is why it cannot be read."""
        if not words and not files:
            return
        given = frame.input
        environment = (*frame.state.exported.items(), *frame.environment)
        unread = find_unread(words, given, frame.wrappers, environment)
        reason = reason or (None if unread is None else unread.reason)
        argv = tuple(word.value for word in words)
        if argv and argv[0] is None and program_of(words):
            argv = (program_of(words), *argv[1:])
        if argv and argv[0] in frame.state.aliases:
            reason = f"{argv[0]} is an alias"
        readable = tuple(self.readable(word.text) for word in words)
        reason = (
            reason
            or find_code(words, text)
            or (find_loaded_code(environment) if environment and words else None)
            or find_doubt(words, readable)
            or find_place_doubt(words, files, frame.state)
        )
        for file in files:
            if file.kind != "read" and (path := resolve(frame.state.directory, file.target)) is not None:
                frame.state.written = add_paths(frame.state.written, (path,))
        self.commands.append(
            Command(
                argv=argv,
                text=text,
                directory=frame.state.directory,
                wrappers=frame.wrappers,
                opaque=reason,
                piped_from=None if given is None else given.argv,
                redirections=files,
                words=readable,
                environment=environment,
                code_from=() if unread is None else unread.code_from,
                input="" if given is None or given.script is None else given.script.text,
            )
        )
        self._words = words
        self.output = known_output(list(words))
        if argv in {("cat",), ("cat", "-")} or argv[:1] == ("tee",):
            self.output = None if given is None else given.script

    def readable(self, text: str) -> str:
        """Return a text with the source of command substitutions in the place of their placeholders."""
        return _PLACEHOLDER.sub(lambda match: self._raw.get(match[1], match[0]), text) if "$__" in text else text

    def attach(self, start: int, files: tuple[Redirection, ...], frame: Frame) -> None:
        """Give the redirections of a compound statement to its last command."""
        if not files:
            return
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
